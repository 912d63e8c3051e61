"""Readings of the fifth paper's live runs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.judging.badges import in_digits
from experiments.streamcloud.snapshots import CarrierRun, Lost, StrategyRun
from figures import style
from figures.readings import PERCENT, Reading, once, one_over_other, ranking, reading_of


def strategies(
    runs: Sequence[StrategyRun], above: str = "subquery-cluster", below: str = "operator-cluster"
) -> Reading:
    """Return the throughput of one strategy over another's, with most instances.

    Parameters
    ----------
    runs : sequence of StrategyRun
    above, below : str
        Ids of strategies.
    """
    most = max(run.instances for run in runs)
    rates = once(_rates(runs, most))
    return one_over_other("streamcloud", above, below, rates, f", {most} instances")


def _rates(runs: Sequence[StrategyRun], instances: int) -> dict[str, float]:
    return {
        style.look_of("streamcloud", run.strategy).title: run.throughput_tps
        for run in runs
        if run.instances == instances and run.valid
    }


def sentence(runs: Sequence[StrategyRun]) -> str:
    """Return which strategy came out ahead with most instances of each stage."""
    most = max(run.instances for run in runs)
    return f"With {most} instances of each stage: {ranking(once(_rates(runs, most)))}"


def lost(runs: Sequence[Lost], merger: str = "best-effort") -> Reading:
    """Return the share of the rows that a merger loses where rows come latest."""
    latest = max(run.behind for run in runs)
    shares = [
        100 * run.missing / run.wanted
        for run in runs
        if (run.merger, run.behind) == (merger, latest) and run.wanted
    ]
    subject = f"Rows that a {merger} merger loses, {latest} rows late"
    return reading_of(subject, shares, PERCENT)


def lost_sentence(runs: Sequence[Lost]) -> str:
    """Return how many rows each merger loses at most."""
    told = []
    for merger in dict.fromkeys(run.merger for run in runs):
        worst = max((run for run in runs if run.merger == merger), key=lambda run: run.missing)
        share = in_digits(100 * worst.missing / max(worst.wanted, 1))
        at = f" where rows come up to {worst.behind} late" if worst.missing else ""
        told.append(f"a {merger} merger lost {worst.missing:,} of {worst.wanted:,} rows ({share} %)"
                    f"{at}")  # fmt: skip
    return f"At most, {'; '.join(told)}."


def carriers_sentence(runs: Sequence[CarrierRun]) -> str:
    """Return whether all carriers put out the same bytes."""
    came = [run for run in runs if not run.refused]
    absent = (
        f" {len(runs) - len(came)} of {len(runs)} did not run." if len(came) < len(runs) else ""
    )
    killed = sum(run.killed is not None for run in came)
    loss = f", {killed} of them in spite of a killed executor" * bool(killed)
    if len(came) < 2:
        return f"Only {len(came)} of {len(runs)} carriers ran, so there is nothing to compare."
    if len({run.digest for run in came}) == 1:
        return f"All {len(came)} carriers put out the same {came[0].rows:,} rows{loss}.{absent}"
    other = sum(run.digest != came[0].digest for run in came)
    return f"{other} of {len(came)} carriers put out other rows than the first: a fault.{absent}"
