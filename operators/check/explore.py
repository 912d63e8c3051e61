"""Every schedule of a scenario, up to a number of preemptions, with a reduction that is sound.

A *preemption* takes the turn from a thread that could go on; nearly every known race of two threads
needs two of them at most (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007). Each run
starts from the first state and follows the choices of the one before up to the place where it
differs: depth first, without a store of states.

Steps on different words, or that only read, commute, so most schedules repeat others. Dynamic
partial-order reduction (Flanagan and Godefroid, POPL 2005) tries another thread before a step only
where a later step of that thread touches the same word. Under a bound that loses states: the other
order may cost a preemption that is not left, where an equivalent schedule that switches earlier
costs none. Bounded partial-order reduction (Coons, Musuvathi, McKinley, OOPSLA 2013) therefore also
tries the thread at the beginning of the *block* of steps that the other thread took in a row, where
a switch happens already, and looks at the last step of every other thread, not of one.

Where a thread gives way to others a counted number of times and then goes on without what it waited
for, the moment of its waking is an outcome that the reduction may leave out; a wait without an end
loses nothing.

# ASSUME: where the running thread cannot go on, a switch is free and all that could go on are
# tried; the published algorithm starts with one of them. That is more schedules, never fewer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from types import ModuleType

from operators.check.buffers import make_machine
from operators.check.judge import Judge
from operators.check.machine import Machine
from operators.check.plans import Turns, WithoutSome, parse_schedule, schedule_string, turns_of
from operators.check.scenario import Failure, Scenario
from operators.check.words import THREAD_MASK

UNBOUNDED = 1 << 30
# What a step does to a word, and what it is to a call: two steps depend on each other where both
# together have both bits.
READS, WRITES = 1, 3
BEGINS, ENDS = 1, 2
DEPEND = 3


@dataclass
class Tally:
    """What an exploration has done.

    Attributes
    ----------
    schedules, steps : int
    marks : dict
        By mark the shortest schedule that passed it: (turns, steps, schedule string).
    """

    schedules: int = 0
    steps: int = 0
    marks: dict[str, tuple[int, int, str]] = field(default_factory=dict)

    def count(self, machine: Machine, memory: str) -> None:
        """Count a run."""
        self.schedules += 1
        self.steps += machine.steps
        for mark in machine.marks:
            best = self.marks.get(mark)
            if best is not None and best[0] <= 1:
                continue
            length = len(turns_of(machine.epochs)), machine.steps
            if best is None or length < best[:2]:
                string = schedule_string(
                    machine.scenario.name, memory, machine.epochs, machine.chosen
                )
                self.marks[mark] = *length, string


class _Path:
    """The choices of the last run, and what is still to be tried at each step.

    Attributes
    ----------
    thread : list of int
        Who took each step.
    runnable, done, wanted : list of int
        Before each step: the sets of threads that could take it, that have, and that are to.
    spent : list of int
        Preemptions before each step.
    late, options : dict
        By step what it draws about stores on their way, and how many possibilities there are.
    """

    def __init__(self, machine: Machine, preemptions: int, reduce: bool, stale: int) -> None:
        self.machine, self.preemptions, self.reduce = machine, preemptions, reduce
        self.stale = stale
        self.told = machine.scenario.specification is not None
        self.thread: list[int] = []
        self.runnable: list[int] = []
        self.done: list[int] = []
        self.wanted: list[int] = []
        self.spent: list[int] = []
        self.late: dict[int, list[int]] = {}
        self.options: dict[int, list[int]] = {}

    def plan(self) -> Turns:
        """Return the plan that repeats what is kept of the path."""
        return Turns(turns_of(self.thread))

    def extend(self) -> None:
        """Take over the steps of a run that are new, and what they ask for."""
        machine = self.machine
        kept = len(self.thread)
        self.thread = [epoch & THREAD_MASK for epoch in machine.epochs]
        new = self.thread[kept:]
        self._extend_runnable()
        last = self.thread[kept - 1] if kept else -1
        spent = self.spent[-1] + self._cost(kept - 1) if kept else 0
        for step, thread in enumerate(new, start=kept):
            mask = self.runnable[step]
            free = last < 0 or not mask >> last & 1
            self.spent.append(spent)
            self.done.append(1 << thread)
            self.wanted.append(mask if free or not self.reduce else 1 << thread)
            if thread != last and not free:
                spent += 1
            last = thread
        for step, options in machine.options.items():
            if step >= kept - 1:
                late = self.late.get(step, [])
                self.options[step] = options
                self.late[step] = late + [0] * (len(options) - len(late))
        if self.reduce:
            self._ask_for_reversals(max(kept - 1, 0))

    def _extend_runnable(self) -> None:
        runnable, count = self.runnable, len(self.thread)
        masks = self.machine.masks
        for place, (step, mask) in enumerate(masks):
            end = masks[place + 1][0] if place + 1 < len(masks) else count
            begin = max(step, len(runnable))
            if end > begin:
                runnable.extend([mask] * (min(end, count) - begin))

    def _cost(self, step: int, thread: int | None = None) -> int:
        """Return 1 if taking `step` by a thread is a preemption, else 0."""
        thread = self.thread[step] if thread is None else thread
        if step == 0 or self.thread[step - 1] == thread:
            return 0
        return self.runnable[step] >> self.thread[step - 1] & 1

    def _ask_for_reversals(self, first: int) -> None:
        """Want, for each new step, its thread before the steps of others that it depends on."""
        trace, more = self.machine.trace, self.machine.more
        seen: dict[int, list[int]] = {}
        ends = self._ends_of_calls() if self.told else {}
        calls: list[int] = []
        previous = [-1] * self.machine.count
        for step, key in enumerate(trace):
            thread = self.thread[step]
            keys = (key, *more[step]) if step in more else (key,)
            for each in keys:
                word, kind = each | 1, WRITES if each & 1 else READS
                accesses = seen.get(word)
                if accesses is None:
                    seen[word] = [step << 2 | kind]
                    continue
                if step >= first:
                    self._reverse(accesses, thread, kind, previous[thread])
                accesses.append(step << 2 | kind)
            if step in ends:
                if step >= first:
                    self._reverse(calls, thread, ends[step], previous[thread])
                calls.append(step << 2 | ends[step])
            previous[thread] = step

    def _ends_of_calls(self) -> dict[int, int]:
        """Return which steps are the first or the last of a call, or both.

        That a call ended before another began is part of a history, though no word may tell: so a
        last step and a first one depend on each other, whatever words they reach. A call without
        any step counts as made right before its thread's next one (`judge.timed`).
        """
        own: list[list[int]] = [[] for _ in range(self.machine.count)]
        for step, thread in enumerate(self.thread):
            own[thread].append(step)
        ends: dict[int, int] = {}
        for call in self.machine.history:
            steps = own[call.thread]
            first, behind = bisect_left(steps, call.began), bisect_left(steps, call.ended)
            if first < len(steps):
                last = max(first, behind - 1)
                ends[steps[first]] = ends.get(steps[first], 0) | BEGINS
                ends[steps[last]] = ends.get(steps[last], 0) | ENDS
        return ends

    def _reverse(self, accesses: list[int], thread: int, kind: int, previous: int) -> None:
        """Want `thread` before the accesses that its step depends on.

        All since its previous step, since its step was the next one at each of them; and the last
        one of each other thread before that.
        """
        met = 1 << thread
        for access in reversed(accesses):
            step = access >> 2
            other = self.thread[step]
            if (kind | access) & 3 != DEPEND or other == thread:
                continue
            # Before an unlock nobody can lock; the lock that goes with it is what may be reversed.
            if step in self.machine.unlocks and not met >> other & 1:
                self._want(step, thread)
                continue
            if step < previous:
                if met >> other & 1:
                    continue
                met |= 1 << other
            elif step > previous:
                met |= 1 << other
            self._want(step, thread)

    def _want(self, step: int, thread: int) -> None:
        self._want_at(step, thread)
        start = self._start_of_block(step)
        self._want_at(start, thread)
        if start == step and step > 0:
            self._want_at(self._start_of_block(step - 1), thread)

    def _start_of_block(self, step: int) -> int:
        while step > 0 and self.thread[step - 1] == self.thread[step]:
            step -= 1
        return step

    def _want_at(self, step: int, thread: int) -> None:
        if self.runnable[step] >> thread & 1:
            self.wanted[step] |= 1 << thread
        else:
            self.wanted[step] |= self.runnable[step]

    def retreat(self) -> bool:
        """Go back to the last choice that is not used up and change it; False when all are."""
        for step in range(len(self.runnable) - 1, -1, -1):
            if step in self.options and self._next_late(step):
                self._cut(step)
                return True
            left = (self.wanted[step] if self.reduce else self.runnable[step]) & ~self.done[step]
            left &= self.runnable[step]
            while left:
                thread = (left & -left).bit_length() - 1
                left &= left - 1
                self.done[step] |= 1 << thread
                if self.spent[step] + self._cost(step, thread) <= self.preemptions:
                    self.thread[step] = thread
                    self.late.pop(step, None)
                    self.options.pop(step, None)
                    self._cut(step)
                    return True
        return False

    def _next_late(self, step: int) -> bool:
        """Change the last draw of a step that has more possibilities; False when none has."""
        draws, options = self.late[step], self.options[step]
        earlier = (draws for at, draws in self.late.items() if at < step)
        before = sum(map(bool, chain.from_iterable(earlier)))
        for place in range(len(options) - 1, -1, -1):
            if draws[place] + 1 < options[place]:
                if before + sum(map(bool, draws[:place])) < self.stale:
                    self.late[step] = [*draws[:place], draws[place] + 1]
                    return True
        return False

    def _cut(self, step: int) -> None:
        """Forget what lies behind a step that was changed; the next run says what comes there."""
        for each in (self.thread, self.runnable, self.done, self.wanted, self.spent):
            del each[step + 1 :]
        for each in (self.late, self.options):
            for later in [at for at in each if at > step]:
                del each[later]


class Explorer:
    """Runs the schedules of one scenario on one kind of memory.

    Parameters
    ----------
    scenario : Scenario
    memory : str
        "sc", "tso" or "pso".
    modules : sequence of modules
        Beside those of ``operators``: where else the names of atomics are replaced.
    """

    def __init__(
        self, scenario: Scenario, memory: str = "sc", modules: Sequence[ModuleType] = ()
    ) -> None:
        self.scenario, self.memory = scenario, memory
        self.machine = make_machine(scenario, memory, modules)
        self.judge = Judge(scenario, memory != "sc")
        self.tally = Tally()
        self.staying = False

    @contextmanager
    def stay(self) -> Iterator[None]:
        """Leave the machine in the place of the atomics between runs: putting it there is slow."""
        self.staying = True
        try:
            yield
        finally:
            self.staying = False
            self.machine.remove()

    def run(self, plan: Turns, late: dict[int, list[int]] | None = None) -> Machine:
        """Run one schedule and judge it.

        Raises
        ------
        Failure
            With the string of the schedule.
        """
        machine = self.machine
        machine.chosen = late or {}
        machine.install()
        try:
            try:
                machine.run(plan)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise Failure("exception", f"{type(error).__name__}: {error}") from error
            self.judge.judge(machine)
        except Failure as failure:
            failure.schedule = self.string()
            raise
        finally:
            if not self.staying:
                machine.remove()
        self.tally.count(machine, self.memory)
        return machine

    def string(self) -> str:
        """Return the schedule string of the last run."""
        machine = self.machine
        return schedule_string(self.scenario.name, self.memory, machine.epochs, machine.chosen)

    def every_schedule(
        self, preemptions: int = 2, *, reduce: bool = True, stale: int = 1
    ) -> Iterator[Machine]:
        """Run every schedule, and yield the machine after each.

        Parameters
        ----------
        preemptions : int
            How often a schedule may take the turn from a thread that could go on.
        reduce : bool
            Leave out schedules that only repeat others.
        stale : int
            How many loads of a schedule may find stores of others still on their way.

        Raises
        ------
        Failure
            At the first schedule that fails.
        """
        path = _Path(self.machine, preemptions, reduce, stale)
        going = True
        with self.stay():
            while going:
                yield self.run(path.plan(), {s: d for s, d in path.late.items() if any(d)})
                path.extend()
                going = path.retreat()

    def replay(self, text: str) -> Machine:
        """Run the schedule of a string once more.

        Raises
        ------
        Failure
            As it did the first time.
        """
        schedule = parse_schedule(text)
        if schedule.stopped is not None:
            plan = WithoutSome(schedule.turns, schedule.steps, schedule.stopped)
            self.machine.scenario = replace(self.scenario, retry=frozenset())
            try:
                return self.run(plan)
            except Failure as failure:
                failure.schedule = text
                raise
            finally:
                self.machine.scenario = self.scenario
        return self.run(Turns(schedule.turns), schedule.late)


def replay(scenario: Scenario, text: str, modules: Sequence[ModuleType] = ()) -> Machine:
    """Run the schedule of a string, and raise the Failure that it shows."""
    return Explorer(scenario, parse_schedule(text).memory, modules).replay(text)


def outcomes(
    scenario: Scenario,
    memory: str = "sc",
    preemptions: int | None = None,
    reduce: bool = False,
    modules: Sequence[ModuleType] = (),
    stale: int = UNBOUNDED,
) -> set[tuple]:
    """Return what the calls of a scenario can answer: tuples by thread, then in program order.

    Calls that answer None are left out.
    """
    explorer = Explorer(scenario, memory, modules)
    bound = UNBOUNDED if preemptions is None else preemptions
    return {
        tuple(
            o.answer
            for o in sorted(machine.history, key=lambda o: o.thread)
            if o.answer is not None
        )
        for machine in explorer.every_schedule(bound, reduce=reduce, stale=stale)
    }
