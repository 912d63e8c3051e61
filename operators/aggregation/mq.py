"""MQ: the baseline aggregate, one locked queue an input and one thread that does all the rest.

"Efficient data streaming multiway aggregation", section 5.3 and Algorithm 2, Figs. 2a and 3::

    input thread i:   add                      -> queue i, under its lock
    output thread:    s_merge_update_output    queues -> ready tuple -> winsets -> rows

What is guaranteed: the rows of `operators.aggregation.reference`, in its order, whatever the
timing. Progress is the gate's, blocking. `operators.gate.multi_queue` has the queues, and
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
from operators.gate import multi_queue
from operators.gate.multi_queue import MultiQueueState, close_source, get_next_ready_tuple
from operators.gate.multi_queue import insert_tuple as insert_into_queue


class MqState(NamedTuple):
    """The queues, between the threads, and the output thread's winsets."""

    gate: MultiQueueState
    windows: WindowState


def make_state(plan: AggregationPlan, inputs: int, ahead: int, text: Text | None = None) -> MqState:
    """Return an aggregate that has received nothing.

    Parameters
    ----------
    plan : AggregationPlan
    inputs : int
        Physical streams, each with an input thread.
    ahead : int
        Tuples an input may be ahead of the output thread.
    text : Text, optional
        For the text functions: what a tuple's value refers to.

    Raises
    ------
    UsageError
        When a parameter is out of its limits, or texts are needed and missing.
    """
    windows = make_windows(check_plan(plan), text)
    return MqState(multi_queue.make_state(inputs, 1, ahead), windows)


@inlined
def add(state, stream, timestamp, key, value):
    """Deliver a tuple (Algorithm 2, Add): ACCEPTED, FULL or OUT_OF_ORDER.

    By the input thread of `stream`.
    """
    return insert_into_queue(state.gate, stream, timestamp, key, value)


@inlined
def close(state, stream):
    """Say that `stream` has ended: ACCEPTED.

    By its input thread.
    """
    return close_source(state.gate, stream)


@inlined
def s_merge_update_output(state):
    """Process the earliest ready tuple (Algorithm 2). By the output thread.

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
    id="mq",
    family="aggregation",
    title="MQ",
    paper="multiway_aggregation",
    section="5.3, Algorithm 2",
    operations=AggregationOperations(make_state, add, close, s_merge_update_output),
    order="window start, then key",
    progress="blocking",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=multi_queue.VARIANT.parameters,
    functions=tuple(CODES),
)
