"""Every schedule of a scenario up to a number of preemptions, with a sound reduction.

A *preemption* takes the turn from a thread that could go on; nearly every known race of two threads
needs two of them at most (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007). Each run
starts from the first state and follows the choices of the previous run up to the first different
one: a depth-first search that stores no states.

`dpor.Path` chooses the next schedule and leaves out schedules that only repeat others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType

from operators.check.apart import apart
from operators.check.dpor import Path
from operators.check.judge import Judge
from operators.check.machine import Machine
from operators.check.memories import make_machine
from operators.check.scenario import DoesNotFit, Failure, Scenario, cannot_begin, raised
from operators.check.schedules import (
    Schedule,
    Turns,
    WithoutSome,
    letter,
    parse_schedule,
    schedule_string,
    turns_of,
)
from operators.contract import UsageError

UNBOUNDED = 1 << 30


@dataclass
class Tally:
    """The counts and marks of an exploration.

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


class Explorer:
    """Runs the schedules of one scenario on one kind of memory.

    Parameters
    ----------
    scenario : Scenario
    memory : str
        One of ``memories.MEMORIES``.
    modules : sequence of modules
        Modules outside ``operators`` in which the names of atomics are replaced, too.

    Raises
    ------
    Failure
        When the scenario's first state cannot be made; no schedule leads to this failure.
    """

    def __init__(
        self, scenario: Scenario, memory: str = "sc", modules: Sequence[ModuleType] = ()
    ) -> None:
        self.scenario, self.memory = scenario, memory
        try:
            with apart("the making of the program"):
                self.machine = make_machine(scenario, memory, modules)
        except Exception as error:
            raise cannot_begin(error, _spelled(scenario)) from error
        self.judge = Judge(scenario, memory != "sc")
        if memory == "sc":
            self.machine.on_rest = self.judge.judge_rest
        self.tally = Tally()
        self.staying = False

    @contextmanager
    def stay(self) -> Iterator[None]:
        """Leave the machine installed between runs: installing it is slow."""
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
            machine.run(plan)
            self.judge.judge(machine)
        except Failure as failure:
            failure.schedule = self.string()
            raise
        except Exception as error:
            raise raised(error, self.string()) from error
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
        self, preemptions: int = 2, *, reduce: bool = True, stale: int | None = None
    ) -> Iterator[Machine]:
        """Run every schedule, and yield the machine after each.

        Parameters
        ----------
        preemptions : int
            How often a schedule may take the turn from a thread that could go on.
        reduce : bool
            Leave out schedules that only repeat others.
        stale : int
            How many draws of a schedule may differ from sequential consistency: by default one load
            that leaves stores in flight, or two loads of old stores.

        Raises
        ------
        Failure
            At the first schedule that fails.
        """
        stale = self.machine.stale if stale is None else stale
        path = Path(self.machine, preemptions, reduce, stale)
        going = True
        with self.stay():
            while going:
                self.machine.frontier = max(len(path.thread) - 1, 0)
                self.machine.most_drawn = stale
                try:
                    self.run(path.plan(), {s: d for s, d in path.late.items() if any(d)})
                finally:
                    self.machine.most_drawn = 0
                yield self.machine
                path.extend()
                going = path.retreat()

    def replay(self, text: str) -> Machine:
        """Run the schedule of a string once more.

        Raises
        ------
        Failure
            The failure of the first run.
        UsageError
            When the scenario has no such schedule.
        """
        schedule = parse_schedule(text)
        try:
            self._check_fit(schedule)
            if schedule.stopped is None:
                machine = self.run(Turns(schedule.turns), schedule.late)
                self._check_draws(schedule)
                return machine
            return self._replay_stopped(schedule, text)
        except DoesNotFit as error:
            raise UsageError(f"{text}: {error}") from error

    def _replay_stopped(self, schedule: Schedule, text: str) -> Machine:
        plan = WithoutSome(schedule.turns, schedule.steps, schedule.stopped or 0)
        self.machine.scenario = replace(self.scenario, retry=frozenset())
        try:
            return self.run(plan)
        except Failure as failure:
            failure.schedule = text
            raise
        finally:
            self.machine.scenario = self.scenario

    def _check_fit(self, schedule: Schedule) -> None:
        """Check that the threads of a schedule exist, and that one of them may go on."""
        named = [*schedule.turns.values(), (schedule.stopped or 0).bit_length() - 1]
        if max(named) >= self.machine.count:
            raise DoesNotFit(
                f"there is no thread {letter(max(named))}, {self.scenario.name} has"
                f" {self.machine.count}"
            )
        if schedule.stopped == (1 << self.machine.count) - 1:
            raise DoesNotFit("it stops every thread")

    def _check_draws(self, schedule: Schedule) -> None:
        """Check that the run made every draw of a schedule."""
        for step, draws in schedule.late.items():
            if len(draws) > len(self.machine.options.get(step, ())):
                raise DoesNotFit(f"step {step} does not draw so often")


def _spelled(scenario: Scenario) -> Iterator[str]:
    """Yield the program of each thread, for people."""
    for thread, program in enumerate(scenario.programs):
        calls = (f"{name}({', '.join(map(str, arguments))})" for name, arguments in program)
        yield f"{letter(thread)}: {', '.join(calls)}"


def replay(scenario: Scenario, text: str, modules: Sequence[ModuleType] = ()) -> Machine:
    """Run the schedule of a string, and raise its Failure if there is one."""
    return Explorer(scenario, parse_schedule(text).memory, modules).replay(text)


def outcomes(
    scenario: Scenario,
    memory: str = "sc",
    preemptions: int | None = None,
    reduce: bool = False,
    modules: Sequence[ModuleType] = (),
    stale: int = UNBOUNDED,
) -> set[tuple]:
    """Return the possible answers of a scenario: tuples by thread, then in program order.

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
