"""What a pipeline's raw results have beside the common columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.declare import Quantity
from experiments.families.saturated import MARKED, PROCESSING, SERIAL, SPEED_UPS
from experiments.records.columns import CLOSED, Column

# Operators, from the first on, whose share of the workers' time a figure may show.
SHOWN_OPERATORS = 8

COLUMNS = (
    MARKED,
    SERIAL,
    Column(
        "operator_seconds",
        "object",
        "s",
        "worker time that went into each operator, by its place and name",
        "when the run failed",
    ),
)


def _share_of(place: int) -> Quantity:
    def share(row: Mapping[str, Any]) -> float | None:
        spent = list((row["operator_seconds"] or {}).values())
        return spent[place] / sum(spent) if place < len(spent) and sum(spent) else None

    return Quantity(
        name=f"share_{place + 1}",
        unit="",
        meaning=f"share of the workers' time in operators that operator {place + 1} had",
        words=f"share of the workers' time in operator {place + 1}",
        label=f"Operator {place + 1}",
        better="lower",
        phase=CLOSED,
        added=True,
        whole="Share of worker time",
        short=str(place + 1),
        of=share,
    )


SHARES = tuple(_share_of(place) for place in range(SHOWN_OPERATORS))


def _first_us(row: Mapping[str, Any]) -> float | None:
    spent = list((row["operator_seconds"] or {}).values())
    return 1e6 * spent[0] / row["tuples"] if spent and row["tuples"] else None


FIRST = Quantity(
    name="first_operator_us",
    unit="us",
    meaning="worker time in the first operator over the tuples, blocked in it or not",
    words="worker time a tuple in the first operator",
    label="First operator (µs a tuple)",
    better="lower",
    phase=CLOSED,
    of=_first_us,
)


def _operators_us(row: Mapping[str, Any]) -> float | None:
    spent = (row["operator_seconds"] or {}).values()
    return 1e6 * sum(spent) / row["tuples"] if spent and row["tuples"] else None


ALL_OPERATORS = Quantity(
    name="operators_us",
    unit="us",
    meaning="worker time in all operators over the tuples that entered, blocked or not",
    words="worker time a tuple in operators",
    label="All operators (µs a tuple)",
    better="lower",
    phase=CLOSED,
    of=_operators_us,
)

QUANTITIES = (*PROCESSING, SPEED_UPS, FIRST, ALL_OPERATORS, *SHARES)
