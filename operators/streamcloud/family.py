"""The family of StreamCloud: queries, cut into subqueries, on instances of each.

Source: "StreamCloud: A Large Scale Data Streaming System", ICDCS 2010. What is compared in it are
the *strategies* by which a query is cut (`operators.streamcloud.plan.STRATEGIES`), on carriers that
move rows between the same instances; `operators.streamcloud.carriers` has these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from operators.contract import Family, Parameter
from operators.streamcloud.plan import MERGERS
from operators.streamcloud.queries import QUERIES

MOST_INSTANCES = 128


class StreamcloudOperations(NamedTuple):
    """What a strategy provides.

    ``compile(query, instances, merger, streams)`` returns the `operators.streamcloud.plan.Plan` of
    a query; see `operators.streamcloud.compiler.compile_query`.
    """

    compile: Callable[..., Any]


def role_of(settings: Mapping[str, Any]) -> str | None:
    """Return the role of the data that the query runs on; None where the driver makes it."""
    found = QUERIES.get(str(settings.get("query", "calls-by-duration")))
    return None if found is None else found.role


FAMILY = Family(
    id="streamcloud",
    title="a query on instances of its subqueries",
    operations=StreamcloudOperations,
    settings=(
        Parameter("query", "calls-by-duration", meaning="what is asked", choices=tuple(QUERIES)),
        Parameter("instances", 2, 1, MOST_INSTANCES, "", "of each stage of the plan"),
        Parameter("merger", MERGERS[0], meaning="what instances take", choices=MERGERS),
        Parameter("blob", 4096, 1, 1 << 22, "tuples", "that are sent at once"),
    ),
    queries=QUERIES,
    role_of=role_of,
)
