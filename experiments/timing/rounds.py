"""The runs of one process, and the order in which they are made.

Every setting runs once a round. The order of a round is random and follows from group, process
and number: equal arguments, equal orders.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.records import keys
from experiments.records.columns import (
    COMMON,
    EQUAL,
    EQUAL_OPEN,
    OPEN,
    PROBE,
    REFERENCE,
    SUSTAINED,
)
from experiments.timing.bench import Bench
from experiments.timing.task import Group, Task

# Phases whose rate is a share of the setting's throughput; their key contains the share.
BY_FRACTION = (OPEN, EQUAL_OPEN)


@dataclass(frozen=True)
class Lengths:
    """Lengths and numbers of runs: the part of a profile that timing needs.

    Attributes
    ----------
    closed_seconds, open_seconds, probe_seconds : float
        Of a slice, an open run, and an open run of the rate search.
    closed_rounds, open_rounds : int
    point_timeout_seconds : float
    open_fraction : float
        Rate, over the throughput, at which latencies are compared.
    """

    closed_seconds: float
    open_seconds: float
    probe_seconds: float
    closed_rounds: int
    open_rounds: int
    point_timeout_seconds: float
    open_fraction: float


@dataclass(frozen=True)
class Run:
    """One run that a process shall make, with the key fields of the row."""

    task: Task
    phase: str
    round: int
    fraction: float | None = None


@dataclass(frozen=True)
class Reference:
    """The setting that all processes measure, whatever their group.

    Attributes
    ----------
    bench : Bench
        Checked and loaded.
    common : mapping
        The result of ``keys.conditions`` for the family and data of this setting, not the group's:
        rows of two groups have one key as long as they were measured under the same conditions.
    """

    bench: Bench
    common: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The key of the row."""
        variant, settings = self.bench.variant, self.bench.settings
        return keys.row_key(self.common, variant.family, variant.id, settings, REFERENCE, None, 1)


def key_of(group: Group, run: Run, common: Mapping[str, Any]) -> str:
    """Return the key of the row of a run."""
    about = (run.phase, run.fraction if run.phase in BY_FRACTION else None, run.round)
    return keys.row_key(common, group.family, run.task.variant, run.task.settings, *about)


def planned_runs(group: Group, lengths: Lengths) -> list[Run]:
    """Return every run whose row is planned, in no order, including probes and second tries."""
    found = []
    for task in group.tasks:
        for number in range(1, lengths.closed_rounds + 1):
            found += [Run(task, phase, number) for phase in (*task.every_phase, EQUAL)]
        for number in range(1, lengths.open_rounds + 2):
            found += [Run(task, p, number, f) for p in BY_FRACTION for f in task.fractions]
            found.append(Run(task, COMMON, number))
        found += [Run(task, PROBE, 1), Run(task, SUSTAINED, 1)]
    return found


def closed_round(group: Group, number: int, repetition: int, started: bool = True) -> list[Run]:
    """Return the slices of one round in order, equal for equal arguments.

    One of them is made twice. Phases for each started process are left out in later forks.
    """
    order = _random(group, repetition, f"closed {number}")
    runs = [
        Run(task, phase, number)
        for task in group.tasks
        for phase in task.phases_in(number, repetition, started)
    ]
    sliced = [task for task in group.tasks if task.sliced]
    runs += [Run(order.choice(sliced), EQUAL, number)] if sliced else []
    return _shuffled(runs, order)


def open_round(group: Group, number: int, repetition: int, usual: float) -> list[Run]:
    """Return the open runs of one round in order, equal for equal arguments.

    In the first round, one of the runs at the usual share is made twice.
    """
    order = _random(group, repetition, f"open {number}")
    runs = [Run(task, OPEN, number, f) for task in group.tasks for f in task.fractions]
    twice = [run for run in runs if run.fraction == usual]
    runs += [Run(task, COMMON, number) for task in group.tasks if task.common]
    if number == 1 and twice:
        chosen = order.choice(twice)
        runs.append(Run(chosen.task, EQUAL_OPEN, number, chosen.fraction))
    return _shuffled(runs, order)


def _random(group: Group, repetition: int, what: str) -> random.Random:
    return random.Random(zlib.crc32(f"{group.id} {repetition} {what}".encode()))


def _shuffled(runs: Iterable[Run], order: random.Random) -> list[Run]:
    runs = list(runs)
    order.shuffle(runs)
    return runs
