"""A machine in software: threads that take turns at atomics, in an order that a plan decides.

Each function of ``operators.core.atomics`` has its meaning here, once for all threads of a run.
`Machine.installed` puts them in the place of those functions in every module of ``operators``, so
that the production source runs on this machine unchanged.

A *step* is one atomic operation, and goes with the plain code behind it up to the next. Threads are
greenlets; before each step the running one asks whether another is to go first, which a *plan*
(``plans``) has decided. Who runs ``pause``, ``yield_thread`` or ``sleep_us`` gives way: it is not
run again until some other thread has written something, or all others wait as well. Without this a
thread that spins would use up every schedule. A lock that is taken keeps its thread from running.

Here memory is sequentially consistent, so that a fence is no step; ``buffers`` lets stores arrive
late.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import greenlet

from operators.check import plans
from operators.check.clocks import ACQUIRES, RELEASES, Clocks
from operators.check.doors import Doors
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, DoesNotFit, Scenario, first_word
from operators.check.words import THREAD_MASK, Words, item, place_of, set_item, share
from operators.core.atomics import ACQUIRE, RELEASE, SEQ_CST
from operators.core.integers import wrapping_add
from operators.core.marks import POISON

# Rounds in which every thread gave way and none wrote: what they wait for does not come.
IDLE_ROUNDS = 50
NO_LOCK = -1


class Machine(Clocks, Doors):
    """Runs a scenario, one schedule after the other.

    Attributes
    ----------
    steps : int
        Steps taken in this run.
    trace, epochs : lists of int
        Of each step the key of its word (odd where it may have written) and its epoch.
    lost : set of int
        Steps that compared and wrote nothing.
    masks : list of (int, int)
        From which step on which threads could run, as a bit set.
    options, chosen : dict
        By step how many possibilities each of its draws had, and which one is to be taken: what
        has arrived (``buffers``).
    more : dict
        By step the keys of further words that it wrote.
    unlocks : set of int
        Steps that gave a lock back.
    landed : dict
        By step that stored, the step at which the store arrived, where that was later.
    dice : Random, optional
        Who draws where nothing was chosen.
    history : list of HistoryOperation
        Finished calls; times are steps taken before and after.
    marks : set of str
        Marks passed in this run.
    """

    def __init__(self, scenario: Scenario, modules: Sequence[Any] = ()) -> None:
        self.scenario = scenario
        self.chosen: dict[int, list[int]] = {}
        self.dice: Random | None = None
        self.count = len(scenario.programs)
        self.original = scenario.make()
        self.state, self.pairs = share(self.original, self)
        self.words = [words for words, _ in self.pairs]
        self.kept = [each for each in self.state if hasattr(each, "restart")]
        self.find_names(modules)
        self.begin()

    # --- a run -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Go back to the first state."""
        for words in self.words:
            words.begin()
        for each in self.kept:
            each.restart(self.state)
        self.begin_clocks()
        self.held: dict[int, int] = {}
        self.wants = [NO_LOCK] * self.count
        self.alive = (1 << self.count) - 1
        self.yielded = 0
        self.idle_rounds = 0
        self.steps = 0
        self.decide_at = 0
        self.starting = True
        self.masks: list[tuple[int, int]] = []
        self.options: dict[int, list[int]] = {}
        self.unlocks: set[int] = set()
        self.more: dict[int, list[int]] = {}
        self.landed: dict[int, int] = {}
        self.history: list[HistoryOperation] = []
        self.open_calls: dict[int, tuple[Call, int]] = {}
        self.marks: set[str] = set()
        self.turn_to(0)

    def run(self, plan: Any) -> None:
        """Run every thread to its end, in the order of `plan`.

        Raises
        ------
        Failure
            What the run itself has found: a race, a recycled node, a deadlock, an exception.
        """
        self.plan = plan
        self.begin()
        self._main = greenlet.getcurrent()
        self.threads = [
            greenlet.greenlet(lambda t=thread: self._body(t), self._main)
            for thread in range(self.count)
        ]
        for thread, running in enumerate(self.threads):
            # Up to its first step: what lies before is the thread's own.
            self.turn_to(thread)
            running.switch()
        self.starting = False
        self.note_runnable()
        self.decide_at = plan.begin()
        while self.alive:
            self._resume(self.choose(self.thread))

    def _body(self, thread: int) -> None:
        perform, retry, state = self.scenario.perform, self.scenario.retry, self.state
        for call in self.scenario.programs[thread]:
            while True:
                self.open_calls[thread] = call, self.steps
                answer = perform(state, call)
                began = self.open_calls.pop(thread)[1]
                self.history.append(
                    HistoryOperation(thread, call.name, call.arguments, answer, began, self.steps)
                )
                if not retry or first_word(answer) not in retry:
                    break
                self.pause()
        self.alive &= ~(1 << thread)
        if not self.starting:
            self.note_runnable()

    def _resume(self, thread: int) -> None:
        """Let `thread` go on, from another thread or from the main program."""
        self.turn_to(thread)
        self.threads[thread].switch()

    def decide(self) -> None:
        """Let the plan say who takes the next step; returns when it is the caller's."""
        if self.starting:
            self._main.switch()
            return
        if self.steps >= plans.STEP_LIMIT:
            self.fail("progress", f"no end in sight after {self.steps} steps")
        me = self.thread
        chosen, self.decide_at = self.plan.decide(self, me)
        if chosen != me:
            if not self.runnable() >> chosen & 1:
                raise DoesNotFit(f"{self.name(chosen)} cannot take step {self.steps}")
            self._resume(chosen)

    def choose(self, last: int) -> int:
        """Return who goes on when `last` cannot; any choice is free of a preemption."""
        runnable = self.runnable()
        if not runnable:
            if not self.yielded:
                self.fail("deadlock", f"every thread that has not ended waits: {self._waiting()}")
            self.idle_rounds += 1
            if self.idle_rounds > IDLE_ROUNDS:
                self.fail("progress", "every thread gives way to the others, and none writes")
            self.all_wait()
            self.yielded = 0
            self.note_runnable()
            runnable = self.runnable()
            if not runnable:
                self.fail("deadlock", f"every thread that has not ended waits: {self._waiting()}")
        chosen, self.decide_at = self.plan.choose(self, last, runnable)
        if not runnable >> chosen & 1:
            raise DoesNotFit(f"{self.name(chosen)} cannot take step {self.steps}")
        return chosen

    def _waiting(self) -> str:
        waiting = [t for t in range(self.count) if self.alive >> t & 1]
        return ", ".join(
            f"{self.name(t)} for {place_of(self.pairs, self.wants[t])}" for t in waiting
        )

    def all_wait(self) -> None:
        """Do what happens in time when nobody does anything; here nothing is on its way."""

    def runnable(self) -> int:
        """Return the set of threads that could take a step now."""
        ready = self.alive & ~self.yielded
        for thread in range(self.count):
            if self.wants[thread] in self.held:
                ready &= ~(1 << thread)
        return ready

    def note_runnable(self) -> None:
        """Remember from which step on which threads can run."""
        self.masks.append((self.steps, self.runnable()))
        if self.plan.asks_on_change:
            self.decide_at = self.steps

    def wake(self) -> None:
        """Something was written: who gave way may look again."""
        if self.yielded & ~(1 << self.thread):
            self.yielded &= 1 << self.thread
            self.note_runnable()
        self.idle_rounds = 0

    # --- atomics ---------------------------------------------------------------------------------

    def step(self, words: Words, index: int, write: int) -> int:
        """Take a step at a word; return the word's key."""
        self.steps += 1
        clock = self.clock
        written = words.writes[index]
        if clock[written & 7] < written >> 3 or index < 0:
            self.inside(words, index)
            self.fail_race(words, index, written & THREAD_MASK, "reaches by an atomic")
        words.atomic[index] = 1
        key = words.base + index + index
        self.trace.append(key + write)
        self.epochs.append(self.epoch)
        return key

    def written(self, words: Words, index: int, value: int | None = None) -> None:
        """Check an atomic write against plain reads, and wake who waits if it changes the word."""
        read = words.reads[index]
        if self.clock[read & 7] < read >> 3:
            other = words.unordered_reader(index, self.clock)
            if other >= 0:
                self.fail_race(words, index, other, "writes by an atomic")
        if words.spoiled:
            words.spoiled.discard(index)
        if self.yielded or self.idle_rounds:
            last = self.last_of(words, index)
            if last is None or last != value:
                self.wake()

    def last_of(self, words: Words, index: int) -> int | None:
        """Return the word as the running thread has it; None where it cannot be told."""
        return item(words, index)

    def load(self, words: Words, index: int, order: int) -> int:
        """Return the word."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 0)
        if key in self.released:
            self.see(key, order)
        value = item(words, index)
        if value == POISON:
            self.fail_recycled(words, index, "loads a word of a node that is free")
        return value

    def store(self, words: Words, index: int, value: int, order: int) -> None:
        """Set the word."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 1)
        self.written(words, index, value)
        self.publish(key, self.hand_over(order))
        set_item(words, index, value)

    def cas(self, words: Words, index: int, expected: int, desired: int, order: int) -> bool:
        """Replace the word if it is the expected one."""
        before = self._before_update(words, index, order)
        if before == POISON:
            self.fail_recycled(words, index, "compares a word of a node that is free")
        if before == expected:
            self._update(words, index, desired, order)
            return True
        # A write to the explorer still, since in another order it would be one.
        self.lost.add(self.steps - 1)
        self.see(words.base + 2 * index, order)
        return False

    def fetch_add(self, words: Words, index: int, value: int, order: int) -> int:
        """Add to the word, wrapping at 64 bits, and return what it was."""
        before = self._before_update(words, index, order)
        if before == POISON:
            self.fail_recycled(words, index, "adds to a word of a node that is free")
        self._update(words, index, wrapping_add(before, value), order)
        return before

    def exchange(self, words: Words, index: int, value: int, order: int) -> int:
        """Set the word and return what it was."""
        before = self._before_update(words, index, order)
        if before == POISON:
            self.fail_recycled(words, index, "exchanges a word of a node that is free")
        self._update(words, index, value, order)
        return before

    def _before_update(self, words: Words, index: int, order: int) -> int:
        if self.steps >= self.decide_at:
            self.decide()
        self.step(words, index, 1)
        self.arrive(words, index, order)
        return item(words, index)

    def arrive(self, words: Words, index: int, order: int) -> None:
        """Let stores arrive before a read-modify-write or a lock; here all have."""

    def _update(self, words: Words, index: int, value: int, order: int) -> None:
        self.written(words, index, value)
        key = words.base + 2 * index
        self.see(key, order)
        self.continue_release(key, order)
        set_item(words, index, value)

    def fence(self, order: int) -> None:
        """Order the thread's accesses before against those behind."""
        seen = self.behind_fence[self.thread]
        if order in ACQUIRES and seen is not None:
            self.join(seen, self.clock)
        if order in RELEASES:
            self.before_fence[self.thread] = self.clock.copy()
            self.tick()

    def lock(self, words: Words, index: int) -> None:
        """Take the mutex at `index`, once it is free."""
        key = words.base + 2 * index
        self.wants[self.thread] = key
        if key not in self.held and self.steps >= self.decide_at:
            self.decide()
        if key in self.held:
            self.note_runnable()
        while key in self.held:
            self._give_way()
        self.wants[self.thread] = NO_LOCK
        self.held[key] = self.thread
        self.step(words, index, 1)
        self.arrive(words, index, SEQ_CST)
        self.written(words, index)
        self.see(key, ACQUIRE)
        self.note_runnable()

    def unlock(self, words: Words, index: int) -> None:
        """Give the mutex at `index` back."""
        if self.steps >= self.decide_at:
            self.decide()
        key = self.step(words, index, 1)
        self.unlocks.add(self.steps - 1)
        self.arrive(words, index, SEQ_CST)
        self.written(words, index)
        if self.held.pop(key, None) != self.thread:
            self.fail("exception", f"thread {self.name(self.thread)} gives back a lock it has not")
        self.publish(key, self.hand_over(RELEASE))
        self.note_runnable()

    # --- waiting, clocks, marks ------------------------------------------------------------------

    def pause(self) -> None:
        """Give way until another thread has written something."""
        self.yielded |= 1 << self.thread
        self.note_runnable()
        self._give_way()

    yield_thread = pause

    def sleep_us(self, microseconds: int) -> None:
        """Give way, as `pause` does."""
        self.pause()

    def _give_way(self) -> None:
        if self.starting:
            self._main.switch()
            return
        chosen = self.choose(self.thread)
        if chosen != self.thread:
            self._resume(chosen)

    def now(self) -> int:
        """Return the steps taken so far: the only clock here."""
        return self.steps

    thread_now = now

    def mark(self, name: str) -> None:
        """Remember that the run has passed a rare branch."""
        self.marks.add(name)

    def spoil(self, words: Words, first: int, count: int) -> None:
        """Poison words that change hands; an access not ordered with this is a failure."""
        for index in range(first, first + count):
            self.plain_write(words, index, "frees")
            words.writes[index], words.reads[index] = self.epoch, 0
            words.spoiled.add(index)
            set_item(words, index, POISON)
