"""What the paper's pipelines and their users' alternatives do alike: the queries of Table 1."""

from __future__ import annotations

from experiments.ordered_processing.axes import ROOMY
from experiments.peers.catalog import Comparison

# The paper's own scheduler, the one that pulls from the end, and serial numbers of whole blocks.
_LINES = ("ct", "lp", "ct:form=blocks")
_TITLES = {
    "q1": "Q1: pairs of items sold together, by hour",
    "q2": "Q2: pairs of items viewed in one session",
    "q3": "Q3: items viewed before others were bought",
    "q4": "Q4: sessions that left a cart behind",
    "q15": "Q15: categories with flat or declining sales",
}
_ABOUT = {
    "q1": "A peer knows the whole hour when it counts; operators count pair by pair.",
    "q15": (
        "Operators end a day with a category's first sale of another day, and put the category out"
        " with its regression so far; peers put out the same rows, by running sums over the days."
    ),
}

COMPARISONS = tuple(
    Comparison(
        id=query,
        title=title,
        family="pipeline",
        work="shop_queries",
        lines=_LINES,
        settings={"query": query, "workers": 2, "slots": ROOMY},
        about=_ABOUT.get(query, ""),
    )
    for query, title in _TITLES.items()
)
