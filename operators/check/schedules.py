"""Plans, which decide the thread of each step, and schedules as short strings.

A plan answers three questions of the machine: ``begin()`` returns the step before which to ask
first; ``decide(machine, me)`` the thread of the next step although `me` could go on, and when to
ask again; ``choose(machine, last, runnable)`` the same where `last` cannot go on. A plan with
``asks_on_change`` is also asked whenever the set of runnable threads changes.

A schedule string is ``scenario:memory:turns``, for instance ``two-producers:sc:a12b3a5``: thread a
takes 12 steps, then b 3, then a 5; after the last turn each thread goes on as long as it can.
``~57=1`` after the turns gives the draws of step 57: which stores arrived (``buffers``), or which
store is read (``weak_memory``). ``!b`` says that thread b is stopped for ever after the turns while
the others run in turn, and ``!`` alone that no thread is (``progress``): calls are then not
repeated, and some thread has to complete one. The command adds ``@`` and a digest of the source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from operators.check.shared_memory import THREAD_MASK
from operators.contract import UsageError

# A run of a checked program takes some hundred steps.
STEP_LIMIT = 5_000
# Within so many steps some thread completes a call, whichever were stopped (lock-free structures).
COMPLETION_STEPS = 200
_STRING = re.compile(
    r"(?P<scenario>[a-z0-9-]+):(?P<memory>sc|tso|pso|rc11):(?P<turns>([a-f][0-9]+)*)"
    r"(~(?P<late>[0-9]+=[0-9.]+(,[0-9]+=[0-9.]+)*))?(!(?P<stopped>[a-f]*))?"
)


class Turns:
    """A recorded order.

    Parameters
    ----------
    turns : mapping of int to int
        From which step on which thread runs. Where the running thread cannot go on and nothing is
        recorded, the next runnable one takes over.
    """

    asks_on_change = False

    def __init__(self, turns: Mapping[int, int]) -> None:
        self.turns = turns
        self._order = [*sorted(turns), STEP_LIMIT]

    def begin(self) -> int:
        """Return the first step before which another thread may take over."""
        return self._order[0]

    def _next(self, step: int) -> int:
        return self._order[min(bisect_right(self._order, step), len(self._order) - 1)]

    def decide(self, machine: Any, me: int) -> tuple[int, int]:
        """Return the thread of the next step, and the step of the next question."""
        step = machine.steps
        return self.turns.get(step, me), self._next(step)

    def choose(self, machine: Any, last: int, runnable: int) -> tuple[int, int]:
        """Return a thread of the set `runnable`, and the step of the next question."""
        step = machine.steps
        chosen = self.turns.get(step, -1)
        if chosen < 0 or not runnable >> chosen & 1:
            chosen = following(last, runnable)
        return chosen, self._next(step)


class WithoutSome(Turns):
    """A recorded order, then the threads that are not stopped, step by step in turn.

    The machine fails with "progress" when no thread completes a call within ``COMPLETION_STEPS``:
    of the whole run if none is stopped, else of the part after the recorded order.

    Parameters
    ----------
    turns : mapping of int to int
    steps : int
        From which step on `stopped` do not run.
    stopped : int
        A set of threads.
    """

    def __init__(self, turns: Mapping[int, int], steps: int, stopped: int) -> None:
        super().__init__(turns)
        self._steps, self._stopped = steps, stopped
        self._completed, self._since = 0, 0
        self._shown = False

    def begin(self) -> int:
        """Return the first step before which another thread may take over: every one."""
        return 0

    def decide(self, machine: Any, me: int) -> tuple[int, int]:
        """Return the thread of the next step, and the step of the next question."""
        step = machine.steps
        if step < self._steps:
            self._look(machine)
            return self.turns.get(step, me), step + 1
        return self.choose(machine, me, machine.runnable())

    def choose(self, machine: Any, last: int, runnable: int) -> tuple[int, int]:
        """Return a thread of the set `runnable`, and the step of the next question."""
        step = machine.steps
        self._look(machine)
        if step < self._steps:
            return super().choose(machine, last, runnable)[0], step + 1
        rest = runnable & ~self._stopped
        if not self._shown and not rest:
            self._fail(machine)
        return following(last, rest or runnable), step + 1

    def _look(self, machine: Any) -> None:
        """Count completed calls; release stopped threads once another has completed one."""
        if self._shown:
            return
        step, completed = machine.steps, len(machine.history)
        # A call completed by the last recorded step was completed before the threads stopped.
        before = bool(self._stopped) and step <= self._steps
        if before or completed > self._completed:
            self._completed, self._since = completed, step
            if self._stopped and not before:
                self._shown, self._stopped = True, 0
        elif step - self._since > COMPLETION_STEPS:
            self._fail(machine)

    def _fail(self, machine: Any) -> None:
        names = "".join(letter(t) for t in range(machine.count) if self._stopped >> t & 1)
        prefix = f"with {names} stopped for ever " if names else ""
        machine.fail("progress", f"{prefix}nobody completes a call in {COMPLETION_STEPS} steps")


def following(last: int, runnable: int) -> int:
    """Return the next thread after `last`, cyclically, in a set."""
    behind = runnable >> (last + 1) << (last + 1)
    chosen = behind or runnable
    return (chosen & -chosen).bit_length() - 1


class Schedule(NamedTuple):
    """The contents of a schedule string."""

    scenario: str
    memory: str
    turns: dict[int, int]  # from which step on which thread runs
    late: dict[int, list[int]]  # by step the draws
    stopped: int | None  # set of the threads that are stopped after the last turn
    steps: int  # of all turns together


def turns_of(epochs: Sequence[int]) -> dict[int, int]:
    """Return the turns: from which step on which thread ran."""
    turns: dict[int, int] = {}
    last = -1
    for step, epoch in enumerate(epochs):
        thread = epoch & THREAD_MASK
        if thread != last:
            turns[step] = last = thread
    return turns


def schedule_string(
    scenario: str,
    memory: str,
    epochs: Sequence[int],
    late: Mapping[int, Sequence[int]] | None = None,
    stopped: int | None = None,
) -> str:
    """Return the string that replays a run of these steps."""
    turns = turns_of(epochs)
    ends = [*turns, len(epochs)][1:]
    text = "".join(
        f"{letter(thread)}{end - step}"
        for (step, thread), end in zip(turns.items(), ends, strict=True)
    )
    chosen = ",".join(
        f"{step}={'.'.join(map(str, draws))}"
        for step, draws in sorted((late or {}).items())
        if any(draws)
    )
    if chosen:
        text += f"~{chosen}"
    if stopped is not None:
        text += "!" + "".join(letter(t) for t in range(stopped.bit_length()) if stopped >> t & 1)
    return f"{scenario}:{memory}:{text}"


def letter(thread: int) -> str:
    """Return the name of a thread: a, b, c, ..."""
    return chr(ord("a") + thread)


def parse_schedule(text: str) -> Schedule:
    """Parse a schedule string.

    Raises
    ------
    UsageError
        When the text is not a schedule string.
    """
    match = _STRING.fullmatch(text)
    if match is None:
        raise UsageError(
            f"a schedule is scenario:memory:turns, like two-producers:sc:a12b3a5, not {text!r}"
        )
    turns: dict[int, int] = {}
    step = 0
    for thread, length in re.findall(r"([a-f])([0-9]+)", match["turns"]):
        turns[step] = ord(thread) - ord("a")
        step += int(length)
    late = {
        int(step): [int(draw) for draw in draws.split(".")]
        for step, draws in re.findall(r"([0-9]+)=([0-9.]+)", match["late"] or "")
    }
    stopped = None
    if match["stopped"] is not None:
        stopped = sum(1 << (ord(thread) - ord("a")) for thread in set(match["stopped"]))
    return Schedule(match["scenario"], match["memory"], turns, late, stopped, step)
