"""TuMLSC: the tuple merged list with a single consumer.

"Efficient data streaming multiway aggregation", sections 4 and 5.4, Algorithm 3, Figs. 2b and 4:
the input threads merge and sort while they insert, so that the output thread only updates and
puts out::

    input thread i:   add (S-Merge inside)     -> T-Gate
    output thread:    update_output       T-Gate -> ready tuple -> winsets -> rows

What is guaranteed: the rows of `operators.aggregation.reference`, in its order, whatever the
timing. Progress is the gate's, lock-free. `operators.gate.t_gate` has the merged list, and
`operators.aggregation.update_output` the rest; each says where it departs from the paper.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.aggregation import update_output as output_thread
from operators.aggregation.functions import CODES
from operators.aggregation.plan import AggregationPlan, Text, check_plan
from operators.aggregation.winsets import WindowState, make_windows
from operators.contract import END, READY, AggregationOperations, Variant
from operators.core.jit import inlined
from operators.gate import t_gate
from operators.gate.t_gate import close_source, get_next_ready_tuple, insert_tuple
from operators.gate.t_gate_state import TGateState


class TumlscState(NamedTuple):
    """The merged list, between the threads, and the output thread's winsets."""

    gate: TGateState
    windows: WindowState


def make_state(
    plan: AggregationPlan, inputs: int, ahead: int, levels: int, text: Text | None = None
) -> TumlscState:
    """Return an aggregate that has received nothing.

    Parameters
    ----------
    plan : AggregationPlan
    inputs : int
        Physical streams, each with an input thread.
    ahead : int
        Tuples an input may be ahead of the output thread.
    levels : int
        Height of the T-Gate's tallest node.
    text : Text, optional
        For the text functions: what a tuple's value refers to.

    Raises
    ------
    UsageError
        When a parameter is out of its limits, or texts are needed and missing.
    """
    windows = make_windows(check_plan(plan), text)
    return TumlscState(t_gate.make_state(inputs, 1, ahead, levels), windows)


@inlined
def add(state, stream, timestamp, key, value):
    """Deliver a tuple (Algorithm 3, AddSMerge): ACCEPTED, FULL or OUT_OF_ORDER.

    By the input thread of `stream`.
    """
    return insert_tuple(state.gate, stream, timestamp, key, value)


@inlined
def close(state, stream):
    """Say that `stream` has ended: ACCEPTED.

    By its input thread.
    """
    return close_source(state.gate, stream)


@inlined
def update_output(state):
    """Process the next ready tuple (Algorithm 3). By the output thread.

    READY, NOT_READY, ROWS_FULL, WINSETS_FULL, or END after the last winset is out.
    """
    if output_thread.is_holding(state.windows):
        return output_thread.update_output(state.windows)
    status = get_next_ready_tuple(state.gate, 0, state.windows.current)
    if status == READY:
        return output_thread.update_output(state.windows)
    if status == END:
        return output_thread.end_of_streams(state.windows)
    return status


VARIANT = Variant(
    id="tumlsc",
    family="aggregation",
    title="TuMLSC",
    paper="multiway_aggregation",
    section="5.4, Algorithm 3",
    operations=AggregationOperations(make_state, add, close, update_output),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=t_gate.VARIANT.parameters,
    functions=tuple(CODES),
)
