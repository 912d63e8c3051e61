"""Endless loops of plain code: they take no step, so no bound on steps ends them.

A timer of the process looks every few seconds of its processor time whether the machine has taken
a step since, or whether what runs without it has come to its end: the making of a program, or a
judgement, which drains the structure. If not, it raises in whatever runs: in the loop.
"""

from __future__ import annotations

import atexit
import signal
from types import FrameType

from operators.check.apart import Apart
from operators.check.binding import Doors
from operators.check.machine import Machine
from operators.check.scenario import EndlessLoop

# Of processor time: a step takes microseconds, with the plain code behind it seldom milliseconds.
SECONDS = 3.0
# So many looks in a row may meet the same thing that runs without a machine: all programs of a
# structure are made in less.
LOOKS = 4


class _Watch:
    def __init__(self) -> None:
        self._last: tuple | None = None
        self._met = 0

    def look(self, number: int, frame: FrameType | None) -> None:
        """Raise if nothing has gone on since the last look."""
        machine = Doors.present
        runs = isinstance(machine, Machine) and machine.running
        if not (runs or Apart.what):
            self._last = None
            return
        now = (id(machine), machine.runs, machine.steps) if runs else (Apart.what, Apart.begun)
        self._met = self._met + 1 if now == self._last else 0
        self._last = now
        if runs and self._met:
            raise EndlessLoop(
                f"thread {machine.name(machine.thread)} has taken no step for {SECONDS:g} s of"
                f" processor time, after step {machine.steps}: a loop without an end"
            )
        if not runs and self._met == LOOKS:
            spent = f"{LOOKS * SECONDS:g} s of processor time"
            raise EndlessLoop(f"{Apart.what} has not ended in {spent}")


def watch() -> None:
    """Let loops without a step fail, for as long as the process runs."""
    signal.signal(signal.SIGVTALRM, _Watch().look)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS)
    # While Python ends, it no longer handles signals, and one would kill the process.
    atexit.register(signal.setitimer, signal.ITIMER_VIRTUAL, 0)
