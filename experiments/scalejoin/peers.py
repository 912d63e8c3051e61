"""What the paper's joins and their users' alternatives do alike: two bands over time windows.

A window has one minute in quick and the paper's five minutes elsewhere, with 200 tuples a second as
in figure 6a: the joins compare all pairs of a window, which takes seconds a run.
"""

from __future__ import annotations

from experiments.peers.catalog import Comparison

COMPARISONS = (
    Comparison(
        id="bands",
        title="Join on two bands over time windows",
        family="theta_join",
        work="theta_join",
        lines=(
            "scale-join",
            "scale-join-index",
            "handshake-low-latency",
        ),
        settings={"density": 200, "purge": "opposite"},
        sizes={
            "quick": {"window_s": 60},
            "laptop": {"window_s": 300},
            "paper": {"window_s": 300},
        },
        about=(
            "Operators join into windows that are full already; a peer joins two windows' length of"
            " both streams from their beginning, where windows still fill, and pairs are three"
            " quarters as many: that is in favour of the peers. Of the operators only the one with"
            " an index compares less than every pair of a window."
        ),
    ),
)
