"""Columns of a pipeline's raw results besides the common ones, and quantities made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.declare import Quantity
from experiments.families.saturated_source import ALONE, MARKED, PROCESSING, SERIAL, SPEED_UPS
from experiments.records.columns import CLOSED, Column

# Operators, from the first on, whose share of the workers' time a figure may show.
SHOWN_OPERATORS = 8

COLUMNS = (
    MARKED,
    SERIAL,
    ALONE,
    Column(
        "operator_seconds",
        "object",
        "s",
        "worker time that went into each operator, by place and name; with form=blocks into each"
        " segment of operators, estimated from one block in eight",
        "when the run failed",
    ),
    Column(
        "ingress_seconds",
        "number",
        "s",
        "worker time that went into feeding the first operator from the source",
        "when the run failed, or with form=blocks",
    ),
    Column(
        "turns",
        "object",
        "turns",
        "how often a worker was sent to an operator (sent); of these turns, how often another"
        " operator could have been worked on, too (with_a_choice), one was left out because its"
        " outputs had no room behind it (held_back), and it was not the earliest that could have"
        " been worked on (passed_over; under QST: a threshold decided)",
        "when the run failed, or with form=blocks",
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
        arithmetic=True,
        total_label="Share of worker time",
        short_label=str(place + 1),
        compute=share,
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
    compute=_first_us,
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
    compute=_operators_us,
)


def _ingress_us(row: Mapping[str, Any]) -> float | None:
    spent = row["ingress_seconds"]
    return 1e6 * spent / row["tuples"] if spent and row["tuples"] else None


INGRESS = Quantity(
    name="ingress_us",
    unit="us",
    meaning="worker time in feeding the first operator from the source, over the tuples",
    words="worker time a tuple at the ingress",
    label="Ingress (µs a tuple)",
    better="lower",
    phase=CLOSED,
    compute=_ingress_us,
)


def _share_of_turns(name: str, meaning: str, label: str) -> Quantity:
    def share(row: Mapping[str, Any]) -> float | None:
        turns = row["turns"] or {}
        return turns[name] / turns["sent"] if turns.get("sent") else None

    return Quantity(
        name=f"turns_{name}",
        unit="",
        meaning=f"share of the workers' turns {meaning}",
        words=f"share of the turns {meaning}",
        label=label,
        better="lower",
        phase=CLOSED,
        arithmetic=True,
        compute=share,
    )


# In no figure: the baseline for the two shares below.
CHOICES = _share_of_turns(
    "with_a_choice",
    "in which two operators or more could be worked on",
    "Turns with a choice",
)
HELD_BACK = _share_of_turns(
    "held_back",
    "in which an operator was left out because its outputs had no room behind it",
    "Turns with an operator held back",
)
# Under QST these are the turns decided by a threshold: without one QST takes the earliest operator.
PASSED_OVER = _share_of_turns(
    "passed_over",
    "in which the earliest operator that could be worked on was passed over",
    "Turns past the earliest operator",
)

# Above 1 the outputs of a tuple were sent in parts: backpressure made the sender leave some unsent.
NO_ROOM = Quantity(
    name="no_room_a_tuple",
    unit="times",
    meaning="how often the outputs of a tuple found no room at the operator behind, of all"
    " operators together, over the tuples that entered",
    words="how often the outputs of a tuple found no room",
    label="No room downstream (a tuple)",
    better="lower",
    phase=CLOSED,
    absent="when the run failed, or with form=blocks",
    timed=False,
)

QUANTITIES = (
    *PROCESSING,
    SPEED_UPS,
    FIRST,
    ALL_OPERATORS,
    INGRESS,
    CHOICES,
    HELD_BACK,
    PASSED_OVER,
    NO_ROOM,
    *SHARES,
)
