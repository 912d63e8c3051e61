"""The partial order of SEQ_CST accesses and fences, ``psc``, which RC11 keeps acyclic.

Source: Lahav et al., PLDI 2017, section 3. With F the SEQ_CST fences, E all SEQ_CST events::

    scb = po  U  po|other word ; hb ; po|other word  U  hb|same word  U  mo  U  rb
    psc = ([E] U [F];hb?) ; scb ; ([E] U hb?;[F])   U   [F] ; (hb U hb;eco;hb) ; [F]

``po`` is program order, ``hb`` happens-before, ``mo`` modification order, ``rb`` leads from a read
to the stores behind the one it read, and ``eco`` is the closure of reads-from, ``mo`` and ``rb``.

An event that reads the latest store, or stores behind all others, has no edge to an earlier event
and closes no cycle. Only the other possibilities are therefore asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Event(NamedTuple):
    """An access of a word by an atomic, or a SEQ_CST fence."""

    thread: int
    time: int
    clock: list[int]  # behind it: which times of other threads happen before
    key: int | None  # of the word; None for a fence
    stores: list | None  # the word's stores in modification order
    read: Any  # a store, or None
    wrote: Any  # a store, or None
    sequential: bool


class SequentialOrder:
    """The events of a run, in the order of their execution.

    Attributes
    ----------
    nodes : list of int
        The numbers of the SEQ_CST events.
    """

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.nodes: list[int] = []
        # For each event the set of events that happen before it, and after it. They are brought up
        # to date when somebody asks: most runs have no SEQ_CST event.
        self._before: list[int] = []
        self._after: list[int] = []
        # The events of each thread and at each word, and results for the last event.
        self._of_thread: dict[int, int] = {}
        self._at_word: dict[int | None, int] = {}
        self._known: dict[int, int] = {}

    def add(self, event: Event) -> None:
        """Add the next event."""
        if event.sequential:
            self.nodes.append(len(self._events))
        self._events.append(event)

    def allows(self, event: Event) -> bool:
        """Return whether ``psc`` stays acyclic when `event` comes next."""
        if not self.nodes:
            return True
        self.add(event)
        self._index()
        self._known.clear()
        allowed = not self._leads_from_a_node() or not self._has_cycle()
        self._forget_last()
        return allowed

    def _index(self) -> None:
        for number in range(len(self._before), len(self._events)):
            thread, _, clock, key, *_ = self._events[number]
            self._of_thread[thread] = self._of_thread.get(thread, 0) | 1 << number
            self._at_word[key] = self._at_word.get(key, 0) | 1 << number
            before = 0
            for place in range(number):
                other = self._events[place]
                if other.thread == thread or clock[other.thread] >= other.time:
                    before |= 1 << place
                    self._after[place] |= 1 << number
            self._before.append(before)
            self._after.append(0)

    def _forget_last(self) -> None:
        last = len(self._events) - 1
        for place in _members(self._before.pop()):
            self._after[place] ^= 1 << last
        self._after.pop()
        event = self._events.pop()
        self._of_thread[event.thread] ^= 1 << last
        self._at_word[event.key] ^= 1 << last
        if event.sequential:
            self.nodes.pop()

    def _leads_from_a_node(self) -> bool:
        """Return whether new edges could start at the last event, or at a fence before it."""
        last = len(self._events) - 1
        if self._events[last].sequential:
            return True
        fences = (n for n in self.nodes if self._events[n].key is None)
        return any(self._before[last] >> fence & 1 for fence in fences)

    def _has_cycle(self) -> bool:
        left = {node: self._successors(node) for node in self.nodes}
        while left:
            ends = [n for n, targets in left.items() if not any(t in left for t in targets)]
            if not ends:
                return True
            for each in ends:
                del left[each]
        return False

    def _successors(self, node: int) -> list[int]:
        """Return the nodes to which ``psc`` leads from a node."""
        fence = self._events[node].key is None
        direct = self._scb(node)
        communicated = 0
        if fence:
            for each in _members(self._after[node]):
                direct |= self._scb(each)
                communicated |= self._eco(each)
        found = []
        for other in self.nodes:
            if self._events[other].key is not None:
                leads = direct >> other & 1
            else:
                before = self._before[other]
                leads = direct & (before | 1 << other)
                if fence:
                    leads |= self._after[node] >> other & 1 or communicated & before
            if leads:
                found.append(other)
        return found

    # --- relations, as sets of events -------------------------------------------------------------

    def _scb(self, number: int) -> int:
        key = self._events[number].key
        found = self._later(number, None) | self._behind(number)
        if key is not None:
            found |= self._after[number] & self._at_word[key]
        elsewhere = self._later(number, key)
        if elsewhere:
            found |= self._beyond((elsewhere & -elsewhere).bit_length() - 1)
        return found

    def _beyond(self, first: int) -> int:
        """Return where ``hb`` leads from an event, and then program order to another word."""
        known = self._known.get(first)
        if known is None:
            known = 0
            for each in _members(self._after[first]):
                known |= self._later(each, self._events[each].key)
            self._known[first] = known
        return known

    def _later(self, number: int, key: int | None) -> int:
        """Return the later events of the same thread that are not at the word `key`."""
        later = self._of_thread[self._events[number].thread] >> (number + 1) << (number + 1)
        return later if key is None else later & ~self._at_word[key]

    def _behind(self, number: int) -> int:
        """Return the stores behind the event in modification order: ``mo`` and ``rb``."""
        event = self._events[number]
        if event.stores is None:
            return 0
        at = event.stores.index(event.wrote or event.read)
        found = 0
        for each in _members(self._at_word[event.key]):
            other = self._events[each]
            if other.stores is event.stores and other.wrote is not None:
                if event.stores.index(other.wrote) > at:
                    found |= 1 << each
        return found

    def _eco(self, number: int) -> int:
        """Return the events to which the last write or read of a word leads: ``eco``."""
        event = self._events[number]
        if event.stores is None:
            return 0
        found = self._behind(number)
        at = event.stores.index(event.wrote or event.read)
        for each in _members(self._at_word[event.key]):
            other = self._events[each]
            if other.stores is event.stores and other.read is not None and each != number:
                read = event.stores.index(other.read)
                if read > at or (read == at and event.wrote is not None):
                    found |= 1 << each
        return found


def _members(numbers: int) -> Iterator[int]:
    """Yield the members of a set of events."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest
