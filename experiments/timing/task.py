"""The work of one process: a group of tasks, each a variant at one setting with all its runs."""

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
        Id of the variant.
    settings : mapping
        Every setting, including defaults.
    fractions : tuple of float
        Offered rates of the open runs, over the throughput, ascending.
    common : bool
        Whether it also runs at the rate common to all variants at equal family settings.
    probes : int
        Most open runs of the rate search.
    phases : tuple of str
        Of the family's quantities, each run once a round.
    seldom : tuple of str
        The same, each run in the first round of a started process.
    once : tuple of str
        The same, each run in the first round of the first process.
    twice : tuple of str
        The same, each run in the first round of the first two processes.
    processes : int or None
        The number of processes that measure it, from the first on; None for all of them.
    sliced : bool
        Whether it has slices; without them it only has the phases of the family's quantities.
    """

    variant: str
    settings: Mapping[str, Any]
    fractions: tuple[float, ...] = ()
    common: bool = False
    probes: int = 0
    phases: tuple[str, ...] = ()
    seldom: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    processes: int | None = None
    sliced: bool = True

    @property
    def own_phases(self) -> tuple[str, ...]:
        """Of the family's quantities, however often they are run."""
        return (*self.phases, *self.seldom, *self.once, *self.twice)

    @property
    def every_phase(self) -> tuple[str, ...]:
        """Of all runs that offer no rate: that of slices, and those of the family's quantities."""
        return (*self._slices, *self.own_phases)

    def phases_in(self, number: int, repetition: int, started: bool = True) -> tuple[str, ...]:
        """Return the phases that a round of a process runs, a started one or a later fork of it."""
        each = (*self._slices, *self.phases)
        if number > 1:
            return each
        twice, once = self.twice if repetition <= 2 else (), self.once if repetition == 1 else ()
        return (*each, *(self.seldom if started else ()), *twice, *once)

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
    def identity(self) -> tuple:
        """The identity of the task within the group."""
        return (self.variant, tuple(sorted(self.settings.items())))


@dataclass(frozen=True)
class Group:
    """The settings that are compared with each other: one process measures them all, a repetition.

    Attributes
    ----------
    id : str
        Name of the folder.
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
        """Return the number of runs that every repetition makes, without equal ones."""
        return sum(closed_rounds * t.closed_runs + open_rounds * t.open_runs for t in self.tasks)
