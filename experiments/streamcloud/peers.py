"""What the paper's queries and their users' alternatives do alike: a cycle of the calls.

The densities of event time are those of the paper's figures 7.a to 7.c in a laptop's run: a minute
of an aggregate has 60,000 calls, that of a join 6,000.
"""

from __future__ import annotations

from experiments.peers.catalog import Comparison
from experiments.streamcloud.axes import STRATEGIES, SUBQUERY

_ALONE = f"{SUBQUERY}:instances=1"
_ABOUT = {
    "join": (
        "A careful user lets calls meet by their caller and by buckets of time; operators keep the"
        " calls of a window in a hash table by their caller."
    ),
}


def _compared(query: str, title: str, density: int) -> Comparison:
    return Comparison(
        id=query,
        title=title,
        family="streamcloud",
        work="call_queries",
        lines=(_ALONE, *STRATEGIES),
        settings={"query": query, "density": density},
        about=_ABOUT.get(query, ""),
    )


COMPARISONS = (
    _compared("map", "Map: minutes and end of each call", 100),
    _compared("aggregate", "Aggregate: calls and duration by district", 1_000),
    _compared("join", "Join: two calls of one user within a minute", 100),
    _compared("calls-by-duration", "Join, map, aggregate: calls of suspects", 100),
)
