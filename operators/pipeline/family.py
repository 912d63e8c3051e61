"""The family of pipelines: schedulers, which send workers to the operators of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from operators.contract import Family, Parameter, role_by_query
from operators.pipeline.declare import NO_SUCH_KEY, OVER_LIMIT, TABLE_FULL, TOO_MANY
from operators.pipeline.queries import table_1

MOST_WORKERS = 64
MOST_SLOTS = 1 << 16

QUERIES = {**table_1.QUERIES, table_1.PARAMETRIC.id: table_1.PARAMETRIC}
# What the operators of the parametric query shall do; no other query has these settings.
OF_PARAMETRIC = (
    Parameter("work_us", 100.0, 0, 1_000_000, "us", "work a tuple in each operator", decimals=3),
    Parameter("selectivity", 1.0, 0, 1_000, "", "outputs a tuple of the first one", decimals=3),
    Parameter("tuple_words", 4, 1, 64, "words", "size of a tuple that enters"),
    Parameter("state_words", 4, 1, 4096, "words", "size of the state of a key"),
    Parameter("keys", 1000, 1, 1 << 24, "", "keys of the second operator"),
)

DEFAULT_QUERY = "q1"


class PipelineOperations(NamedTuple):
    """What a scheduler provides.

    ``choose(board)`` returns the place of the operator that a free worker goes to, or NOBODY; it is
    called by one thread at a time. `operators.pipeline.board` has what it may look at.
    """

    choose: Callable[..., int]


# ASSUME: which worklists and buffers a pipeline may have is a closed set, unlike its schedulers:
# one compiled runtime has them all, and goes by their number (`operators.pipeline.stage`). With a
# runtime for each there would be six times as many to compile.
FAMILY = Family(
    id="pipeline",
    title="operators in a row, workers sent to them by a scheduler",
    operations=PipelineOperations,
    settings=(
        Parameter("query", DEFAULT_QUERY, meaning="what is asked", choices=tuple(QUERIES)),
        Parameter("workers", 2, 1, MOST_WORKERS, "", "threads that run operators"),
        Parameter("slots", 256, 2, MOST_SLOTS, "tuples", "under way in an operator"),
        Parameter("partitions", 100, 1, 4096, "", "buckets of a partitioned operator's keys"),
        Parameter(
            "split",
            "hash",
            meaning="how keys fall into partitions; where a table holds them, always by hash",
            choices=("hash", "range"),
        ),
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
        Parameter(
            "added_us",
            0.0,
            0,
            1_000_000,
            "us",
            "work added to a tuple in each operator",
            decimals=3,
        ),
        *OF_PARAMETRIC,
    ),
    failures={
        TABLE_FULL: "a partition counts more keys than its table has rows; give fewer tuples",
        OVER_LIMIT: "an operator's state has no room for a record; its query says for how many",
        NO_SUCH_KEY: "an operator's key is below 0, or not below its `keys`; give it more of them",
        TOO_MANY: "an operator made more outputs of a record than its `most`; give it more of them",
    },
    queries=QUERIES,
    role_of=role_by_query(QUERIES, DEFAULT_QUERY),
)
