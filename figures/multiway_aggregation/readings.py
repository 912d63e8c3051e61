"""Readings of the first paper's live runs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.multiway_aggregation.snapshots import LiveRun
from figures import style
from figures.readings import Reading, one_over_other, ranking


def rates_of(runs: Sequence[LiveRun], variant: str) -> dict[int, float]:
    """Return the throughput of a gate's valid runs by round."""
    return {run.round: run.throughput_tps for run in runs if run.variant == variant and run.valid}


def gates(runs: Sequence[LiveRun], above: str = "t-gate", below: str = "multi-queue") -> Reading:
    """Return the throughput of one gate over another's.

    Parameters
    ----------
    runs : sequence of LiveRun
    above, below : str
        Ids of gates.
    """
    return one_over_other("gate", above, below, _rates_by_title(runs), ": tuples/s")


def sentence(runs: Sequence[LiveRun]) -> str:
    """Return which gate came out ahead."""
    return ranking(_rates_by_title(runs))


def _rates_by_title(runs: Sequence[LiveRun]) -> dict[str, dict[int, float]]:
    variants = dict.fromkeys(run.variant for run in runs)
    return {style.look_of("gate", each).title: rates_of(runs, each) for each in variants}
