"""The family of multiway aggregates: the operations, the queries, and the bench's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from operators.aggregation.functions import CODES, ORDER_SENSITIVE
from operators.aggregation.queries import QUERIES, query
from operators.aggregation.sink import WINSETS_FULL
from operators.contract import OUT_OF_ORDER, Family, Parameter, Variant

MOST_INPUTS = 512
DEFAULT_QUERY = "k-OS"


class AggregationOperations(NamedTuple):
    """The operations of a multiway aggregate.

    ``make_state(plan, inputs, **parameters)`` returns a NamedTuple with at least the field
    ``windows``, which has the ``sink``. ``add(state, stream, timestamp, key, value)`` and
    ``close(state, stream)`` answer as a gate does. ``process(state)`` is one step of the output
    thread: READY, NOT_READY, ROWS_FULL, WINSETS_FULL or END (the last winset was output).

    If there are update threads between inputs and output, ``update(state, thread)`` is one step of
    one of them: READY (one tuple), NOT_READY or END; the variant's parameter ``update_threads`` is
    the number of them. `counts_tuples` names the thread whose steps are tuples, one each: "output",
    "update" (each update thread sees every tuple) or "input" (each tuple is done when its input
    thread has added it, and a step of the output thread is a winset or a pane). `functions` are the
    aggregate functions that the variant accepts. `answers_as_w_hive` says that each single answer
    follows `operators.aggregation.specification`, and not only all rows at the end.
    """

    make_state: Callable[..., Any]
    add: Callable[..., int]
    close: Callable[..., int]
    process: Callable[..., int]
    update: Callable[..., int] | None = None
    counts_tuples: str = "output"
    functions: tuple[str, ...] = tuple(CODES)
    answers_as_w_hive: bool = False


def refusal(variant: Variant, function: str, whose: str = "") -> str | None:
    """Return why a variant does not take an aggregate function, or None if it does.

    `whose` names, for the message, the source of the request.
    """
    accepted = variant.operations.functions
    if function in accepted:
        return None
    why = ""
    if function in ORDER_SENSITIVE:
        why = ", which depends on the order of tuples, and it does not sort them"
    return f"does not take {function}{whose}{why}; it takes: {', '.join(accepted)}"


def accepts(variant: Variant, query_id: str) -> str | None:
    """Return why a variant does not take a query, or None if it does."""
    found = query(query_id)
    return refusal(variant, found.function, f" (query {found.id})")


def role_of(settings: Mapping[str, Any]) -> str | None:
    """Return the role of the data that the query runs on."""
    return query(str(settings.get("query", DEFAULT_QUERY))).role


FAMILY = Family(
    id="aggregation",
    title="windows over many sorted streams",
    operations=AggregationOperations,
    settings=(
        Parameter("query", DEFAULT_QUERY, meaning="what is asked", choices=tuple(QUERIES)),
        Parameter("inputs", 4, 1, MOST_INPUTS, "", "physical streams, a thread each"),
        Parameter("seed", 1, 1, 1 << 31, "", "of the split into streams"),
        Parameter("unit_divisor", 1, 1, 1 << 40, "", "what the query time unit is divided by"),
    ),
    failures={
        OUT_OF_ORDER: "a tuple was out of order in its stream",
        WINSETS_FULL: "the window state or the winset log is too small for this stream",
    },
    queries=QUERIES,
    accepts=accepts,
    role_of=role_of,
)
