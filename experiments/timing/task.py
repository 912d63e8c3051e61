"""What one process measures: a group of tasks, each a variant at one setting with all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments.records.columns import CLOSED


@dataclass(frozen=True)
class Task:
    """One variant at one setting.

    Attributes
    ----------
    variant : str
        Its id.
    settings : mapping
        Every setting, defaults among them.
    fractions : tuple of float
        Offered rates of its open runs, over its throughput, ascending.
    common : bool
        Whether it also runs at the rate common to all variants at its place.
    probes : int
        Most open runs of its rate search.
    phases : tuple of str
        Of the family's own quantities, each run once a round.
    seldom : tuple of str
        The same, each run in the first round of a process.
    once : tuple of str
        The same, each run in the first round of the first process.
    processes : int or None
        In how many processes it is measured, from the first on; None where in all of them.
    sliced : bool
        Whether it has slices; without them it has the phases of the family's own alone.
    """

    variant: str
    settings: Mapping[str, Any]
    fractions: tuple[float, ...] = ()
    common: bool = False
    probes: int = 0
    phases: tuple[str, ...] = ()
    seldom: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    processes: int | None = None
    sliced: bool = True

    @property
    def own_phases(self) -> tuple[str, ...]:
        """Of the family's own quantities, however often they are run."""
        return (*self.phases, *self.seldom, *self.once)

    @property
    def every_phase(self) -> tuple[str, ...]:
        """Of all runs that offer no rate: that of slices, and those of the family's own."""
        return (*self._slices, *self.own_phases)

    def phases_in(self, number: int, repetition: int) -> tuple[str, ...]:
        """Return those of them that are run in a round of a process."""
        each = (*self._slices, *self.phases)
        if number > 1:
            return each
        return (*each, *self.seldom, *(self.once if repetition == 1 else ()))

    @property
    def _slices(self) -> tuple[str, ...]:
        return (CLOSED,) if self.sliced else ()

    @property
    def closed_runs(self) -> int:
        """Runs of one round that offer no rate."""
        return len(self._slices) + len(self.phases)

    @property
    def open_runs(self) -> int:
        """Open runs of one round."""
        return len(self.fractions) + self.common

    @property
    def place(self) -> tuple:
        """What tells it from the other tasks of its group."""
        return (self.variant, tuple(sorted(self.settings.items())))


@dataclass(frozen=True)
class Group:
    """The settings that are compared with each other: one process measures them all, a repetition.

    Attributes
    ----------
    id : str
        Name of its folder.
    family : str
    role : str or None
        Role of the dataset that all of them run on; None where the driver makes the tuples.
    tasks : tuple of Task
    figures : tuple of (str, str)
        Paper and id of each figure that shows any of it.
    """

    id: str
    family: str
    role: str | None
    tasks: tuple[Task, ...]
    figures: tuple[tuple[str, str], ...]

    def in_process(self, repetition: int) -> Group:
        """Return the group with the settings that a process measures."""
        kept = (t for t in self.tasks if t.processes is None or repetition <= t.processes)
        return replace(self, tasks=tuple(kept))

    def runs(self, closed_rounds: int, open_rounds: int) -> int:
        """Return the runs of one process, equal ones, searches and what is run once apart."""
        rounds = (closed_rounds * t.closed_runs + open_rounds * t.open_runs for t in self.tasks)
        return sum(rounds) + sum(len(task.seldom) for task in self.tasks)
