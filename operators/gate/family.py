"""The family of gates: the operations of a gate, and the settings of the gate bench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators.contract import OUT_OF_ORDER, Family, Parameter

MOST_SOURCES = 512
MOST_READERS = 64


class GateAnswers(NamedTuple):
    """When a gate may answer FULL or NOT_READY, where the paper leaves that open.

    `operators.gate.specification` checks the gate against it.

    Attributes
    ----------
    room : callable
        ``room(ahead)``: with fewer tuples of a source before the slowest reader, FULL is wrong.
    holds : callable
        ``holds(ahead, batch)``: how many last tuples of an open source the gate may hold back.
        `batch` is the gate's parameter of that name, 1 where there is none.
    pins : bool
        Whether a source that is in the middle of a call may keep all others full.
    """

    room: Callable[[int], int] = lambda ahead: ahead
    holds: Callable[[int, int], int] = lambda ahead, batch: 0
    pins: bool = False


# FULL at `ahead` tuples of a source, and NOT_READY only where nothing is ready.
EXACT = GateAnswers()


class GateOperations(NamedTuple):
    """The operations of a gate (S-Merge).

    ``make_state(sources, readers, ahead, **parameters)`` returns a NamedTuple of arrays.
    ``insert_tuple(state, source, timestamp, key, value)`` answers ACCEPTED, FULL or OUT_OF_ORDER.
    ``get_next_ready_tuple(state, reader, out)`` answers READY (and fills ``out`` with timestamp,
    source, key, value), NOT_READY or END. ``close_source(state, source)`` answers ACCEPTED or FULL.
    ``check_invariants(state)`` is plain Python over a quiescent gate and raises AssertionError.
    ``answers`` is declared in the same module as ``make_state``, on whose numbers it depends.
    Without it the gate may be FULL at any time, and a trial finds how many tuples it holds back.

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
