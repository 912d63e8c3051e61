"""The three-step procedure by one thread, on ready tuples in order (Proposition 1).

Section III of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream Join": the
join that every parallel join must be equal to. A gate merges the physical streams; the thread that
takes pairs runs the procedure::

    R streams --+
                +--> ScaleGate --> W_R, W_S --> pairs, in order
    S streams --+

There is no other processing thread.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED, NOT_READY, READY, Look, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.gate import t_gate
from operators.gate.t_gate import TGateState
from operators.theta_join import processing
from operators.theta_join.family import TOO_FAR, Extent, R, S, Shape, State, ThetaOperations
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import (
    BATCH,
    COMPARISONS,
    NO_PAIR,
    Joining,
    begin_batch,
    drop_pair,
    front_pair,
    has_room,
    make_joining,
    make_steps,
)
from operators.theta_join.scale_join import (
    LEVELS,
    PARAMETERS,
    close_source,
    compared,
    insert_tuple,
    make_fill,
    seen,
)


class Merged(NamedTuple):
    """The gate, and the number of streams of R."""

    gate_in: TGateState
    r_streams: int


class OneThread(NamedTuple):
    """The data of the thread."""

    joining: Joining
    ready: np.ndarray  # a tuple of the gate: timestamp, stream, key, row


def make_state(
    predicate: Predicate, tables: Any, extent: Extent, shape: Shape, *, ahead: int = 1024
) -> State:
    """Return a join with empty windows; `shape.threads` is ignored.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    joining = make_joining(predicate, tables, extent, shape.capacity, 0, 1)
    gate = t_gate.make_state(shape.r_streams + shape.s_streams, 1, ahead, LEVELS)
    own = OneThread(joining, aligned_words(LINE_WORDS))
    return State(Merged(gate, shape.r_streams), (), own)


def make_step(predicate: Predicate):
    """Return nothing: there is no processing thread."""


@cache
def make_get_output(predicate: Predicate):
    """Return ``get_output(shared, own, out)``, see the family."""
    accept, compare, write_pair = make_steps(predicate)

    @inlined
    def get_output(shared, own, out):
        position = front_pair(own.joining)
        while position == NO_PAIR:
            begin_batch(own.joining)
            status = READY
            while status == READY and has_room(own.joining):
                status = t_gate.get_next_ready_tuple(shared.gate_in, 0, own.ready)
                if status == READY:
                    side = R if own.ready[1] < shared.r_streams else S
                    accepted = accept(own.joining, side, own.ready[0], own.ready[3], True)
                    if accepted != ACCEPTED:
                        return accepted
            if own.joining.words[BATCH] == 0:
                return status
            compare(own.joining)
            position = front_pair(own.joining)
            if position == NO_PAIR:
                # Let the caller check the time now and then.
                return NOT_READY
        out[0] = write_pair(own.joining, position, out, 1)
        drop_pair(own.joining)
        return READY if out[0] >= 0 else TOO_FAR

    return get_output


def comparisons(state: State) -> np.ndarray:
    """Return the comparisons of the one thread."""
    return np.array([int(state.output.joining.words[COMPARISONS])], np.int64)


def peak(state: State) -> int:
    """Return 0: no pair waits."""
    return 0


def check_invariants(state: State) -> None:
    """Check gate and windows in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it.
    """
    t_gate.check_invariants(state.shared.gate_in)
    processing.check_invariants(state.output.joining)


VARIANT = Variant(
    id="sequential",
    family="theta_join",
    title="Three-step procedure",
    paper="scalejoin",
    section="II and III",
    operations=ThetaOperations(
        make_state=make_state,
        insert_tuple=insert_tuple,
        close_source=close_source,
        make_fill=make_fill,
        make_step=make_step,
        make_get_output=make_get_output,
        seen=seen,
        compared=compared,
        comparisons=comparisons,
        peak=peak,
        check_invariants=check_invariants,
    ),
    order="total: (rank of the later tuple, rank of the earlier one)",
    progress="blocking",
    threads={"source": "one a physical stream", "output": "one, joins and takes pairs"},
    capacity="tuples of a window; ahead tuples a stream, then FULL",
    parameters=PARAMETERS[1:2],
    look=Look("grey", "s", "dashed"),
)
