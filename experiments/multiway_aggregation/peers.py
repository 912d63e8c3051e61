"""What the paper's designs and their users' alternatives do alike: the two counting queries.

There are four inputs, which every profile has: with more of them the operators have more threads
than most machines have cores, and one input is no multiway aggregation.
"""

from __future__ import annotations

from experiments.peers.catalog import Comparison

_LINES = ("mq", "mqlf", "tumlsc", "wiml", "wiml-panes", "private-panes")
_ABOUT = (
    "Operators merge four sorted streams into one order, each in its own way; peers are given the"
    " tuples in that order already. Both put out a row for each window and key: operators in the"
    " order of windows and keys, as soon as a window is complete, peers in any order."
)


def _counts(query: str, title: str) -> Comparison:
    return Comparison(
        id=query,
        title=title,
        family="aggregation",
        work="windowed_counts",
        lines=_LINES,
        settings={"query": query, "inputs": 4},
        about=_ABOUT,
    )


COMPARISONS = (
    _counts("k-OI", "k-OI: counts of 243 keys, 10 windows a tuple"),
    _counts("K-OI", "K-OI: counts of 40,000 keys, 10 windows a tuple"),
)
