"""What the paper's joins and their users' alternatives do alike: a band join over count windows.

A batch is the first two windows of the streams, joined from the beginning. A careful user
would cut a longer one into windows.
"""

from __future__ import annotations

from experiments.peers.catalog import Comparison
from experiments.pim_tree.axes import ONE_WINDOW, PARALLEL, THREE

COMPARISONS = (
    Comparison(
        id="band",
        title="Band join over count windows, two partners a tuple",
        family="join",
        work="band_join",
        lines=(*THREE, PARALLEL),
        settings={"match_rate": 2},
        sizes={size: {"window": values[0]} for size, values in ONE_WINDOW.values.items()},
        about=(
            "Operators join into windows that are full already, and a tuple has two partners on"
            " average; a peer joins two windows' length of both streams from their beginning,"
            " where windows still fill, and a tuple has one and a half. That is in favour of the"
            " peers."
        ),
    ),
)
