"""Memory with store buffers: one buffer a thread (TSO), or one for each thread and word (PSO).

A store stays in flight in the buffer of the storing thread, which reads it from there. Other
threads do not see it until it arrives in memory.

* TSO: a thread's stores arrive in program order, so RELAXED and RELEASE are the same, as on x86.
* PSO: only stores to the same word arrive in program order. A RELEASE store, or any store behind a
  release fence, arrives after all earlier stores of its thread, or those before the fence.
* A SEQ_CST store, a SEQ_CST fence, taking and giving back a lock, and under TSO every
  read-modify-write let all the thread's stores arrive first. Under PSO a read-modify-write does so
  if it releases, and else only those to the same word. It acts on memory at once.

The arrival of a store matters only to a thread that reads the word, so it is decided late: when
another thread reaches the word. The run then *draws* which store arrives first; draw 0 always takes
program order, so a run without other draws is sequentially consistent.

C11 allows more than this memory. Loads are never early, so a relaxed load that should acquire shows
only as a data race on the data it guards (load buffering, independent reads of independent writes
by relaxed or acquire loads); all threads see stores arrive in one order; a read-modify-write is
never delayed; a releasing one, and a lock, leave no earlier store in flight. Under TSO this memory
forbids nothing that x86 allows. ARM and POWER also reorder loads; for them, real threads are the
only test (``tests/stress``).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

from operators.check.clocks import RELEASES
from operators.check.machine import Machine
from operators.check.scenario import Scenario
from operators.check.shared_memory import Words, item, set_item
from operators.core.atomics import SEQ_CST
from operators.core.marks import POISON

# The key of a fence in the trace: no word has it.
NO_WORD = -2


class _Late(NamedTuple):
    """A store in flight."""

    thread: int
    number: int  # in the order of all stores
    made: int  # the step of the store
    key: int
    words: Words
    index: int
    value: int
    release: Any
    behind: int  # stores of the thread with a lower number arrive first


class BufferedMachine(Machine):
    """A machine whose stores arrive late.

    Attributes
    ----------
    total : bool
        TSO; else PSO.
    late : list of lists
        By thread the stores in flight, oldest first.
    waiting : dict of lists
        By key the stores in flight to the word, oldest first.
    """

    def __init__(self, scenario: Scenario, total: bool, modules: Sequence[ModuleType] = ()) -> None:
        self.total = total
        super().__init__(scenario, modules)

    def begin(self) -> None:
        """Go back to the first state, with empty buffers."""
        super().begin()
        self.late: list[list[_Late]] = [[] for _ in range(self.count)]
        self.waiting: dict[int, list[_Late]] = {}
        self.stores = 0
        self.fenced = [0] * self.count

    def run(self, plan: Any) -> None:
        """Run every thread to its end, and let every store arrive."""
        super().run(plan)
        # After the last step of all.
        self.steps += 1
        self.all_wait()
        self.steps -= 1

    def all_wait(self) -> None:
        """Let everything arrive: no store stays in flight for ever."""
        self._arrive_all([entry for late in self.late for entry in late])

    # --- order of arrival -------------------------------------------------------------------------

    def _predecessors(self, entry: _Late) -> list[_Late]:
        """Return the stores of the same thread that have to arrive before `entry`."""
        late = self.late[entry.thread]
        place = late.index(entry)
        if self.total:
            return late[:place]
        needed, behind = [], entry.behind
        for each in reversed(late[:place]):
            if each.number < behind:
                # So do all stores before it.
                return late[: late.index(each) + 1] + needed
            if each.key == entry.key:
                needed.append(each)
                behind = max(behind, each.behind)
        return needed

    def _ready(self, wanted: list[_Late]) -> list[_Late]:
        """Return the stores that can arrive next so that `wanted` do, oldest first.

        These are all stores that need not wait for another, among `wanted`, the stores that must
        arrive before them, and the stores of other threads in flight to the same words.
        """
        region = {entry.number: entry for entry in wanted}
        left, ready = list(wanted), []
        while left:
            entry = left.pop()
            before = self._predecessors(entry)
            if not before:
                ready.append(entry)
            # Stores of the same thread to the word are in the region, or come later.
            others = [each for each in self.waiting[entry.key] if each.thread != entry.thread]
            for each in before + others:
                if each.number not in region:
                    region[each.number] = each
                    left.append(each)
        return sorted(ready, key=lambda entry: entry.number)

    def _arrive_all(self, wanted: list[_Late]) -> None:
        """Let stores arrive, and before each the stores that the run draws."""
        if wanted and self._apart(wanted):
            for entry in wanted:
                self._land(entry)
            return
        while wanted:
            ready = self._ready(wanted)
            # If no other thread has a store in flight to the word, the order is unobservable.
            needed = {each.thread for each in wanted}
            entry = next((e for e in ready if e.thread in needed and self._alone(e)), None)
            if entry is None:
                entry = ready[self.draw(len(ready)) if len(ready) > 1 else 0]
            self._land(entry)
            wanted = [each for each in wanted if each is not entry]

    def _alone(self, entry: _Late) -> bool:
        return all(each.thread == entry.thread for each in self.waiting[entry.key])

    def _apart(self, wanted: list[_Late]) -> bool:
        """Return whether these are all of one thread, to words that no other stores to."""
        late = self.late[wanted[0].thread]
        if len(late) != len(wanted) or late[-1] is not wanted[-1]:
            return False
        return all(map(self._alone, late))

    def _others_arrive(self, key: int) -> None:
        """Let stores to a word arrive, as the run draws, while others have some in flight."""
        while True:
            wanted = self.waiting.get(key, [])
            if all(entry.thread == self.thread for entry in wanted):
                return
            ready = self._ready(wanted)
            choice = self.draw(len(ready) + 1)
            if choice == len(ready):
                return
            self._land(ready[choice])

    def _land(self, entry: _Late) -> None:
        self.late[entry.thread].remove(entry)
        there = self.waiting[entry.key]
        there.remove(entry)
        if not there:
            del self.waiting[entry.key]
        self.more.setdefault(min(self.steps, len(self.trace)) - 1, []).append(entry.key + 1)
        self.landed[entry.made] = self.steps - 1
        self.publish(entry.key, entry.release)
        set_item(entry.words, entry.index, entry.value)

    def _own_arrive(self, key: int | None = None) -> None:
        """Let the running thread's stores arrive: all, or those to a word."""
        self._arrive_all([e for e in self.late[self.thread] if key is None or e.key == key])

    # --- atomics ---------------------------------------------------------------------------------

    def load(self, words: Words, index: int, order: int) -> int:
        """Return the word as this thread sees it."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 0)
        if key in self.waiting:
            self._others_arrive(key)
            own = [each for each in self.waiting.get(key, ()) if each.thread == self.thread]
            if own:
                return own[-1].value
        if key in self.released:
            self.see(key, order)
        value = item(words, index)
        if value == POISON:
            self.fail_recycled(words, index, "loads a word of a node that is free")
        return value

    def last_of(self, words: Words, index: int) -> int | None:
        """Return the word as the running thread sees it: its last store may be in flight.

        None if other threads have a store in flight to it, too.
        """
        there = self.waiting.get(words.base + 2 * index)
        if there is None:
            return super().last_of(words, index)
        return there[-1].value if all(each.thread == self.thread for each in there) else None

    def store(self, words: Words, index: int, value: int, order: int) -> None:
        """Put a store into the buffer."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 1)
        self.written(words, index, value)
        self.stores += 1
        behind = self.stores if order in RELEASES else self.fenced[self.thread]
        release = self.hand_over(order)
        made = self.steps - 1
        entry = _Late(self.thread, self.stores, made, key, words, index, value, release, behind)
        self.late[self.thread].append(entry)
        self.waiting.setdefault(key, []).append(entry)
        if order == SEQ_CST:
            self._own_arrive()

    def arrive(self, words: Words, index: int, order: int) -> None:
        """Let the stores arrive that a read-modify-write or a lock must find in memory."""
        key = words.base + 2 * index
        late = self.late[self.thread]
        if not self.total and order not in RELEASES:
            late = [e for e in late if e.key == key or e.number < self.fenced[self.thread]]
        self._arrive_all(list(late))
        if key in self.waiting:
            self._others_arrive(key)

    def fence(self, order: int) -> None:
        """Order the thread's stores before the fence before those after it; a step if SEQ_CST."""
        if order == SEQ_CST:
            if self.steps >= self.decide_at:
                self.decide()
            self.steps += 1
            self.trace.append(NO_WORD)
            self.epochs.append(self.epoch)
            self._own_arrive()
        elif order in RELEASES:
            self.fenced[self.thread] = self.stores + 1
        super().fence(order)

    def plain_read(self, words: Words, index: int) -> None:
        """Let the thread's stores to the word arrive before a plain read."""
        self._own_arrive(words.base + 2 * index)
        super().plain_read(words, index)

    def plain_write(self, words: Words, index: int, what: str = "writes") -> None:
        """Let the thread's stores to the word arrive before a plain write."""
        self._own_arrive(words.base + 2 * index)
        super().plain_write(words, index, what)
