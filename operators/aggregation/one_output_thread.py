"""A gate in front and one output thread behind it: the frame of MQ, MQLF and TuMLSC.

Algorithms 2 and 3 of "Efficient data streaming multiway aggregation" differ in what merges the
inputs and in who does it; what the output thread does with a ready tuple is the same lines::

    input thread i:   add        Add (and with a T-Gate S-Merge)        -> gate
    output thread:    process    gate -> ready tuple -> Update, Output  -> rows

So a variant is a gate put into this frame, and the gates are where to read how they differ. What
is guaranteed: the rows of `operators.aggregation.reference`, in its order, whatever the timing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from operators.aggregation.plan import AggregationPlan, Text, check_plan
from operators.aggregation.update_output import end_of_streams, is_holding, update_output
from operators.aggregation.winsets import WindowState, make_windows
from operators.contract import END, READY, AggregationOperations, GateOperations
from operators.core.jit import inlined


class OneOutputThreadState(NamedTuple):
    """The gate, between the threads, and the output thread's winsets."""

    gate: Any  # the state of the gate
    windows: WindowState


def one_output_thread(gate: GateOperations) -> AggregationOperations:
    """Return the operations of an aggregate whose S-Merge is `gate`.

    ``make_state(plan, inputs, ahead, text=None, **parameters)`` takes the gate's parameters, and
    raises UsageError when one is out of its limits, or when texts are needed and missing.
    """
    insert_tuple = gate.insert_tuple
    get_next_ready_tuple = gate.get_next_ready_tuple
    close_source = gate.close_source

    def make_state(
        plan: AggregationPlan, inputs: int, ahead: int, text: Text | None = None, **parameters: int
    ) -> OneOutputThreadState:
        windows = make_windows(check_plan(plan), text)
        return OneOutputThreadState(gate.make_state(inputs, 1, ahead, **parameters), windows)

    @inlined
    def add(state, stream, timestamp, key, value):
        # By the input thread of `stream`: ACCEPTED, FULL or OUT_OF_ORDER.
        return insert_tuple(state.gate, stream, timestamp, key, value)

    @inlined
    def close(state, stream):
        # By the input thread of `stream`: it delivers no more.
        return close_source(state.gate, stream)

    @inlined
    def process(state):
        # By the output thread: one ready tuple, or, once all have ended, what is left.
        if is_holding(state.windows):
            return update_output(state.windows)
        status = get_next_ready_tuple(state.gate, 0, state.windows.current)
        if status == READY:
            return update_output(state.windows)
        if status == END:
            return end_of_streams(state.windows)
        return status

    return AggregationOperations(make_state, add, close, process)
