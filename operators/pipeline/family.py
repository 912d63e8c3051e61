"""The family of pipelines; a variant is a scheduler, which sends workers to operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from operators.contract import Family, Parameter, role_by_query
from operators.pipeline.declare import NO_SUCH_KEY, OVER_LIMIT, TABLE_FULL, TOO_MANY
from operators.pipeline.queries import table_1
from operators.pipeline.queries.parametric import EACH, SHARED

MOST_WORKERS = 64
MOST_SLOTS = 1 << 16
MOST_IN_FLIGHT = 1 << 10
MOST_PARTS = 64
TUPLES, BLOCKS = "tuples", "blocks"
MEASURED, COMPLETION, ENDS, SCHEDULER = "measured", "completion", "ends", "scheduler"

QUERIES = {**table_1.QUERIES, table_1.PARAMETRIC.id: table_1.PARAMETRIC}
# Settings of the operators of the parametric query; other queries do not have them.
OF_PARAMETRIC = (
    Parameter("work_us", 100.0, 0, 1_000_000, "us", "work a tuple in either operator", decimals=3),
    Parameter(
        "first_share",
        1.0,
        0,
        1,
        "",
        "of that work in the first operator; with 0.11 the second one has nine tenths of all",
        decimals=3,
        later=True,
    ),
    Parameter(
        "second_work",
        EACH,
        meaning="whether each tuple of the second operator has that work, or all outputs of a"
        " tuple of the first share it",
        choices=(EACH, SHARED),
    ),
    Parameter("selectivity", 1.0, 0, 1_000, "", "outputs a tuple of the first one", decimals=3),
    Parameter("tuple_words", 4, 1, 64, "words", "size of a tuple that enters"),
    Parameter("state_words", 4, 1, 4096, "words", "size of the state of a key"),
    Parameter("keys", 1000, 1, 1 << 24, "", "keys of the second operator"),
)

DEFAULT_QUERY = "q1"


class PipelineOperations(NamedTuple):
    """The interface of a scheduler.

    ``choose(board)`` returns the number of the operator that a free worker goes to, or NOBODY; it
    is called by one thread at a time. `operators.pipeline.board` has the data that it may read.
    """

    choose: Callable[..., int]


# ASSUME: the worklists and buffers of a pipeline are a closed set, unlike the schedulers: one
# compiled runtime contains all of them and dispatches by number (`operators.pipeline.stage`). A
# separate runtime for each combination would mean six times as many to compile.
FAMILY = Family(
    id="pipeline",
    title="operators in a row, workers sent to them by a scheduler",
    operations=PipelineOperations,
    settings=(
        Parameter("query", DEFAULT_QUERY, meaning="what is asked", choices=tuple(QUERIES)),
        Parameter("workers", 2, 1, MOST_WORKERS, "", "threads that run operators"),
        Parameter("slots", 256, 2, MOST_SLOTS, "tuples", "in flight in an operator"),
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
        Parameter(
            "capacity",
            0,
            0,
            MOST_SLOTS,
            "tuples",
            "QST's capacity of the system, slots at most; 0: a quarter of them",
        ),
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
        Parameter(
            "form",
            TUPLES,
            meaning="whether each tuple has a serial number, as in the paper, or a block of tuples;"
            " then workers go by walk",
            choices=(TUPLES, BLOCKS),
            later=True,
        ),
        Parameter("block", 256, 1, MOST_SLOTS, "tuples", "in a block, at most", later=True),
        Parameter(
            "in_flight",
            0,
            0,
            MOST_IN_FLIGHT,
            "blocks",
            "in the pipeline, at most; 0: two a worker from both ends, otherwise 16",
            later=True,
        ),
        Parameter(
            "parts",
            0,
            0,
            MOST_PARTS,
            "",
            "in which partitioned operators take a block; 1: whole blocks in order; 0: by a trial"
            " four in an operator that has more than half of the work of a slow block, and 1 in"
            " others",
            later=True,
        ),
        # `operators.pipeline.blocks.deciding` has the figures behind the defaults.
        Parameter(
            "walk",
            MEASURED,
            meaning="how workers go with blocks: each carries its block to the end; every other one"
            " begins at the last operator; measured: one of these two, by a trial; or the scheduler"
            " sends them",
            choices=(MEASURED, COMPLETION, ENDS, SCHEDULER),
            later=True,
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
