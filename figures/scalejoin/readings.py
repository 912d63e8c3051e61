"""Readings of the third paper's live runs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.judging.badges import shortened
from experiments.scalejoin.snapshots import JoinRun
from figures import style
from figures.readings import Reading, busiest, once, ranking, ratio_of


def more_threads(runs: Sequence[JoinRun], variant: str = "scale-join") -> Reading:
    """Return the comparisons of a join with most threads over those with fewest.

    Parameters
    ----------
    runs : sequence of JoinRun
    variant : str
        The id of a join.
    """
    own = [run for run in runs if run.variant == variant]
    counts = sorted({run.threads for run in own})
    rates = {run.threads: {1: run.comparisons_ps} for run in own if run.valid}
    title = style.look_of("theta_join", variant).title
    if len(counts) < 2:
        return ratio_of(f"{title}: more threads over fewer", {}, {})
    few, many = counts[0], counts[-1]
    return ratio_of(f"{title}: {many} threads over {few}", rates.get(many, {}), rates.get(few, {}))


def sentence(runs: Sequence[JoinRun]) -> str:
    """Return which join came out ahead with most threads, and how each took more of them."""
    most = max(run.threads for run in runs)
    rates = {
        style.look_of("theta_join", run.variant).title: run.comparisons_ps
        for run in runs
        if run.threads == most and run.valid
    }
    told = [f"{most} processing threads: {ranking(once(rates))}"]
    for variant in dict.fromkeys(run.variant for run in runs):
        gain = more_threads(runs, variant)
        if gain.value is not None:
            told.append(f"{gain.subject}: {shortened(gain.value)} times.")
    return " ".join(told)


def work_sentence(runs: Sequence[JoinRun]) -> str:
    """Return how far the busiest thread of each join is above an equal share."""
    told = [
        f"{style.look_of('theta_join', run.variant).title} {shortened(busiest(run.shares))} times"
        for run in runs
        if run.valid and run.shares
    ]
    return f"The busiest thread compared, of an equal share: {', '.join(told) or 'no valid run'}."
