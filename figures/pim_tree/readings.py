"""Readings of the fourth paper's live runs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.judging.badges import shortened
from experiments.pim_tree.snapshots import Inserts, JoinRun
from figures import style
from figures.readings import Reading, busiest, once, one_over_other, ranking


def at_window(runs: Sequence[JoinRun], window: int) -> dict[str, float]:
    """Return the throughput of the valid runs over one window, by title."""
    return {
        style.look_of("join", run.variant).title: run.throughput_tps
        for run in runs
        if run.window == window and run.valid
    }


def longest_window(
    runs: Sequence[JoinRun], above: str = "pim-tree", below: str = "nested-loop-scalar"
) -> Reading:
    """Return the throughput of one join over another's, over the longest window.

    Parameters
    ----------
    runs : sequence of JoinRun
    above, below : str
        Ids of joins.
    """
    window = max(run.window for run in runs)
    rates = once(at_window(runs, window))
    return one_over_other("join", above, below, rates, f", {window:,} tuples")


def sentence(runs: Sequence[JoinRun]) -> str:
    """Return which join came out ahead over the shortest window, and over the longest."""
    windows = sorted({run.window for run in runs})
    return " ".join(
        f"Windows of {window:,}: {ranking(once(at_window(runs, window)))}"
        for window in dict.fromkeys((windows[0], windows[-1]))
    )


def inserts_sentence(found: Sequence[Inserts]) -> str:
    """Return how far the busiest subindex is above an equal share, by drift."""
    told = [f"with r = {each.drift:g} {shortened(busiest(each.counts))} times" for each in found]
    return f"The busiest subindex got, of an equal share, {', '.join(told)}."
