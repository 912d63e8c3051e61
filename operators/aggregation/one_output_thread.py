"""A gate in front and one output thread behind it: the frame of MQ, MQLF, TuMLSC and others.

Algorithms 2 and 3 of "Efficient data streaming multiway aggregation" differ in how the inputs are
merged and which threads do it; the output thread processes a ready tuple by the same lines::

    input thread i:   add        Add (and with a T-Gate S-Merge)        -> gate
    output thread:    process    gate -> ready tuple -> Update, Output  -> rows

So a variant is a gate in this frame, and the differences are in the gates. The processing by the
output thread can be exchanged as well: `panes` and `side_by_side` are other forms of it.

Guarantees: the rows of `operators.aggregation.reference`, in the same order, with any timing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from operators.aggregation.family import AggregationOperations
from operators.aggregation.plan import AggregationPlan, Text, check_plan
from operators.aggregation.update_output import end_of_streams, is_holding, update_output
from operators.aggregation.winsets import make_windows
from operators.contract import END, READY
from operators.core.jit import inlined
from operators.gate.family import GateOperations


class OutputThread(NamedTuple):
    """The processing of ready tuples.

    ``make_windows(plan, text)`` returns a state with the field ``current``, into which a ready
    tuple is put, and ``sink``. ``update_output(windows)`` processes that tuple; where it answers
    anything but READY, ``is_holding(windows)`` is true and it is called again.
    ``end_of_streams(windows)`` outputs the remaining winsets.
    """

    make_windows: Callable[..., Any]
    is_holding: Callable[..., bool]
    update_output: Callable[..., int]
    end_of_streams: Callable[..., int]


WINSETS = OutputThread(make_windows, is_holding, update_output, end_of_streams)


class OneOutputThreadState(NamedTuple):
    """The gate, shared by the threads, and the output thread's winsets."""

    gate: Any  # the state of the gate
    windows: Any  # of `OutputThread.make_windows`


def one_output_thread(
    gate: GateOperations, output: OutputThread = WINSETS
) -> AggregationOperations:
    """Return the operations of an aggregate whose S-Merge is `gate`, and the rest `output`.

    ``make_state(plan, inputs, ahead, text=None, **parameters)`` takes the gate's parameters, and
    raises UsageError when one is out of range, or when texts are needed and missing.
    """
    insert_tuple = gate.insert_tuple
    get_next_ready_tuple = gate.get_next_ready_tuple
    close_source = gate.close_source
    make_windows, is_holding, update_output, end_of_streams = output

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
        # By the output thread: one ready tuple, or, once all have ended, the remaining winsets.
        if is_holding(state.windows):
            return update_output(state.windows)
        status = get_next_ready_tuple(state.gate, 0, state.windows.current)
        if status == READY:
            return update_output(state.windows)
        if status == END:
            return end_of_streams(state.windows)
        return status

    return AggregationOperations(make_state, add, close, process)
