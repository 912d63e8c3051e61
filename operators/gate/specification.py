"""Which answers a gate may give to several threads: `ReadinessModel` for several readers, bounded.

The rule is that of `operators.gate.reference`: a tuple is ready when the last delivered tuple of
every open source is at or after it in the total order, that is, when the watermark has reached it.
All ready tuples were delivered, and tuples delivered later come after them; so a reader's next
tuple is the earliest unread one, and it is ready when each open source has delivered a tuple at or
after it.

Gates differ in two respects that the papers leave open:

*Tuples held back.* In a T-Gate a tuple goes out once the same source has delivered a later one,
because the reader never goes beyond a source's last node. With batches, up to ``batch`` tuples of
an open source wait to be linked. Such a gate may answer NOT_READY although a tuple is ready, but no
longer once each source has delivered ``holds`` more.

*Backpressure.* At most ``ahead`` tuples of a source wait for the slowest reader. Where room is
given back several tuples at a time, FULL comes a little earlier: at ``room`` or more. And where
nodes are reused only when no source is searching among them, a source in the middle of a call may
keep all others full; such a call therefore excuses FULL.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Any

from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
)
from operators.gate.family import GateAnswers
from operators.gate.reference import ReferenceTuple


class GateSpecification:
    """A gate as the list of the tuples that some reader has not read.

    ``insert_tuple(source, timestamp, key, value)`` and ``close_source(source)`` answer a status;
    ``get_next_ready_tuple(reader)`` answers (READY, timestamp, source, key, value), (NOT_READY,) or
    (END,).

    Parameters
    ----------
    sources, readers : int
    ahead : int
        Most tuples of a source that may wait for the slowest reader: ACCEPTED of one more is wrong.
    room : int, optional
        With fewer such tuples, FULL is wrong; `ahead` unless given.
    holds : int
        How many last tuples of an open source the gate may hold back. Where it is not 0, the gate
        never returns the very last.
    pins : bool
        Whether another source's call excuses FULL.

    Attributes
    ----------
    room : int
    """

    def __init__(
        self,
        sources: int,
        readers: int,
        ahead: int,
        room: int | None = None,
        holds: int = 0,
        pins: bool = False,
    ) -> None:
        self.room = ahead if room is None else room
        self._limits = ahead, self.room, holds
        self._waiting: list[ReferenceTuple] = []
        self._inserted = [0] * sources
        # The limit once a source is closed: later tuples are out of order.
        self._last = [0] * sources
        # How many of the waiting tuples each reader has read.
        self._read = [0] * readers
        self.EXCUSABLE = frozenset({FULL}) if pins else frozenset()

    def excuse(self, call: Any, beside: Sequence[Any]) -> tuple[int, bool]:
        """Return FULL, and whether another source was inside a call meanwhile."""
        return FULL, any(other.name != "get_next_ready_tuple" for other in beside)

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "insert_tuple":
            return self._insert(*arguments, answer)
        if name == "close_source":
            self._last[arguments[0]] = TIMESTAMP_LIMIT
            return answer == ACCEPTED
        return self._get(arguments[0], answer)

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers with which a call would change the gate."""
        answer: Any = ACCEPTED
        if name == "get_next_ready_tuple":
            following = self._waiting[self._read[arguments[0]] :][:1]
            if not following:
                return []
            timestamp, source, _, key, value = following[0]
            answer = (READY, timestamp, source, key, value)
        return [answer] if self.copy().accepts(thread, name, arguments, answer) else []

    def copy(self) -> GateSpecification:
        """Return another in the same state."""
        other = object.__new__(GateSpecification)
        other._limits = self._limits
        other._waiting, other._inserted = self._waiting[:], self._inserted[:]
        other._last, other._read = self._last[:], self._read[:]
        return other

    def key(self) -> tuple:
        """Return the waiting tuples, and the progress of sources and readers."""
        return tuple(self._waiting), tuple(self._last), tuple(self._read)

    def _insert(self, source: int, timestamp: int, key: int, value: int, answer: Any) -> bool:
        if timestamp < self._last[source] or timestamp >= TIMESTAMP_LIMIT:
            return answer == OUT_OF_ORDER
        ahead, room, _ = self._limits
        outstanding = sum(waiting.source == source for waiting in self._waiting)
        if answer == ACCEPTED:
            position = self._inserted[source]
            insort(self._waiting, ReferenceTuple(timestamp, source, position, key, value))
            self._inserted[source] += 1
            self._last[source] = timestamp
            return outstanding < ahead
        status, excused = answer if type(answer) is tuple else (answer, False)
        return status == FULL and (excused or outstanding >= room)

    def _get(self, reader: int, answer: Any) -> bool:
        status = answer[0]
        unread = self._waiting[self._read[reader] :]
        if status == READY:
            self._read[reader] += 1
            passed = min(self._read)
            del self._waiting[:passed]
            self._read = [read - passed for read in self._read]
            if not self._has_each(unread, 1, 1 + (self._limits[2] > 0)):
                return False
            timestamp, source, _, key, value = unread[0]
            return answer[1:] == (timestamp, source, key, value)
        if status == END:
            return not unread and min(self._last) == TIMESTAMP_LIMIT
        # When every source is closed and no tuple is left, the answer is END.
        if not unread:
            return status == NOT_READY and min(self._last) < TIMESTAMP_LIMIT
        holds = self._limits[2]
        return status == NOT_READY and not self._has_each(unread, max(1, holds), 1 + holds)

    def _has_each(self, unread: list[ReferenceTuple], others: int, own: int) -> bool:
        """Say whether each open source has delivered enough tuples from the first unread one on.

        The source of that first tuple needs `own`, the first included, the rest `others`.
        """
        if not unread:
            return False
        counts = [0] * len(self._last)
        for waiting in unread:
            counts[waiting.source] += 1
        counts[unread[0].source] += others - own
        return all(
            count >= others or last == TIMESTAMP_LIMIT
            for count, last in zip(counts, self._last, strict=True)
        )


def specification_of(
    answers: GateAnswers | None,
    sources: int,
    readers: int,
    ahead: int,
    batch: int = 1,
    holds: int = 0,
) -> GateSpecification:
    """Return a gate's specification, as far as the gate declares one.

    A gate without `answers` is held to the rule of readiness and to `ahead`; it may be full at any
    time.

    Parameters
    ----------
    answers : GateAnswers or None
        The answers that the gate's operations declare.
    sources, readers, ahead, batch : int
        The arguments the state was made with; `batch` matters where there is such a parameter.
    holds : int
        Of a gate without `answers`: how many tuples of an open source it holds back.
    """
    if answers is None:
        return GateSpecification(sources, readers, ahead, room=0, holds=holds, pins=holds > 0)
    held = answers.holds(ahead, batch)
    return GateSpecification(sources, readers, ahead, answers.room(ahead), held, answers.pins)
