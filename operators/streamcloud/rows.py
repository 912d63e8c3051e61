"""What flows: batches of tuples, and the rows that carry one from an instance to the next.

A *batch* is a C-contiguous int64 array of shape (words, tuples). First come the words of the order
key (`operators.streamcloud.order`), word 0 being the time; then the columns in the order of the
schema, without the time. A double is its bits. A text is its code, which ascends as the texts do.
Tuples ascend by their order keys::

            tuple 0   tuple 1   tuple 2
    word 0     ts        ts        ts      |
    word 1   source    source    source    | order key
    word 2  position  position  position   |
    word 3   caller    caller    caller      columns
    word 4  minutes   minutes   minutes

So every kernel has arguments of one type, whatever flows.

A *row* is what one sender has for one destination in one step. Every sender sends one to every
destination in every step, an empty one, too: it carries the *progress*, which is a promise that
whatever this sender sends later has a time of at least that. ``END`` is the progress of a sender
that is closed. Rows of a sender to a destination are counted, so that a gap and a double are seen.
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
# Tuples of a blob: few calls a tuple, and small enough to stay in a core's cache.
BLOB = 4096
# Tuples of a row: it is one array, and what a thread does with it cannot be interrupted.
MOST_BLOB = 1 << 22

_WORD_BYTES = 8
_HEAD_WORDS = 7


class Row(NamedTuple):
    """What one sender has for one destination in one step.

    Attributes
    ----------
    dest : int
        The instance of the receiving stage, from 0; 0 of an output of the query.
    side : int
        The number of the merger there.
    sender : int
        Within the side: counted through its feeds, and of each feed through the instances of its
        stage, or the streams of its input.
    seq : int
        How many rows this sender has sent to this destination before.
    progress : int
        Whatever it sends later has a time of at least this; ``END``, and there is nothing more.
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
    """Return how many words a tuple of an output has.

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
    """Return words as kernels take them: contiguous, aligned, and such that they may be written."""
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


def column_place(output: Output, name: str) -> int:
    """Return in which word of a tuple a column is; of the time, 0."""
    number = output.schema.names.index(name)
    return key_width(output) + number - 1 if number else 0


# --- who sends to whom ----------------------------------------------------------------------------


def sender_number(plan: Plan, channels: Channels, number: int) -> int:
    """Return the number within its side of an instance, or a stream, that sends by these channels.

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
    # Two feeds of a union can be alike but for their paths, by which they differ.
    before = feeds[: feeds.index(channels.feed)]
    return sum(map(plan.senders, before)) + number


# --- bytes ----------------------------------------------------------------------------------------


def pack(row: Row) -> bytes:
    """Return the bytes of a row, equal for equal rows.

    They are words of 8 bytes, the least significant byte first: dest, side, sender, seq, progress,
    how many words a tuple has, how many tuples there are; then word 0 of all tuples, then word 1.

    Examples
    --------
    >>> len(pack(Row(0, 0, 0, 0, END, empty_batch(5))))
    56
    """
    return b"".join(pieces(row))


def pieces(row: Row) -> tuple[bytes, np.ndarray]:
    """Return the bytes of a row as its head and, where it lies, its batch: an array of bytes.

    Whoever writes one behind the other has what `pack` returns, and has copied nothing.
    """
    words, count = row.batch.shape
    head = np.array([*row[:5], words, count], dtype="<i8")
    batch = np.ascontiguousarray(row.batch, dtype="<i8")
    return head.tobytes(), batch.reshape(-1).view(np.uint8)


def unpack(body: bytes | memoryview) -> Row:
    """Return the row that `pack` made bytes of; its batch is a view of them, not to be written.

    Raises
    ------
    ValueError
        When they are cut off, or are no row.
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
    """Return the bytes of int64 arrays of one or two dimensions: of a state, for example.

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
    """Return the arrays that `pack_arrays` made bytes of, such that they may be written.

    Raises
    ------
    ValueError
        When they are cut off.
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
