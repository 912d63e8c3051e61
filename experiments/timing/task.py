"""What one process measures: a group of tasks, each a variant at one setting with all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """One variant at one setting.

    A task's runs share a bench and a throughput::

        closed run -> [control run] -> [own phases] -> [rate search] -> open runs at shares of it

    Attributes
    ----------
    variant : str
        Its id.
    settings : mapping
        Every setting, defaults among them.
    fractions : tuple of float
        Offered rates of its open runs, over its throughput, ascending.
    probes : int
        Most open runs of its rate search.
    phases : tuple of str
        Of the family's own quantities.
    control : bool
        Whether the closed run is made twice (A/A).
    """

    variant: str
    settings: Mapping[str, Any]
    fractions: tuple[float, ...] = ()
    probes: int = 0
    phases: tuple[str, ...] = ()
    control: bool = False

    @property
    def runs(self) -> int:
        """Rows it gives, the probes and the outcome of a search apart."""
        return 1 + len(self.fractions) + len(self.phases) + self.control

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

    @property
    def runs(self) -> int:
        """Points of one repetition."""
        return sum(task.runs for task in self.tasks)
