"""Which answers a W-Hive, and the winsets in it, may give to several threads.

The rows are those of `operators.aggregation.reference`; here is when they may come out. A winset is
due once the watermark has passed it, that is, when every open stream's last tuple contributes only
to later winsets: then it is complete. Winsets come out in order of time, one a call of ``process``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from operators.aggregation.plan import AggregationPlan, windows_per_tuple
from operators.aggregation.reference import rows_of
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
)

# More tables than there are.
NO_END = 1_000
# Tables of a W-Hive besides the winsets in reach (invariant 5 of `operators.aggregation.w_hive`).
SPARE_PLACES = 3
NOT_FOUND = -1


class TableSpecification:
    """The answers of a table that counts keys: the windows of a winset.

    ``count(key)`` looks the key up or inserts it, and answers how often it was counted by then;
    ``find(key)`` answers that too, and -1 for a missing key. ``reset()`` removes all keys.
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        counts = self._counts
        if name == "reset":
            counts.clear()
            return True
        (key,) = arguments
        if name == "count":
            counts[key] = counts.get(key, 0) + 1
        return counts.get(key, -1) == answer

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers with which a call would change the table."""
        if name == "reset":
            return [None]
        return [self._counts.get(*arguments, 0) + 1] if name == "count" else []

    def copy(self) -> TableSpecification:
        """Return another in the same state."""
        other = TableSpecification()
        other._counts = dict(self._counts)
        return other

    def key(self) -> frozenset:
        """Return keys and counts."""
        return frozenset(self._counts.items())


class WinsetSpecification:
    """One winset of ``shared_winsets``, as a dictionary from key to the index of the window.

    ``insert(key)`` answers the window's index, the same each time and no other key's; ``find(key)``
    answers that index, or NOT_FOUND. ``count(key)`` inserts a missing key, adds one to the key's
    tuples and answers anything; ``read(key)`` answers how many tuples there are, or NOT_FOUND.
    """

    def __init__(self) -> None:
        # Index (None while no answer has revealed it) and tuples of each key.
        self._windows: dict[int, tuple[int | None, int]] = {}

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        (key,) = arguments
        if name == "find" or name == "read":
            if key not in self._windows:
                return answer == NOT_FOUND
            if name == "read":
                return answer == self._windows[key][1]
        place, tuples = self._windows.get(key, (None, 0))
        if name == "count":
            self._windows[key] = place, tuples + 1
            return True
        if answer == NOT_FOUND:
            return False
        # None: an `insert` that never returned.
        others = {there for other, (there, _) in self._windows.items() if other != key}
        told = place if answer is None else answer
        self._windows[key] = told, tuples
        return place in (None, told) and (told is None or told not in others)

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers with which a call would change the winset."""
        return [None] if name in ("insert", "count") else []

    def copy(self) -> WinsetSpecification:
        """Return another in the same state."""
        other = WinsetSpecification()
        other._windows = dict(self._windows)
        return other

    def key(self) -> frozenset:
        """Return the windows."""
        return frozenset(self._windows.items())


class WHiveSpecification:
    """A W-Hive, or WiML, as the list of the tuples and each stream's first winset.

    ``add(stream, timestamp, key, value)`` and ``close(stream)`` answer a status. ``process()``
    answers a status in a tuple, and after READY the words of the output rows, five a row:
    window_start, key, a, b, n.

    A tuple answered by FULL moves the stream forward in time, as an accepted one does, and may
    leave winsets behind that no tuple has entered. Each of them is one more ``process`` that
    answers READY without rows; which ones exist cannot be observed otherwise.

    FULL is right for two reasons. The tuple's last winset may be out of ``reach`` of the slowest
    stream. Or no table may be free: some hold pending winsets, others winsets that are output but
    not released, which depends on the progress of the output thread and on the searches in
    progress. So FULL is wrong only while there are tables that have never been used. A stream in
    the middle of a call may have claimed tables for the winsets of its tuple.

    ACCEPTED is never wrong for want of room. A call publishes its time first and searches for room
    later; calls in between may need the publication, and may make the room.

    Parameters
    ----------
    plan : AggregationPlan
        Of a function that needs no texts and no order.
    streams : int
    winsets_ahead : int
        The argument that the W-Hive was made with.
    """

    EXCUSABLE = frozenset({FULL})

    def __init__(self, plan: AggregationPlan, streams: int, winsets_ahead: int) -> None:
        windows = windows_per_tuple(plan)
        self._plan, self._windows, self._reach = plan, windows, windows + winsets_ahead
        # The first winset that each stream still contributes to, and the stream's last timestamp.
        self._earliest = [-1] * streams
        self._last = [0] * streams
        # The tuples of pending winsets, sorted: no result depends on their order.
        self._tuples: tuple[tuple[int, int, int], ...] = ()
        # Winsets that tuples answered by FULL may have made, and no tuple has entered.
        self._empty: frozenset[int] = frozenset()
        # Winsets before this one are output; the number of calls that have output one.
        self._next = 0
        self._put_out = 0

    def excuse(self, call: Any, beside: Sequence[Any]) -> tuple[int, int]:
        """Return FULL, and how many tables other streams may have claimed meanwhile."""
        return FULL, sum(other.name == "add" for other in beside) * (self._windows + 1)

    def out_of_date(self, name: str) -> tuple[int, int] | None:
        """Return FULL with any number of tables taken, since the tuple's time is published."""
        return (FULL, NO_END) if name == "add" else None

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "add":
            return self._add(*arguments, answer)
        if name == "close":
            self._earliest[arguments[0]] = self._last[arguments[0]] = TIMESTAMP_LIMIT
            return answer == ACCEPTED
        return self._process(answer)

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers with which a call would change the hive.

        A tuple that was not added, but whose time is published, need not be distinguished from an
        added one: the winsets it contributes to come out only after the stream has gone on.
        """
        choices: list[Any] = [ACCEPTED]
        if name == "process":
            following = self._following()
            rows = () if following is None else self._rows(following)
            choices = [(READY,), (READY, *rows)] if rows else [(READY,)]
        return [a for a in choices if self.copy().accepts(thread, name, arguments, a)]

    def copy(self) -> WHiveSpecification:
        """Return another in the same state."""
        other = object.__new__(WHiveSpecification)
        other.__dict__.update(self.__dict__)
        other._earliest, other._last = self._earliest[:], self._last[:]
        return other

    def key(self) -> tuple:
        """Return the whole state."""
        streams = tuple(self._earliest), tuple(self._last)
        return streams, self._tuples, self._empty, self._next, self._put_out

    def _add(self, stream: int, timestamp: int, key: int, value: int, answer: Any) -> bool:
        if timestamp < self._last[stream] or timestamp >= TIMESTAMP_LIMIT:
            return answer == OUT_OF_ORDER
        winsets = self._winsets_at(timestamp)
        self._last[stream] = timestamp
        self._earliest[stream] = winsets[0]
        if answer == ACCEPTED:
            self._tuples = tuple(sorted((*self._tuples, (timestamp, key, value))))
            self._empty -= {*winsets}
            return True
        status, taken = answer if type(answer) is tuple else (answer, 0)
        # Winsets are made in this order, and the last one was not.
        there = {w for each in self._tuples for w in self._winsets_at(each[0]) if w >= self._next}
        self._empty |= {*winsets[:-1]} - there
        used = len(there | self._empty) + self._put_out + taken
        out_of_reach = winsets[-1] >= min(self._earliest) + self._reach
        return status == FULL and (out_of_reach or used >= self._reach + SPARE_PLACES)

    def _process(self, answer: Any) -> bool:
        slowest = min(self._earliest)
        following = self._following()
        due = following is not None and following < slowest
        if answer == (NOT_READY,):
            return not due and slowest < TIMESTAMP_LIMIT
        if answer == (END,):
            return not due and slowest == TIMESTAMP_LIMIT
        if answer[0] != READY:
            return False
        self._put_out += 1
        if due and answer[1:] == self._rows(following):
            self._next = following + 1
            self._empty = frozenset(winset for winset in self._empty if winset > following)
            self._tuples = tuple(t for t in self._tuples if self._winsets_at(t[0])[-1] > following)
            return True
        # Else it was one that no tuple has entered: the first candidate.
        earliest = min(self._empty, default=slowest)
        self._empty -= {earliest}
        return len(answer) == 1 and earliest < (following if due else slowest)

    def _winsets_at(self, timestamp: int) -> range:
        """Return the numbers of the winsets that a tuple of this time contributes to."""
        size, advance = self._plan.window_size, self._plan.window_advance
        first = 0 if timestamp < size else (timestamp - size) // advance + 1
        return range(max(first, 0), timestamp // advance + 1)

    def _following(self) -> int | None:
        """Return the next winset that holds a tuple, or None."""
        numbers = (max(self._winsets_at(t[0])[0], self._next) for t in self._tuples)
        return min(numbers, default=None)

    def _rows(self, winset: int) -> tuple[int, ...]:
        """Return the words of a winset's rows."""
        start = winset * self._plan.window_advance
        rows = rows_of(self._plan, self._tuples)
        return tuple(word for row in rows if row[0] == start for word in row)
