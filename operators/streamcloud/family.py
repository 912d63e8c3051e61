"""The family of StreamCloud: queries, cut into subqueries, on instances of each.

Source: "StreamCloud: A Large Scale Data Streaming System", ICDCS 2010. The variants are the
*strategies* that cut a query (`operators.streamcloud.plan.STRATEGIES`), on carriers that move rows
between the same instances; `operators.streamcloud.carriers` has these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators.contract import Family, Parameter, role_by_query
from operators.streamcloud.plan import MERGERS
from operators.streamcloud.queries import QUERIES
from operators.streamcloud.rows import BLOB, MOST_BLOB

MOST_INSTANCES = 128
MOST_PROCESSORS = 160
MOST_NODES = 32
THREADS, PROCESSES = CARRIERS = ("threads", "processes")

# Of the query fixed-windows, whose windows are in tuples; no other query has this setting.
WINDOW = Parameter("window", 20_000, 2, 1 << 20, "tuples", "of the windows of fixed-windows")

DEFAULT_QUERY = "calls-by-duration"


class StreamcloudOperations(NamedTuple):
    """The operations of a strategy.

    ``compile(query, instances, merger, streams)`` returns the `operators.streamcloud.plan.Plan` of
    a query; see `operators.streamcloud.compiler.compile_query`.
    """

    compile: Callable[..., Any]


FAMILY = Family(
    id="streamcloud",
    title="a query on instances of its subqueries",
    operations=StreamcloudOperations,
    settings=(
        Parameter("query", DEFAULT_QUERY, meaning="what is asked", choices=tuple(QUERIES)),
        Parameter("instances", 2, 1, MOST_INSTANCES, "", "of each stage of the plan, on each node"),
        Parameter(
            "processors",
            0,
            0,
            MOST_PROCESSORS,
            "",
            "dealt out over the stages by what a tuple costs in each; 0 goes by `instances`",
        ),
        Parameter("merger", MERGERS[0], meaning="what instances take", choices=MERGERS),
        Parameter("blob", BLOB, 1, MOST_BLOB, "tuples", "of all streams that are sent at once"),
        Parameter(
            "carrier",
            THREADS,
            meaning="what moves rows between instances",
            choices=CARRIERS,
        ),
        Parameter("nodes", 1, 1, MOST_NODES, "", "processes that run the instances"),
        Parameter("density", 100, 1, 1 << 20, "tuples/s", "of event time, in each stream"),
        WINDOW,
    ),
    queries=QUERIES,
    role_of=role_by_query(QUERIES, DEFAULT_QUERY),
)
