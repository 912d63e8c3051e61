"""The runs of which a finished process has a row, for tests that check their completeness."""

from __future__ import annotations

from experiments.records.columns import COMMON, OPEN, SUSTAINED
from experiments.timing.rounds import Lengths, Run
from experiments.timing.task import Group


def required_runs(group: Group, lengths: Lengths, repetition: int = 1) -> list[Run]:
    """Return the runs of which a finished process has a row, except equal runs."""
    found = []
    for task in group.tasks:
        for number in range(1, lengths.closed_rounds + 1):
            found += [Run(task, each, number) for each in task.phases_in(number, repetition)]
        for number in range(1, lengths.open_rounds + 1):
            found += [Run(task, OPEN, number, fraction) for fraction in task.fractions]
            found += [Run(task, COMMON, number)] * task.common
        found += [Run(task, SUSTAINED, 1)] * (task.probes > 0)
    return found
