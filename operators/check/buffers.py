"""Memory where stores arrive late: a buffer a thread (TSO), or one a thread and word (PSO).

A store waits in its thread's buffer; its thread reads it from there, the others do not see it until
it arrives.

* TSO: a thread's stores arrive in the order in which they were made, so RELAXED and RELEASE are the
  same, as on x86.
* PSO: only stores to one word do. A RELEASE store, or any store behind a release fence, arrives
  after all that its thread stored before it, or before the fence.
* A SEQ_CST store, a SEQ_CST fence, taking and giving back a lock, and under TSO every
  read-modify-write let all the thread's stores arrive first; under PSO a read-modify-write does so
  if it releases, and else for its own word only. It acts on memory at once.

When a store arrives matters only to who looks. So it is decided late: when another thread reaches
the word. Then the run *draws* what arrives first; draw 0 is always the order in which the stores
were made, so that a run without other draws is sequentially consistent.

What C11 allows and this memory does not: loads are never early, so a relaxed load that should
acquire shows as a data race on what it guards and in no other way (load buffering, independent
reads of independent writes by relaxed or acquire loads); all threads see stores arrive in one
order; a read-modify-write is never late; a releasing one, and a lock, let nothing before them be
late. What this memory forbids beyond x86 under TSO: nothing. ARM and POWER reorder loads as well;
there, real threads are the only test (``tests/stress``).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

from operators.check.clocks import RELEASES
from operators.check.machine import Machine
from operators.check.scenario import DoesNotFit, Scenario
from operators.check.words import Words, item, set_item
from operators.core.atomics import SEQ_CST
from operators.core.marks import POISON

# How often the dice leave the order in which the stores were made.
ODD_DRAW = 0.25
# The key of a fence in the trace: no word's.
NO_WORD = -2


class _Late(NamedTuple):
    """A store on its way."""

    thread: int
    number: int  # in the order in which stores were made
    made: int  # at which step
    key: int
    words: Words
    index: int
    value: int
    release: Any
    behind: int  # stores of the thread with a lower number arrive first


def make_machine(scenario: Scenario, memory: str, modules: Sequence[ModuleType] = ()) -> Machine:
    """Return the machine of a kind of memory: "sc", "tso" or "pso"."""
    if memory == "sc":
        return Machine(scenario, modules)
    return BufferedMachine(scenario, memory == "tso", modules)


class BufferedMachine(Machine):
    """A machine whose stores arrive late.

    Attributes
    ----------
    total : bool
        TSO; else PSO.
    late : list of lists
        By thread its stores on their way, oldest first.
    waiting : dict of lists
        By key the stores on their way to the word, oldest first.
    """

    def __init__(self, scenario: Scenario, total: bool, modules: Sequence[ModuleType] = ()) -> None:
        self.total = total
        super().__init__(scenario, modules)

    def begin(self) -> None:
        """Go back to the first state, with nothing on its way."""
        super().begin()
        self.late: list[list[_Late]] = [[] for _ in range(self.count)]
        self.waiting: dict[int, list[_Late]] = {}
        self.stores = 0
        self.fenced = [0] * self.count

    def run(self, plan: Any) -> None:
        """Run every thread to its end, and let every store arrive."""
        super().run(plan)
        # Behind the last step of all.
        self.steps += 1
        self.all_wait()
        self.steps -= 1

    def all_wait(self) -> None:
        """Let everything arrive: nothing stays on its way for ever."""
        self._arrive_all([entry for late in self.late for entry in late])

    # --- what arrives when -----------------------------------------------------------------------

    def draw(self, count: int) -> int:
        """Return one of `count` possibilities: what is to be taken, else the first."""
        step = min(self.steps, len(self.trace)) - 1
        options = self.options.setdefault(step, [])
        chosen = self.chosen.get(step, ())
        choice = chosen[len(options)] if len(options) < len(chosen) else 0
        if choice >= count:
            raise DoesNotFit(f"step {step} draws {choice} of {count}")
        if self.dice is not None and self.dice.random() < ODD_DRAW:
            choice = self.dice.randrange(count)
            self.chosen[step] = [*chosen, *[0] * (len(options) - len(chosen)), choice]
        options.append(count)
        return choice

    def _predecessors(self, entry: _Late) -> list[_Late]:
        """Return the stores of its thread that have to arrive before `entry`."""
        late = self.late[entry.thread]
        place = late.index(entry)
        if self.total:
            return late[:place]
        needed, behind = [], entry.behind
        for each in reversed(late[:place]):
            if each.number < behind:
                # And so does everything that was stored before it.
                return late[: late.index(each) + 1] + needed
            if each.key == entry.key:
                needed.append(each)
                behind = max(behind, each.behind)
        return needed

    def _ready(self, wanted: list[_Late]) -> list[_Late]:
        """Return what can arrive next so that `wanted` do, oldest first.

        That is, of them, of what must arrive before them, and of what other threads have on its way
        to the same words, all that need not wait for another.
        """
        region = {entry.number: entry for entry in wanted}
        left, ready = list(wanted), []
        while left:
            entry = left.pop()
            before = self._predecessors(entry)
            if not before:
                ready.append(entry)
            # Its own thread's stores to the word are in the region, or behind it.
            others = [each for each in self.waiting[entry.key] if each.thread != entry.thread]
            for each in before + others:
                if each.number not in region:
                    region[each.number] = each
                    left.append(each)
        return sorted(ready, key=lambda entry: entry.number)

    def _arrive_all(self, wanted: list[_Late]) -> None:
        """Let stores arrive, and before each what the run draws."""
        if wanted and self._apart(wanted):
            for entry in wanted:
                self._land(entry)
            return
        while wanted:
            ready = self._ready(wanted)
            # When a store arrives to a word that no other's is under way to, nobody can tell.
            needed = {each.thread for each in wanted}
            entry = next((e for e in ready if e.thread in needed and self._alone(e)), None)
            if entry is None:
                entry = ready[self.draw(len(ready)) if len(ready) > 1 else 0]
            self._land(entry)
            wanted = [each for each in wanted if each is not entry]

    def _alone(self, entry: _Late) -> bool:
        return all(each.thread == entry.thread for each in self.waiting[entry.key])

    def _apart(self, wanted: list[_Late]) -> bool:
        """Say whether these are all that one thread has on its way, to words of no other."""
        late = self.late[wanted[0].thread]
        if len(late) != len(wanted) or late[-1] is not wanted[-1]:
            return False
        return all(map(self._alone, late))

    def _others_arrive(self, key: int) -> None:
        """Let stores to a word arrive while others have some on their way, as the run draws."""
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
        """Return the word as the running thread has it: what it stored last may be on its way.

        None where others have a store to it on their way, too.
        """
        there = self.waiting.get(words.base + 2 * index)
        if there is None:
            return super().last_of(words, index)
        return there[-1].value if all(each.thread == self.thread for each in there) else None

    def store(self, words: Words, index: int, value: int, order: int) -> None:
        """Send a store off."""
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
        """Let arrive what a read-modify-write or a lock must find in memory."""
        key = words.base + 2 * index
        late = self.late[self.thread]
        if not self.total and order not in RELEASES:
            late = [e for e in late if e.key == key or e.number < self.fenced[self.thread]]
        self._arrive_all(list(late))
        if key in self.waiting:
            self._others_arrive(key)

    def fence(self, order: int) -> None:
        """Order the thread's stores before against those behind; a step, since stores arrive."""
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
        """Let the thread's own stores to the word arrive before it reads it plainly."""
        self._own_arrive(words.base + 2 * index)
        super().plain_read(words, index)

    def plain_write(self, words: Words, index: int, what: str = "writes") -> None:
        """Let the thread's own stores to the word arrive before it writes it plainly."""
        self._own_arrive(words.base + 2 * index)
        super().plain_write(words, index, what)
