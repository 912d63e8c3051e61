"""The family of gates: what each provides, and what a bench of one takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators.contract import OUT_OF_ORDER, Family, Parameter

MOST_SOURCES = 512
MOST_READERS = 64


class GateAnswers(NamedTuple):
    """When a gate may say FULL or NOT_READY, where its paper leaves that open.

    `operators.gate.specification` holds the gate to it.

    Attributes
    ----------
    room : callable
        ``room(ahead)``: with fewer tuples of a source before the slowest reader, FULL is wrong.
    holds : callable
        ``holds(ahead, batch)``: how many last tuples of an open source it may keep to itself.
        `batch` is that parameter of the gate, 1 where it has none.
    pins : bool
        Whether a source that is in the middle of a call may keep all others full.
    """

    room: Callable[[int], int] = lambda ahead: ahead
    holds: Callable[[int, int], int] = lambda ahead, batch: 0
    pins: bool = False


# FULL at `ahead` tuples of a source, and NOT_READY only where nothing is ready.
EXACT = GateAnswers()


class GateOperations(NamedTuple):
    """What a gate (S-Merge) provides.

    ``make_state(sources, readers, ahead, **parameters)`` returns a NamedTuple of arrays.
    ``insert_tuple(state, source, timestamp, key, value)`` answers ACCEPTED, FULL or OUT_OF_ORDER.
    ``get_next_ready_tuple(state, reader, out)`` answers READY (and fills ``out`` with timestamp,
    source, key, value), NOT_READY or END. ``close_source(state, source)`` answers ACCEPTED or FULL.
    ``check_invariants(state)`` is plain Python over a gate at rest and raises AssertionError.
    ``answers`` is declared beside ``make_state``, whose numbers it follows from. Without it, when
    the gate is FULL is its own affair, and how many tuples it keeps back is found by trying.

    Delivery is in the total order (timestamp, source, position in the source).
    """

    make_state: Callable[..., Any]
    insert_tuple: Callable[..., int]
    get_next_ready_tuple: Callable[..., int]
    close_source: Callable[..., int]
    check_invariants: Callable[..., None]
    answers: GateAnswers | None = None


FAMILY = Family(
    id="gate",
    title="many sorted sources in, one ready sequence out (S-Merge)",
    operations=GateOperations,
    settings=(
        Parameter("sources", 4, 1, MOST_SOURCES, "", "sorted streams, a thread each"),
        Parameter("readers", 1, 1, MOST_READERS, "", "threads that each see every tuple"),
        Parameter("seed", 1, 1, 1 << 31, "", "of the split into streams"),
    ),
    failures={OUT_OF_ORDER: "a tuple was out of order in its stream"},
)
