"""The partial order of SEQ_CST accesses and fences, ``psc``, which RC11 keeps acyclic.

Source: Lahav et al., PLDI 2017, section 3. With F the SEQ_CST fences, E all SEQ_CST events::

    scb = po  U  po|other word ; hb ; po|other word  U  hb|same word  U  mo  U  rb
    psc = ([E] U [F];hb?) ; scb ; ([E] U hb?;[F])   U   [F] ; (hb U hb;eco;hb) ; [F]

``po`` is program order, ``hb`` happens-before, ``mo`` modification order, ``rb`` leads from a read
to the stores behind the one it read, and ``eco`` is the closure of reads-from, ``mo`` and ``rb``.

An event that reads the latest store, or stores behind all others, has no edge to an earlier event
and closes no cycle. Only the other possibilities are therefore asked about.

Relations are sets of events, bits of an integer, and are kept by their ends. What leads to an event
by ``po`` and ``hb`` is known when the event is added: from a later event to an earlier one lead
``mo``, ``rb`` and ``eco`` alone.
"""

from __future__ import annotations

from bisect import bisect_right
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


class _Thread:
    """The events of a thread: their times, and by count the first so many as a set."""

    __slots__ = ("times", "first")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.first = [0]


class _Node:
    """A SEQ_CST event, and what leads to it.

    Attributes
    ----------
    number : int
    fence : bool
    before, after : int
        What happens before it; of a fence also what happens after it.
    ends : int
        Where ``scb`` has to end to lead to the node: at it, or at what happens before a fence.
    scb, eco : int
        The events from which ``scb`` leads to those of `ends`, and ``eco`` to those of `before`.
    """

    __slots__ = ("number", "fence", "before", "after", "ends", "scb", "eco")

    def __init__(self, number: int, fence: bool, before: int) -> None:
        self.number, self.fence, self.before, self.after = number, fence, before, 0
        self.ends = 1 << number | (before if fence else 0)
        self.scb = self.eco = 0

    def leads_to(self, other: _Node) -> bool:
        """Return whether ``psc`` has an edge from this node to another, or to itself."""
        begins = 1 << self.number | self.after
        if begins & other.scb:
            return True
        if not (self.fence and other.fence):
            return False
        return bool(self.after >> other.number & 1 or self.after & other.eco)


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
        # Of the events that are indexed already: they are when somebody asks, since most runs have
        # no SEQ_CST event.
        self._indexed: list[_Node] = []
        self._threads: dict[int, _Thread] = {}
        self._at_word: dict[int | None, int] = {}
        # By event what happens before it, what ``mo`` and ``rb`` lead to it from, and what ``eco``.
        self._before: list[int] = []
        self._to: list[int] = []
        self._eco_to: list[int] = []

    def add(self, event: Event) -> None:
        """Add the next event."""
        if event.sequential:
            self.nodes.append(len(self._events))
        self._events.append(event)

    def allows(self, event: Event) -> bool:
        """Return whether ``psc`` stays acyclic when `event` comes next."""
        if not self.nodes:
            return True
        for number in range(len(self._before), len(self._events)):
            self._index(number)
        before = [(node.after, node.scb, node.eco) for node in self._indexed]
        self.add(event)
        last = len(self._events) - 1
        self._index(last)
        allowed = not self._closes_a_cycle(last)
        self._forget(last)
        for node, kept in zip(self._indexed, before, strict=True):
            node.after, node.scb, node.eco = kept
        return allowed

    # --- adding an event --------------------------------------------------------------------------

    def _index(self, number: int) -> None:
        event = self._events[number]
        before = self._happens_before(event)
        own = self._threads.setdefault(event.thread, _Thread())
        own.times.append(event.time)
        own.first.append(own.first[-1] | 1 << number)
        self._at_word[event.key] = self._at_word.get(event.key, 0) | 1 << number
        self._before.append(before)
        behind, eco = self._relate(number, event)
        if event.sequential:
            self._indexed.append(self._node(number, event, before))
        for node in self._indexed:
            if node.fence and before >> node.number & 1:
                node.after |= 1 << number
            if node.ends & behind:
                node.scb |= 1 << number
            if node.fence and node.before & eco:
                node.eco |= 1 << number

    def _forget(self, last: int) -> None:
        """Take the last event back."""
        event, bit = self._events.pop(), 1 << last
        own = self._threads[event.thread]
        for each in (own.times, own.first, self._before, self._to, self._eco_to):
            each.pop()
        self._at_word[event.key] ^= bit
        for each in _members(self._at_word[event.key]) if event.stores is not None else ():
            self._to[each] &= ~bit
            self._eco_to[each] &= ~bit
        if event.sequential:
            self.nodes.pop()
            self._indexed.pop()

    def _happens_before(self, event: Event) -> int:
        before = 0
        for thread, known in self._threads.items():
            if thread == event.thread:
                before |= known.first[-1]
            else:
                before |= known.first[bisect_right(known.times, event.clock[thread])]
        return before

    def _relate(self, number: int, event: Event) -> tuple[int, int]:
        """Relate an event with the earlier ones at its word.

        Returns
        -------
        behind, eco : int
            To which of them ``mo`` and ``rb`` lead from it, and ``eco``.
        """
        self._to.append(0)
        self._eco_to.append(0)
        stores = event.stores
        if stores is None:
            return 0, 0
        at = stores.index(event.wrote or event.read)
        read = -1 if event.read is None else stores.index(event.read)
        writes, bit = event.wrote is not None, 1 << number
        behind = eco = 0
        for each in _members(self._at_word[event.key] & ~bit):
            other = self._events[each]
            if other.stores is not stores:
                # Of before a plain write, which began the word anew.
                continue
            there = stores.index(other.wrote or other.read)
            if other.wrote is not None and there > at:
                behind |= 1 << each
                self._to[each] |= bit
            if writes and at > there:
                self._to[number] |= 1 << each
                self._eco_to[number] |= 1 << each
            elif read > there or (read == there and other.wrote is not None):
                self._eco_to[number] |= 1 << each
            its = -1 if other.read is None else stores.index(other.read)
            if behind >> each & 1 or its > at or (its == at and writes):
                eco |= 1 << each
                self._eco_to[each] |= bit
        return behind, eco

    # --- what leads to a node ---------------------------------------------------------------------

    def _node(self, number: int, event: Event, before: int) -> _Node:
        """Return the node of an event, with all that leads to it from earlier ones."""
        node = _Node(number, event.key is None, before)
        for known in self._threads.values():
            ends = node.ends & known.first[-1]
            if ends:
                node.scb |= self._in_program_order(known, ends.bit_length() - 1)
        for each in _members(node.ends):
            key = self._events[each].key
            if key is not None:
                node.scb |= self._before[each] & self._at_word[key] | self._to[each]
        if node.fence:
            for each in _members(before):
                node.eco |= self._eco_to[each]
        return node

    def _in_program_order(self, known: _Thread, end: int) -> int:
        """Return what ``po``, and ``po ; hb ; po`` by way of other words, lead from to an event.

        All that leads to an earlier event of the thread leads to this one as well.
        """
        earlier = known.first[-1] & ((1 << end) - 1)
        found = earlier
        middle = self._last_elsewhere(earlier, self._events[end].key)
        if middle >= 0:
            for other in self._threads.values():
                there = self._before[middle] & other.first[-1]
                if there:
                    last = there.bit_length() - 1
                    first = self._last_elsewhere(there ^ 1 << last, self._events[last].key)
                    found |= there & ((1 << first + 1) - 1)
        return found

    def _last_elsewhere(self, numbers: int, key: int | None) -> int:
        """Return the last of some events of a thread that is not at the word `key`, or -1."""
        if key is not None:
            numbers &= ~self._at_word[key]
        return numbers.bit_length() - 1

    def _closes_a_cycle(self, last: int) -> bool:
        """Return whether a cycle of ``psc`` leads through the last event.

        Its edges begin at the event itself or at a fence before it, and end where the event leads.
        """
        event = 1 << last
        fences = {n for n in self._indexed if n.fence and self._before[last] >> n.number & 1}
        itself = {n for n in self._indexed if n.number == last}
        ends = {n for n in self._indexed if n.scb & event}
        if ends and self._leads(ends, fences | itself):
            return True
        ends = {n for n in self._indexed if n.eco & event}
        return bool(ends and fences) and self._leads(ends, fences)

    def _leads(self, begins: set[_Node], ends: set[_Node]) -> bool:
        """Return whether ``psc`` leads from some nodes, in any number of edges, to others."""
        met, left = set(begins), list(begins)
        while left and not met & ends:
            node = left.pop()
            new = [other for other in self._indexed if other not in met and node.leads_to(other)]
            met.update(new)
            left += new
        return bool(met & ends)


def _members(numbers: int) -> Iterator[int]:
    """Yield the members of a set of events."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest
