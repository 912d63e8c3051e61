"""How the query of the evaluation is cut: pictures for the report."""

from __future__ import annotations

from experiments.streamcloud import live
from figures.pictures import Picture
from figures.streamcloud import plans

HEADING = "How a query is cut"


def explained() -> list[tuple[str, Picture]]:
    """Return sentences and the picture of each."""
    return [
        (
            "The query with eight operators, and its plans by the three strategies on four"
            " instances of each stage. Each plan stands beside the query, row by row: a frame is a"
            " subcluster, a column in it an instance, with its merger above and its balancer"
            " below; a balancer may have taken over filters, a merger unions.",
            plans.cut(live.plans_of("eight-operators", instances=4)),
        ),
        (
            "The query of the paper's figure 1 on thirty instances, of which three are drawn.",
            plans.cut(live.plans_of("calls-by-duration", instances=30)),
        ),
    ]
