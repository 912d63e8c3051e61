"""Readings of the second paper's live runs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.ordered_processing.snapshots import TimeSpent
from figures import style
from figures.readings import PERCENT, Reading, once, ranking, reading_of


def last_share(runs: Sequence[TimeSpent]) -> Reading:
    """Return the share of the workers' time in the last operator, over the schedulers."""
    shares = [100 * list(run.shares.values())[-1] for run in runs if run.valid]
    return reading_of("Worker time in the last operator, by scheduler", shares, PERCENT)


def sentence(runs: Sequence[TimeSpent]) -> str:
    """Return how alike the schedulers divide the time, and which one came out ahead."""
    titles = {run.scheduler: style.look_of("pipeline", run.scheduler).title for run in runs}
    rates = {titles[run.scheduler]: run.throughput_tps for run in runs if run.valid}
    return (
        f"The last operator took {last_share(runs).text} of the workers' time, one run a scheduler."
        f" {ranking(once(rates))}"
    )
