"""A machine in software: threads that take turns at atomics, in the order that a plan decides.

`Machine` defines every function of ``operators.core.atomics`` once for all threads of a run.
`Machine.installed` rebinds the names of these functions in every module of ``operators``, so that
the production source runs on this machine unchanged.

A *step* is one atomic operation together with the plain code up to the next one. Threads are
greenlets; before each step the running thread asks its *plan* (``schedules``) whether another goes
first. A thread that calls ``pause``, ``yield_thread`` or ``sleep_us`` gives way: it does not run
again until another thread has written something, or all others wait as well. Without this rule a
spinning thread would use up every schedule. A thread that waits for a taken lock cannot run.

A thread whose call is repeated gives way before its next step, not at the end of the call, because
a call without a step is plain code. Every chosen thread therefore takes a step or waits for a lock,
and the threads of the steps identify a run. If a thread could make a call without a step and then
give way or end, no schedule would show it.

Memory is sequentially consistent here, so a fence is not a step; ``buffers`` delays stores, and
``weak_memory`` lets loads read old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import greenlet

from operators.check import schedules
from operators.check.binding import Doors
from operators.check.clocks import ACQUIRES, RELEASES, Clocks
from operators.check.draws import Draws
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, DoesNotFit, Scenario, first_word
from operators.check.shared_memory import THREAD_MASK, Words, item, place_of, set_item, share
from operators.core.atomics import ACQUIRE, RELEASE, SEQ_CST
from operators.core.integers import wrapping_add
from operators.core.marks import POISON

# Rounds in which every thread gave way and none wrote: no write will end the wait.
IDLE_ROUNDS = 50
NO_LOCK = -1


class Machine(Clocks, Draws, Doors):
    """Runs a scenario, one schedule after the other.

    Attributes
    ----------
    steps : int
        Steps taken in this run.
    trace, epochs : lists of int
        For each step the key of the word (odd if the step may have written) and the epoch.
    lost : set of int
        Compare-and-swap steps that failed and wrote nothing.
    masks : list of (int, int)
        From which step on which threads could run, as a bit set.
    more : dict
        By step the keys of further words that it wrote.
    unlocks : set of int
        Steps that gave a lock back.
    landed : dict
        By step that stored, the step at which the store arrived, if later.
    history : list of HistoryOperation
        Finished calls; times are steps taken before and after.
    marks : set of str
        Marks passed in this run.
    runs : int
        Runs so far, the present one among them.
    running : bool
        Whether threads run, and not, say, their judge.
    on_rest : callable, optional
        Called with the machine whenever a call ends and no other thread is inside one.
    """

    on_rest: Callable[[Machine], None] | None = None
    runs = 0
    running = False

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
        self.runs += 1
        self.running = False
        for words in self.words:
            words.begin()
        for each in self.kept:
            each.restart(self.state)
        self.begin_clocks()
        self.held: dict[int, int] = {}
        self.wants = [NO_LOCK] * self.count
        self.alive = (1 << self.count) - 1
        self.yielded = 0
        self.giving_way = 0
        self.idle_rounds = 0
        self.steps = 0
        self.decide_at = 0
        self.starting = True
        self.masks: list[tuple[int, int]] = []
        self.begin_draws()
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
            If the run shows a race, a recycled node, a deadlock or an exception.
        """
        self.plan = plan
        self.begin()
        self.running = True
        self._main = greenlet.getcurrent()
        self.threads = [
            greenlet.greenlet(lambda t=thread: self._body(t), self._main)
            for thread in range(self.count)
        ]
        for thread, running in enumerate(self.threads):
            # Run to the first step: plain code before it touches no shared word.
            self.turn_to(thread)
            running.switch()
        self.starting = False
        self.note_runnable()
        self.decide_at = plan.begin()
        while self.alive:
            self._resume(self.choose(self.thread))
        self.running = False

    def _body(self, thread: int) -> None:
        scenario, state = self.scenario, self.state
        perform, retry, goes_on = scenario.perform, scenario.retry, scenario.goes_on
        for call in scenario.programs[thread]:
            without_step = 0
            while True:
                self.call_begins(call)
                answer = perform(state, call)
                began = self.call_ends(call, answer)
                if not retry or first_word(answer) not in retry:
                    break
                without_step = 0 if self.steps > began else without_step + 1
                if without_step > IDLE_ROUNDS:
                    self.pause()
                elif first_word(answer) not in goes_on:
                    self.giving_way |= 1 << thread
                    self.decide_at = self.steps
        self.alive &= ~(1 << thread)
        if not self.starting:
            self.note_runnable()

    def call_begins(self, call: Call) -> None:
        """Note that the running thread begins a call."""
        self.open_calls[self.thread] = call, self.steps

    def call_ends(self, call: Call, answer: Any) -> int:
        """Add a finished call to the history, and return the step before which it began."""
        thread = self.thread
        began = self.open_calls.pop(thread)[1]
        self.history.append(
            HistoryOperation(thread, call.name, call.arguments, answer, began, self.steps)
        )
        inside = self.on_rest is None or self.starting or any(map(self._is_inside, self.open_calls))
        if not inside:
            self.on_rest(self)
        return began

    def _is_inside(self, thread: int) -> bool:
        """Return whether a thread has taken a step of the call that it is in."""
        began = self.open_calls[thread][1]
        return any(epoch & THREAD_MASK == thread for epoch in self.epochs[began:])

    def _resume(self, thread: int) -> None:
        """Let `thread` go on, from another thread or from the main program."""
        self.turn_to(thread)
        self.threads[thread].switch()

    def decide(self) -> None:
        """Let the plan choose who takes the next step; return when the caller may take it."""
        me = self.thread
        if self.starting:
            self.giving_way &= ~(1 << me)
            self._main.switch()
            return
        if self.steps >= schedules.STEP_LIMIT:
            self.fail("progress", f"no end in sight after {self.steps} steps")
        if self.giving_way >> me & 1:
            self.pause()
            return
        chosen, self.decide_at = self.plan.decide(self, me)
        if chosen != me:
            if not self.runnable() >> chosen & 1:
                raise DoesNotFit(f"{self.name(chosen)} cannot take step {self.steps}")
            self._resume(chosen)

    def choose(self, last: int) -> int:
        """Return the thread that goes on when `last` cannot; no choice costs a preemption."""
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
        """Let stores in flight arrive while every thread waits; here there are none."""

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
        """Let threads that gave way run again, after a write."""
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
        """Check an atomic write against plain reads, and wake waiters if the word changes."""
        read = words.reads[index]
        if self.clock[read & 7] < read >> 3:
            other = words.unordered_reader(index, self.clock)
            if other >= 0:
                self.fail_race(words, index, other, "writes by an atomic")
        if words.poisoned:
            words.poisoned.discard(index)
        if self.yielded or self.idle_rounds:
            last = self.last_of(words, index)
            if last is None or last != value:
                self.wake()

    def last_of(self, words: Words, index: int) -> int | None:
        """Return the word as the running thread sees it, or None if that is undecided."""
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
        """Replace the word if it has the expected value."""
        before = self._before_update(words, index, order)
        if before == POISON:
            self.fail_recycled(words, index, "compares a word of a node that is free")
        if before == expected:
            self._update(words, index, desired, order)
            return True
            # A failed CAS counts as a write to the explorer: in another order it would succeed.
        self.lost.add(self.steps - 1)
        self.see(words.base + 2 * index, order)
        return False

    def fetch_add(self, words: Words, index: int, value: int, order: int) -> int:
        """Add to the word, wrapping at 64 bits, and return the value before."""
        before = self._before_update(words, index, order)
        if before == POISON:
            self.fail_recycled(words, index, "adds to a word of a node that is free")
        self._update(words, index, wrapping_add(before, value), order)
        return before

    def exchange(self, words: Words, index: int, value: int, order: int) -> int:
        """Set the word and return the value before."""
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
        """Let stores arrive before a read-modify-write or a lock; here none are in flight."""

    def _update(self, words: Words, index: int, value: int, order: int) -> None:
        self.written(words, index, value)
        key = words.base + 2 * index
        self.see(key, order)
        self.continue_release(key, order)
        set_item(words, index, value)

    def fence(self, order: int) -> None:
        """Order the thread's accesses before the fence before those after it."""
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
        self.giving_way &= ~(1 << self.thread)
        if self.starting:
            self._main.switch()
            return
        chosen = self.choose(self.thread)
        if chosen != self.thread:
            self._resume(chosen)

    def now(self) -> int:
        """Return the steps taken so far, the only clock."""
        return self.steps

    thread_now = now

    def mark(self, name: str) -> None:
        """Remember that the run has passed a rare branch."""
        self.marks.add(name)

    def poison(self, words: Words, first: int, count: int) -> None:
        """Poison words of a freed node; an access not ordered with this one is a failure."""
        for index in range(first, first + count):
            self.plain_write(words, index, "frees")
            words.writes[index], words.reads[index] = self.epoch, 0
            words.poisoned.add(index)
            set_item(words, index, POISON)

    def take_over(self, words: Words, first: int, count: int) -> None:
        """Check that every earlier access of some words happens before the running thread's."""
        for index in range(first, first + count):
            self.check_handed_over(words, index, "takes over")
