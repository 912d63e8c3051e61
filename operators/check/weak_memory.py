"""Memory as RC11 defines it: a load may read an old store, as on processors that reorder loads.

Source: Lahav, Vafeiadis, Kang, Hur and Dreyer, "Repairing sequential consistency in C/C++11", PLDI
2017. Every word keeps its stores in *modification order*. They differ from memory with one value a
word in these points:

* A load reads any store that *coherence* allows: not older, in modification order, than a store
  that happens before the load, or that was read by a load that happens before it.
* A store takes any position behind all those stores, but never one between a read-modify-write and
  the store that it read. A read-modify-write stands directly behind the store that it reads.
* A compare-and-swap that fails is a load: it may fail at an old store although the latest has the
  expected value.
* SEQ_CST accesses and fences are restricted by the acyclic order ``psc`` alone
  (`sequential_order`).
* A release fence, an acquire fence and a release sequence act as everywhere on the machine
  (`clocks`).

The run *draws* the store that a load reads and the position of a store; draw 0 is the latest store
and the last position, so a run without other draws is sequentially consistent. While all threads
wait, every store becomes visible to all: no store stays hidden for ever.

Not allowed here, although RC11 would in part allow it:

* A load never reads a store that comes later in the run. Hence no value out of thin air, and no
  relaxed load buffering either (RC11 forbids both by the same axiom, C++20 and ARM allow the
  second).
* Mutexes are taken in the order of the run, and a plain access sees the one store that happens
  before it: any other is a data race.

*Calls* are ordered by happens-before only: that a call returned before another began, as a clock
on the wall would show, is known to a thread only through what it has acquired. `ended_before` says
which calls happen before which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from operators.check.clocks import ACQUIRES
from operators.check.machine import Machine
from operators.check.scenario import Call
from operators.check.sequential_order import Event, SequentialOrder
from operators.check.shared_memory import Words, item, set_item
from operators.core.atomics import SEQ_CST
from operators.core.integers import wrapping_add
from operators.core.marks import POISON


class Store:
    """A store of a word.

    Attributes
    ----------
    value : int
    thread, time : int
        The storing thread and the thread's time; 0 for the first value, which all know.
    release : tuple or None
        The release that the value carries, as in `Clocks.released`.
    updates : bool
        Whether it is a read-modify-write: nothing comes between it and the store before it.
    readers : dict
        By thread the time of the first load that read it.
    """

    __slots__ = ("value", "thread", "time", "release", "updates", "readers")

    def __init__(self, value: int, thread: int, time: int, updates: bool) -> None:
        self.value, self.thread, self.time, self.updates = value, thread, time, updates
        self.release: tuple[list[int], int, int] | None = None
        self.readers: dict[int, int] = {}

    def known(self, clock: list[int]) -> bool:
        """Return whether the store, or a load that read it, happens before a thread's present."""
        if clock[self.thread] >= self.time:
            return True
        return any(clock[thread] >= time for thread, time in self.readers.items())


class WeakMachine(Machine):
    """A machine whose loads may read old stores.

    Attributes
    ----------
    stores : dict of lists
        By key the stores of a word since the last plain write, in modification order.
    order : SequentialOrder
        The events of the run, to keep ``psc`` acyclic.
    spans : list
        For each call of the history the clock at its beginning, the thread, and the thread's time
        at its last step.
    """

    most_odd = stale = 2
    # Nearly every load of a contended word could draw, so the dice choose the loads first.
    odd_share = 1.0
    looking_share = 0.1

    def begin(self) -> None:
        """Go back to the first state, in which every word has one store."""
        super().begin()
        self.stores: dict[int, list[Store]] = {}
        self.order = SequentialOrder()
        self.spans: list[tuple[list[int], int, int]] = []
        self._begun: list[list[int]] = [[]] * self.count
        self._last = [0] * self.count
        self._used = sum(draw > 0 for draws in self.chosen.values() for draw in draws)

    def all_wait(self) -> None:
        """Let every store be known to all: no store stays hidden for ever."""
        for stores in self.stores.values():
            stores[-1].time = 0

    # --- choices ----------------------------------------------------------------------------------

    def _stores_of(self, words: Words, index: int, key: int) -> list[Store]:
        stores = self.stores.get(key)
        if stores is None:
            # Everything before was plain, and happens before every atomic that is no data race.
            stores = self.stores[key] = [Store(item(words, index), 0, 0, False)]
        return stores

    def _first_allowed(self, stores: list[Store]) -> int:
        """Return the position of the oldest store that the running thread may read."""
        clock = self.clock
        for position in range(len(stores) - 1, 0, -1):
            if stores[position].known(clock):
                return position
        return 0

    def _event(
        self, key: int, stores: list[Store] | None, read: Store | None, wrote: Store | None,
        order: int,
    ) -> Event:  # fmt: skip
        """Return the event of an access as it would be after reading `read`."""
        clock = self.clock.copy()
        if read is not None and read.release is not None and order in ACQUIRES:
            self.join(read.release[0], clock)
        sequential = order == SEQ_CST
        return Event(self.thread, self.clock[self.thread], clock, key, stores, read, wrote,
                     sequential)  # fmt: skip

    def _readable(self, key: int, stores: list[Store], order: int) -> list[Store]:
        """Return the stores that a load may read, the latest first."""
        found = stores[self._first_allowed(stores) :][::-1]
        if len(found) == 1 or not self.order.nodes:
            return found
        latest, *older = found
        allows = self.order.allows
        return [latest, *(s for s in older if allows(self._event(key, stores, s, None, order)))]

    def _updatable(self, key: int, stores: list[Store], order: int, value: Any) -> list[Store]:
        """Return the stores that a read-modify-write may read and replace, the latest first."""
        found = [stores[-1]]
        for position in range(len(stores) - 2, self._first_allowed(stores) - 1, -1):
            if not stores[position + 1].updates:
                wrote = Store(value, self.thread, self.clock[self.thread], True)
                if self._fits(key, stores, position + 1, stores[position], wrote, order):
                    found.append(stores[position])
        return found

    def _fits(
        self, key: int, stores: list[Store], position: int, read: Store | None, wrote: Store,
        order: int,
    ) -> bool:  # fmt: skip
        """Return whether a store may take a position before the last one."""
        if not self.order.nodes:
            return True
        stores.insert(position, wrote)
        allowed = self.order.allows(self._event(key, stores, read, wrote, order))
        del stores[position]
        return allowed

    def _positions(self, key: int, stores: list[Store], wrote: Store, order: int) -> list[int]:
        """Return the positions that a store may take, the last one first."""
        count = len(stores)
        return [count] + [
            position
            for position in range(count - 1, self._first_allowed(stores), -1)
            if not stores[position].updates
            and self._fits(key, stores, position, None, wrote, order)
        ]

    def _looks(self, stores: list[Store]) -> bool:
        """Return whether this step may take another possibility than the first.

        To find the others takes time, above all where ``psc`` restricts them.
        """
        if len(stores) == 1:
            return False
        step = len(self.trace) - 1
        if step in self.chosen:
            return True
        if self.dice is not None:
            return self.odd < self.most_odd and self.dice.random() < self.looking_share
        return step >= self.frontier and self._used < self.most_drawn

    def _drawn(self, possibilities: list[Any]) -> Any:
        if len(possibilities) == 1:
            return possibilities[0]
        return possibilities[self.draw(len(possibilities))]

    # --- atomics ----------------------------------------------------------------------------------

    def load(self, words: Words, index: int, order: int) -> int:
        """Return a value of the word that the running thread may read."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 0)
        stores = self._stores_of(words, index, key)
        read = stores[-1]
        if self._looks(stores):
            read = self._drawn(self._readable(key, stores, order))
        return self._read(words, index, stores, read, order, "loads")

    def _read(
        self, words: Words, index: int, stores: list[Store], read: Store, order: int, does: str
    ) -> int:
        if read.value == POISON:
            self.fail_recycled(words, index, f"{does} a word of a node that is free")
        self._note(self._event(words.base + 2 * index, stores, read, None, order))
        self.take_release(read.release, order)
        return read.value

    def _note(self, event: Event) -> None:
        """Add an event to the run."""
        self._last[self.thread] = event.time
        if event.read is not None:
            event.read.readers.setdefault(self.thread, event.time)
        self.order.add(event)

    def store(self, words: Words, index: int, value: int, order: int) -> None:
        """Give the word another store, the latest or an earlier one."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 1)
        stores = self._stores_of(words, index, key)
        wrote = Store(value, self.thread, self.clock[self.thread], False)
        position = len(stores)
        if self._looks(stores):
            position = self._drawn(self._positions(key, stores, wrote, order))
        self._place(words, index, stores, position, None, wrote, order)
        wrote.release = self.hand_over(order)

    def _place(
        self, words: Words, index: int, stores: list[Store], position: int, read: Store | None,
        wrote: Store, order: int,
    ) -> None:  # fmt: skip
        self.written(words, index, wrote.value)
        stores.insert(position, wrote)
        self._note(self._event(words.base + 2 * index, stores, read, wrote, order))
        if stores[-1] is wrote:
            set_item(words, index, wrote.value)
        else:
            # The word does not change, but a thread that waits may read this store.
            self.wake()

    def cas(self, words: Words, index: int, expected: int, desired: int, order: int) -> bool:
        """Replace a store that has the expected value, or fail at one that has not."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 1)
        stores = self._stores_of(words, index, key)
        read = latest = stores[-1]
        if self._looks(stores):
            updated = self._updatable(key, stores, order, desired)
            both = [s for s in updated if s.value == expected]
            both += [s for s in self._readable(key, stores, order) if s.value != expected]
            read = self._drawn(sorted(both, key=lambda each: each is not latest))
        if read.value != expected:
            self.lost.add(self.steps - 1)
            self._read(words, index, stores, read, order, "compares")
            return False
        self._update(words, index, desired, order, read)
        return True

    def fetch_add(self, words: Words, index: int, value: int, order: int) -> int:
        """Add to the word, wrapping at 64 bits, and return the value before."""
        return self._exchanged(words, index, order, lambda old: wrapping_add(old, value), "adds to")

    def exchange(self, words: Words, index: int, value: int, order: int) -> int:
        """Set the word and return the value before."""
        return self._exchanged(words, index, order, lambda old: value, "exchanges")

    def _exchanged(self, words: Words, index: int, order: int, new: Any, does: str) -> int:
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 1)
        stores = self._stores_of(words, index, key)
        read = stores[-1]
        if self._looks(stores):
            read = self._drawn(self._updatable(key, stores, order, 0))
        if read.value == POISON:
            self.fail_recycled(words, index, f"{does} a word of a node that is free")
        self._update(words, index, new(read.value), order, read)
        return read.value

    def _update(
        self, words: Words, index: int, value: int, order: int, read: Store | None = None
    ) -> None:
        stores = self.stores[words.base + 2 * index]
        wrote = Store(value, self.thread, self.clock[self.thread], True)
        self._place(words, index, stores, stores.index(read) + 1, read, wrote, order)
        self.take_release(read.release, order)
        wrote.release = self.joined(read.release, self.hand_over(order))

    def fence(self, order: int) -> None:
        """Order the thread's accesses before the fence before those after it."""
        time = self.clock[self.thread]
        super().fence(order)
        if order == SEQ_CST:
            clock = self.clock.copy()
            self._last[self.thread] = time
            self.order.add(Event(self.thread, time, clock, None, None, None, None, True))

    def lock(self, words: Words, index: int) -> None:
        """Take the mutex at `index`, once it is free."""
        super().lock(words, index)
        self._last[self.thread] = self.clock[self.thread]

    def unlock(self, words: Words, index: int) -> None:
        """Give the mutex at `index` back."""
        self._last[self.thread] = self.clock[self.thread]
        super().unlock(words, index)

    def plain_write(self, words: Words, index: int, what: str = "writes") -> None:
        """Begin a word anew: all its stores happen before a plain write that is no data race."""
        super().plain_write(words, index, what)
        self.stores.pop(words.base + 2 * index, None)

    # --- calls ------------------------------------------------------------------------------------

    def call_begins(self, call: Call) -> None:
        """Note the clock at the beginning of a call."""
        super().call_begins(call)
        self._begun[self.thread] = self.clock.copy()
        self._last[self.thread] = 0

    def call_ends(self, call: Call, answer: Any) -> int:
        """Note the time of a call's last step; of a call without any, the present."""
        last = self._last[self.thread] or self.clock[self.thread]
        self.spans.append((self._begun[self.thread], self.thread, last))
        return super().call_ends(call, answer)

    def ended_before(self, later: int, calls: Sequence[int]) -> int:
        """Return the positions of those calls that happen before one call, as a set."""
        clock, thread, _ = self.spans[later]
        found = 0
        for position, each in enumerate(calls):
            _, other, last = self.spans[each]
            if each < later if other == thread else clock[other] >= last:
                found |= 1 << position
        return found
