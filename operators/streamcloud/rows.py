"""The data that flows: batches of tuples, and the rows that carry them between instances.

A *batch* is a C-contiguous int64 array of shape (words, tuples). First come the words of the order
key (`operators.streamcloud.order`), word 0 being the time; then the columns in the order of the
schema, without the time. A double is stored as bits, a text as a code; codes ascend as texts do.
Tuples ascend by order key::

            tuple 0   tuple 1   tuple 2
    word 0     ts        ts        ts      |
    word 1   source    source    source    | order key
    word 2  position  position  position   |
    word 3   caller    caller    caller      columns
    word 4  minutes   minutes   minutes

So every kernel has arguments of one type, whatever the schema.

A *row* is the message of one sender to one destination in one step. Every sender sends one to every
destination in every step, if necessary an empty one: it carries the *progress*, a watermark that
promises that this sender's later tuples have a time of at least that. ``END`` is the progress of a
closed sender. Rows of a sender to a destination have sequence numbers, so that gaps and duplicates
are detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from operators.streamcloud.algebra import Output
from operators.streamcloud.order import key_width
from operators.streamcloud.plan import Channels, Plan

# The progress of a sender that sends no more.
END = (1 << 63) - 1
# Tuples of a blob: few calls per tuple, and small enough to stay in a core's cache.
BLOB = 4096
# Tuples of a row: a row is one array, and a thread's work on it cannot be interrupted.
MOST_BLOB = 1 << 22
# Bytes of the tuples of a row; a larger batch is sent as several rows. Between processes a row is
# one message, which both hold in memory, as do the buffers in between.
MOST_BODY = 1 << 24

_WORD_BYTES = 8
_HEAD_WORDS = 7


class Row(NamedTuple):
    """The message of one sender to one destination in one step.

    Attributes
    ----------
    dest : int
        The instance of the receiving stage, from 0; 0 for an output of the query.
    side : int
        The number of the merger there.
    sender : int
        Within the side: counted through the feeds, and in each feed through the instances of the
        stage, or the streams of the input.
    seq : int
        The sequence number: how many rows this sender has sent to this destination before.
    progress : int
        The watermark: later tuples of the sender have a time of at least this; ``END`` if there are
        none.
    batch : int64 array (words, tuples)
    """

    dest: int
    side: int
    sender: int
    seq: int
    progress: int
    batch: np.ndarray


# --- batches --------------------------------------------------------------------------------------


def words_of(output: Output) -> int:
    """Return the number of words of an output's tuples.

    Examples
    --------
    >>> from operators.streamcloud.algebra import Input
    >>> words_of(Output(Input("calls", {"caller": "int64", "duration": "int64"})))
    5
    """
    return key_width(output) + len(output.schema.columns) - 1


def empty_batch(words: int) -> np.ndarray:
    """Return a batch of no tuples."""
    return np.zeros((words, 0), dtype=np.int64)


def as_batch(words: np.ndarray) -> np.ndarray:
    """Return words as kernels take them: contiguous, aligned and writeable."""
    flags = words.flags
    if words.dtype == np.int64 and flags.c_contiguous and flags.aligned and flags.writeable:
        return words  # numpy takes ten times as long to find that out
    return np.require(words, np.int64, ["C", "A", "W"])


def joined(batches: Sequence[np.ndarray], words: int) -> np.ndarray:
    """Return batches one behind the other, as one."""
    batches = [each for each in batches if each.shape[1]]
    if not batches:
        return empty_batch(words)
    return as_batch(batches[0] if len(batches) == 1 else np.concatenate(batches, axis=1))


def most_tuples(words: int, body: int = 0) -> int:
    """Return the number of tuples that a row carries, given the words of a tuple.

    `body` is the most bytes of the tuples of a row, 0 for `MOST_BODY`.

    Examples
    --------
    >>> most_tuples(5)
    419430
    """
    return max(1, (body or MOST_BODY) // (_WORD_BYTES * words))


def column_place(output: Output, name: str) -> int:
    """Return the word of a tuple that has a column; 0 for the time."""
    number = output.schema.names.index(name)
    return key_width(output) + number - 1 if number else 0


# --- senders --------------------------------------------------------------------------------------


def sender_number(plan: Plan, channels: Channels, number: int) -> int:
    """Return the number, within the side, of an instance or a stream that sends by these channels.

    Parameters
    ----------
    plan : Plan
    channels : Channels
        One of ``plan.channels``.
    number : int
        Of the instance in its stage, or of the stream of its input.
    """
    if channels.partition is None:
        (feeds,) = (s.feeds for s in plan.sinks if s.output.name == channels.receiver)
    else:
        feeds = plan.stage(channels.receiver).mergers[channels.side].feeds
    # Two feeds of a union may differ in their paths alone.
    before = feeds[: feeds.index(channels.feed)]
    return sum(map(plan.senders, before)) + number


# --- bytes ----------------------------------------------------------------------------------------


def pack(row: Row) -> bytes:
    """Return the bytes of a row, equal for equal rows.

    They are words of 8 bytes, little-endian: dest, side, sender, seq, progress, the number of words
    of a tuple, the number of tuples; then word 0 of all tuples, then word 1.

    Examples
    --------
    >>> len(pack(Row(0, 0, 0, 0, END, empty_batch(5))))
    56
    """
    return b"".join(pieces(row))


def pieces(row: Row) -> tuple[bytes, np.ndarray]:
    """Return the bytes of a row as the head and, without a copy, the batch: an array of bytes.

    Written one behind the other they are the bytes of `pack`.
    """
    words, count = row.batch.shape
    head = np.array([*row[:5], words, count], dtype="<i8")
    batch = np.ascontiguousarray(row.batch, dtype="<i8")
    return head.tobytes(), batch.reshape(-1).view(np.uint8)


def unpack(body: bytes | memoryview) -> Row:
    """Return the row that `pack` made bytes of; the batch is a read-only view of them.

    Raises
    ------
    ValueError
        When they are truncated, or are no row.
    """
    if len(body) < _HEAD_WORDS * _WORD_BYTES:
        raise ValueError(f"a row has {_HEAD_WORDS} words and more, received {len(body)} bytes")
    head = np.frombuffer(body, dtype="<i8", count=_HEAD_WORDS).tolist()
    words, count = head[5:]
    if min(words, count) < 0 or len(body) != (_HEAD_WORDS + words * count) * _WORD_BYTES:
        raise ValueError(
            f"a row of {count} tuples of {words} words does not have {len(body)} bytes"
        )
    batch = np.frombuffer(body, dtype="<i8", offset=_HEAD_WORDS * _WORD_BYTES)
    return Row(*head[:5], batch.reshape(words, count))


def pack_arrays(arrays: Iterable[np.ndarray]) -> bytes:
    """Return the bytes of int64 arrays of one or two dimensions, such as those of a state.

    Examples
    --------
    >>> [each.tolist() for each in unpack_arrays(pack_arrays([np.arange(3)]))]
    [[0, 1, 2]]
    """
    pieces = []
    for each in arrays:
        rows, columns = each.shape if each.ndim == 2 else (-1, len(each))
        pieces.append(np.array([rows, columns], dtype="<i8").tobytes())
        pieces.append(np.ascontiguousarray(each, dtype="<i8").tobytes())
    return b"".join(pieces)


def unpack_arrays(body: bytes | memoryview) -> list[np.ndarray]:
    """Return the arrays that `pack_arrays` made bytes of, writeable.

    Raises
    ------
    ValueError
        When they are truncated.
    """
    words = np.frombuffer(body, dtype="<i8").astype(np.int64)
    found, at = [], 0
    while at < len(words):
        rows, columns = words[at : at + 2].tolist()
        size = columns if rows < 0 else rows * columns
        if size < 0 or at + 2 + size > len(words):
            raise ValueError(f"the array at word {at} has {size} words, and they are cut off")
        piece = words[at + 2 : at + 2 + size].copy()
        found.append(piece if rows < 0 else piece.reshape(rows, columns))
        at += 2 + size
    return found
