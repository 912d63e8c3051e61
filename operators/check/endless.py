"""Endless loops of plain code: they take no step, so no bound on steps ends them.

A timer of the process looks every few seconds of its processor time whether the machine has taken
a step since. If not, it raises in whatever runs: in the loop.
"""

from __future__ import annotations

import signal
from types import FrameType

from operators.check.binding import Doors
from operators.check.machine import Machine
from operators.check.scenario import Failure

# Of processor time: a step takes microseconds, with the plain code behind it seldom milliseconds.
SECONDS = 3.0


class _Watch:
    def __init__(self) -> None:
        self._last: tuple[int, int, int] | None = None

    def look(self, number: int, frame: FrameType | None) -> None:
        """Raise if the installed machine has taken no step since the last look."""
        machine = Doors.present
        if not isinstance(machine, Machine):
            # Nothing runs, or a run is judged.
            self._last = None
            return
        now = id(machine), machine.runs, machine.steps
        last, self._last = self._last, now
        if now == last:
            self._last = None
            raise Failure(
                "progress",
                f"thread {machine.name(machine.thread)} has taken no step for {SECONDS:g} s of"
                f" processor time, after step {machine.steps}: a loop without an end",
            )


def watch() -> None:
    """Let loops without a step fail, for as long as the process runs."""
    signal.signal(signal.SIGVTALRM, _Watch().look)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS)
