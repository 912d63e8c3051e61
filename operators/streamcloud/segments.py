"""A state in pieces, so that a keeper of states writes only the changes of each batch.

::

    version 5   head   [ arrays | log 40..70 | segments 3, 4, 5 ]
                         3: from 38      4: from 52      5: from 61
                       [ 38 .. 51 ]    [ 52 .. 60 ]    [ 61 .. 69 ]

A *segment* has the tuples that all logs of a state got since the version before, and never changes.
A *head* has the arrays, the range of each log, and the list of segments that have the tuples. A
segment without a live tuple is no longer listed; tuples before the first of a log are cut off
when it is read.

A window of many batches would have as many segments, and each head would list them all. So after
``RADIX - 1`` segments of one size the next one takes in their tuples as well: no head lists more
than ``RADIX - 1`` of a size. A tuple of a window of fewer than ``RADIX`` batches is written
once, of fewer than ``RADIX ** 2`` batches at most twice, and so on.

Head and segment depend on the states, their numbers, and the head before, and on nothing else: so a
repeated batch writes the same bytes. A head has digests of the segments: if two heads are equal,
so are the states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from operators.streamcloud.rows import pack_arrays, unpack_arrays
from operators.streamcloud.saved import Log, Saved, kinds_of

RADIX = 64
# Words of a segment's line in a head: its number, the versions it covers, a digest of its bytes,
# and the position in each log at which it begins. It ends where the next one begins.
NUMBER, SIZE, DIGEST, BEGINS = range(4)


class Span(NamedTuple):
    """The range of a log, and the number of words of a tuple."""

    first: int
    end: int
    words: int


class Head(NamedTuple):
    """A version of a state without the tuples of its logs.

    Attributes
    ----------
    number : int
        Of the version.
    saved : list of int64 array or Span
        A span instead of each log.
    segments : int64 array (segments, 3 + logs)
        As described above; the earliest first.
    """

    number: int
    saved: list[np.ndarray | Span]
    segments: np.ndarray

    @property
    def spans(self) -> list[Span]:
        """Of the logs."""
        return [each for each in self.saved if isinstance(each, Span)]

    @property
    def needed(self) -> list[int]:
        """The numbers of the segments, the earliest first."""
        return self.segments[:, NUMBER].tolist()


def cut(saved: Saved, number: int, before: Head | None = None) -> tuple[Head, bytes | None]:
    """Return the next version of a state, and the bytes of its segment, if it has one.

    Parameters
    ----------
    saved : sequence of int64 array or Log
    number : int
        Of the version and its segment; greater than that of the version before.
    before : Head, optional
        The version before.

    Raises
    ------
    ValueError
        When a log ends before the end that it had in the version before.
    """
    logs = [each for each in saved if isinstance(each, Log)]
    firsts, ends = (np.array([each[at] for each in _spans(logs)], dtype=np.int64) for at in (0, 1))
    if before is None:
        segments, written = np.zeros((0, BEGINS + len(logs)), dtype=np.int64), firsts
    else:
        written = np.array([each.end for each in before.spans], dtype=np.int64)
        if len(written) != len(logs) or (ends < written).any():
            raise ValueError(f"logs end at {ends}, and at {written} in version {before.number}")
        segments = _living(before.segments, written, firsts)
    body = None
    if (ends > np.maximum(written, firsts)).any():
        begins, size = np.maximum(written, firsts), 1
        taken_in = _taken_in(segments[:, SIZE].tolist())
        if taken_in:
            begins = np.maximum(segments[-taken_in, BEGINS:], firsts)
            size += int(segments[-taken_in:, SIZE].sum())
            segments = segments[:-taken_in]
        pieces = zip(logs, (begins - firsts).tolist(), strict=True)
        body = pack_arrays([log.words[:, begin:] for log, begin in pieces])
        line = [number, size, _digest(body), *begins.tolist()]
        segments = np.concatenate([segments, [line]])
    cut_off = iter(_spans(logs))
    arrays = [next(cut_off) if isinstance(each, Log) else each for each in saved]
    return Head(number, arrays, segments), body


def _spans(logs: Sequence[Log]) -> list[Span]:
    return [Span(log.first, log.end, log.words.shape[0]) for log in logs]


def _living(segments: np.ndarray, written: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """Return the segments with a tuple that one of the logs still has."""
    ends = np.concatenate([segments[1:, BEGINS:], written[None, :]])
    return segments[(ends[: len(segments)] > firsts).any(axis=1)]


def _taken_in(sizes: list[int]) -> int:
    """Return the number of segments, from the last, that the next one takes in."""
    taken, size = 0, 1
    while sizes[-(RADIX - 1) :] == [size] * (RADIX - 1):
        sizes = sizes[: 1 - RADIX]
        taken, size = taken + RADIX - 1, size * RADIX
    return taken


def _digest(body: bytes | memoryview) -> int:
    return int.from_bytes(sha256(body).digest()[:8], "little", signed=True)


def whole(head: Head, read: Callable[[int], bytes | memoryview]) -> list[np.ndarray | Log]:
    """Return the state of a version.

    Parameters
    ----------
    head : Head
    read : callable
        Returns the bytes of a segment.

    Raises
    ------
    ValueError
        When a segment differs from the one that was cut.
    """
    spans = head.spans
    pieces: list[list[np.ndarray]] = [[] for _ in spans]
    for line in head.segments.tolist():
        body = read(line[NUMBER])
        if _digest(body) != line[DIGEST]:
            raise ValueError(f"segment {line[NUMBER]} is not what was written")
        arrays = unpack_arrays(body)
        found = zip(pieces, spans, arrays, line[BEGINS:], strict=True)
        for mine, span, words, begin in found:
            mine.append(words[:, max(0, span.first - begin) :])
    logs = iter([_log(*each) for each in zip(spans, pieces, strict=True)])
    return [next(logs) if isinstance(each, Span) else each for each in head.saved]


def _log(span: Span, pieces: Sequence[np.ndarray]) -> Log:
    nothing = np.zeros((span.words, 0), dtype=np.int64)
    return Log(span.first, np.concatenate([nothing, *pieces], axis=1))


def pack_head(head: Head) -> bytes:
    """Return the bytes of a head, equal for equal ones."""
    arrays = [np.array(each, dtype=np.int64) for each in head.saved]
    number = np.array([head.number], dtype=np.int64)
    return pack_arrays([number, kinds_of(head.saved), head.segments, *arrays])


def unpack_head(body: bytes | memoryview) -> Head:
    """Return the head that `pack_head` made bytes of.

    Raises
    ------
    ValueError
        When they are truncated.
    """
    number, kinds, segments, *arrays = unpack_arrays(body)
    if len(kinds) != len(arrays):
        raise ValueError(f"a head of {len(kinds)} parts has {len(arrays)}")
    saved = [
        Span(*each.tolist()) if span else each for span, each in zip(kinds, arrays, strict=True)
    ]
    return Head(int(number[0]), saved, segments)
