"""MQLF: the baseline aggregate on lock-free queues.

"Efficient data streaming multiway aggregation", section 7: MQ on the queue of Michael and Scott, to
show that MQ's poor performance does not depend only on its locks::

    input thread i:   add                      -> queue i, by compare-and-swap
    output thread:    s_merge_update_output    queues -> ready tuple -> winsets -> rows

What is guaranteed: the rows of `operators.aggregation.reference`, in its order, whatever the
timing. Progress is the gate's, lock-free. `operators.gate.multi_queue_lock_free` has the queues,
and `operators.aggregation.update_output` the rest; each says where it departs from the paper.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.aggregation import update_output as output_thread
from operators.aggregation.functions import CODES
from operators.aggregation.plan import AggregationPlan, Text, check_plan
from operators.aggregation.winsets import WindowState, make_windows
from operators.contract import END, READY, AggregationOperations, Variant
from operators.core.jit import inlined
from operators.gate import multi_queue_lock_free
from operators.gate.multi_queue_lock_free import (
    MultiQueueLockFreeState,
    close_source,
    get_next_ready_tuple,
)
from operators.gate.multi_queue_lock_free import insert_tuple as insert_into_queue


class MqlfState(NamedTuple):
    """The queues, between the threads, and the output thread's winsets."""

    gate: MultiQueueLockFreeState
    windows: WindowState


def make_state(
    plan: AggregationPlan, inputs: int, ahead: int, text: Text | None = None
) -> MqlfState:
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
    return MqlfState(multi_queue_lock_free.make_state(inputs, 1, ahead), windows)


@inlined
def add(state, stream, timestamp, key, value):
    """Deliver a tuple (Add): ACCEPTED, FULL or OUT_OF_ORDER.

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
    """Process the earliest ready tuple (as MQ does). By the output thread.

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
    id="mqlf",
    family="aggregation",
    title="MQLF",
    paper="multiway_aggregation",
    section="7",
    operations=AggregationOperations(make_state, add, close, s_merge_update_output),
    order="window start, then key",
    progress="lock-free",
    threads={"input": "one per stream", "output": "one"},
    capacity="ahead tuples an input; a full input is told FULL",
    parameters=multi_queue_lock_free.VARIANT.parameters,
    functions=tuple(CODES),
)
