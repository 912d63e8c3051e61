"""The family of pipelines: schedulers, which send workers to the operators of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from operators.contract import Family, Parameter
from operators.pipeline.declare import OVER_LIMIT, TABLE_FULL
from operators.pipeline.queries.table_1 import QUERIES

MOST_WORKERS = 64
MOST_SLOTS = 1 << 16


class PipelineOperations(NamedTuple):
    """What a scheduler provides.

    ``choose(board)`` returns the place of the operator that a free worker goes to, or NOBODY; it is
    called by one thread at a time. `operators.pipeline.board` has what it may look at.
    """

    choose: Callable[..., int]


def role_of(settings: Mapping[str, Any]) -> str | None:
    """Return the role of the data that the query runs on; None for a query that there is not."""
    found = QUERIES.get(str(settings.get("query", "q1")))
    return None if found is None else found.role


FAMILY = Family(
    id="pipeline",
    title="operators in a row, workers sent to them by a scheduler",
    operations=PipelineOperations,
    settings=(
        Parameter("query", "q1", meaning="what is asked", choices=tuple(QUERIES)),
        Parameter("workers", 2, 1, MOST_WORKERS, "", "threads that run operators"),
        Parameter("slots", 256, 2, MOST_SLOTS, "tuples", "under way in an operator"),
        Parameter("partitions", 100, 1, 4096, "", "buckets of a partitioned operator's keys"),
        Parameter(
            "partition",
            "hybrid",
            meaning="worklist of a partitioned operator",
            choices=("hybrid", "partitioned", "shared"),
        ),
        Parameter(
            "reorder",
            "non-blocking",
            meaning="how outputs are put in order",
            choices=("non-blocking", "lock-based"),
        ),
        Parameter("slice_us", 100.0, 1, 1_000_000, "us", "a worker's turn", decimals=3),
        Parameter("window_us", 10_000.0, 1, 10_000_000, "us", "CT's window", decimals=3),
        Parameter("capacity", 1024, 1, 1 << 20, "tuples", "QST's capacity of the system"),
        Parameter("source", 1 << 20, 1, 1 << 40, "tuples", "worklist of the first operator"),
    ),
    failures={
        TABLE_FULL: "a partition counts more keys than its table has rows; give fewer tuples",
        OVER_LIMIT: "an operator's state has no room for a record; its query says for how many",
    },
    queries=QUERIES,
    role_of=role_of,
)
