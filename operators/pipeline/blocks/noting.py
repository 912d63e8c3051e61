"""What a worker notes of a block: the record in progress, for messages, and the time it took."""

from __future__ import annotations

from operators.core.atomics import now
from operators.core.jit import inlined
from operators.pipeline.block_ring import NONE
from operators.pipeline.blocks.state import (
    BEGIN,
    ENTRY,
    IN_BLOCK,
    OF_BLOCK,
    PASSED,
    RECORDS,
    SEGMENT,
    SPENT_NS,
    STATISTICS,
    TIMED,
    TOGETHER,
    header_of,
)

# A worker stopped in the middle of a block, which stays as it is: the run has ended.
STOPPED = 3
# One block in eight is timed: for the small ones the clock would be a part of the cost.
TIMED_MASK = 7


@inlined
def make_known(state, number, segment, out):
    """Note which block a worker takes through which segment, for messages."""
    head = header_of(state, number)
    out[OF_BLOCK] = state.headers[head + BEGIN]
    # A block that began as a flush of an earlier segment has no tuples of the input.
    flushed = state.headers[head + ENTRY] != NONE and state.headers[head + ENTRY] != segment
    out[IN_BLOCK] = NONE if flushed else state.headers[head + RECORDS]
    out[SEGMENT] = segment
    out[TOGETHER] = 1


@inlined
def begin_timing(number):
    """Return the time if the block is one of those that are timed, otherwise 0."""
    return now() if number & TIMED_MASK == 0 else 0


@inlined
def end_timing(state, worker, segment, began):
    """Add a block to the statistics of a worker and a segment.

    Plain words: they are private to the worker, and are read after all workers have ended.
    """
    own = (worker * state.ring.segments + segment) * STATISTICS
    state.statistics[own + PASSED] += 1
    if began != 0:
        state.statistics[own + SPENT_NS] += now() - began
        state.statistics[own + TIMED] += 1


@inlined
def passed_at(state, worker, segment):
    """Return how many visits of a worker to a segment were noted."""
    return state.statistics[(worker * state.ring.segments + segment) * STATISTICS + PASSED]
