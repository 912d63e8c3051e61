"""Decides how a run in blocks is to go: which operators take blocks in parts, and where workers go.

*Into how many parts.* In order, whole blocks, an operator is a stage of its pipeline: as long as it
has less than half of the work, two workers lose nothing by that, and parts would cost a division
and a gathering. So parts are for the partitioned operator with most of the work, where a block
takes long enough to pay for them.

*Where workers go.* To completion a worker carries its block on, which costs least where a block
takes some microseconds; but with few blocks in flight workers are idle. Where a block takes longer,
its way to another core costs little: from opposite ends few blocks in flight suffice, so that the
latency when saturated is short.

What is not given is decided by a trial: one worker runs the first records, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from operators.core.jit import INTERPRETED
from operators.pipeline.blocks.layout import segments_of
from operators.pipeline.blocks.run import seconds_by_segment, workers_in_blocks
from operators.pipeline.blocks.state import make_blocks_state
from operators.pipeline.declare import PARTITIONED, Pipeline
from operators.pipeline.family import ENDS, MEASURED
from operators.pipeline.loops import Functions
from operators.running.library import run_to_the_end
from operators.running.run_threads import RunFailed, Stuck

# Records of the trial, in blocks of which every eighth is timed.
TRIAL_RECORDS, TRIAL_BLOCK = (64, 4) if INTERPRETED else (2_048, 32)
# Parts of a block. With nine tenths of the work in one operator, native programs had 1.8 to 2.0
# times the serial loop's speed with 2 to 16.
PARTS = 4
# The least time of a block that is slow: its dominant operator takes it in parts, and several
# workers begin at both ends. With blocks of 5 and 45 us (queries 4 and 2) parts in the dominant
# operator took the speed-up from 1.66 to 1.19 and from 2.66 to 1.95, and with one of 230 us it rose
# from 1.09 to 1.92. With a block of 10 us (query 1) four blocks from both ends made 1.20 and to
# completion 1.64 times the loop; with one of 59 us (parametric) they were as fast, at a third of
# the latency (docs/measurements/2026-11-30-xeon-2-cores.md and -epyc-2-cores.md).
SLOW_BLOCK_US = 50.0
# Blocks in flight, unless they are given.
TO_COMPLETION, FROM_ENDS_A_WORKER = 16, 2


class Decision(NamedTuple):
    """How a run in blocks goes.

    Attributes
    ----------
    parts : int
        Of a block, in scattered operators.
    scattered : tuple of int
        Numbers of the operators that take blocks in parts.
    ends : bool
        Whether every other worker begins at the last segment.
    in_flight : int
        Blocks in flight, at most.
    """

    parts: int
    scattered: tuple[int, ...]
    ends: bool
    in_flight: int


class Trial(NamedTuple):
    """What one worker found: the operators with more than half of the work, and a tuple's time."""

    dominant: tuple[int, ...] = ()
    tuple_us: float = 0.0


def decide(
    pipeline: Pipeline,
    records: np.ndarray,
    settings: Mapping[str, Any],
    given: Mapping[str, Any],
    stall_seconds: float | None = None,
) -> Decision:
    """Return how a run with these settings goes.

    Where a trial decides, two calls may differ: who runs a pipeline again asks once. The outputs
    are the same with every decision.

    Parameters
    ----------
    pipeline : Pipeline
    records : int64 array (rows, inputs)
    settings : mapping
        Of the family: `workers`, `block`, `parts`, `walk` and `in_flight`; 0 or MEASURED is what
        is to be decided.
    given : mapping
        More arguments of ``make_blocks_state``, such as `products` and `tables`.
    stall_seconds : float, optional
        As for ``run_pipeline``.
    """
    parts, walk, workers = settings["parts"], settings["walk"], settings["workers"]
    partitioned = partitioned_in(pipeline)
    trial = Trial()
    if (parts == 0 and partitioned) or (walk == MEASURED and workers > 1):
        trial = try_out(Functions(pipeline), records, given, stall_seconds)
    slow = settings["block"] * trial.tuple_us >= SLOW_BLOCK_US
    if parts == 0:
        scattered = trial.dominant if slow else ()
        parts = PARTS if scattered else 1
    else:
        scattered = partitioned if parts > 1 else ()
    ends = walk == ENDS or (walk == MEASURED and workers > 1 and slow)
    most = FROM_ENDS_A_WORKER * workers if ends else TO_COMPLETION
    return Decision(parts, scattered, ends, settings["in_flight"] or most)


def try_out(
    functions: Functions,
    records: np.ndarray,
    given: Mapping[str, Any],
    stall_seconds: float | None = None,
) -> Trial:
    """Return what one worker finds; arguments as for ``decide``.

    Nothing, where the trial fails: the run itself will fail at the same record, and says where.
    """
    pipeline, some = functions.pipeline, records[:TRIAL_RECORDS]
    if not len(some):
        return Trial()
    state = make_blocks_state(
        pipeline,
        some,
        len(some),
        workers=1,
        block=TRIAL_BLOCK,
        in_flight=1,
        marker_every=len(some) + 1,
        **given,
    )
    # Without the end of the stream: all keys would be flushed, for a few records.
    state = state._replace(flushes=state.flushes[:0])
    roles = workers_in_blocks(functions, state)
    try:
        run_to_the_end(roles, roles, len(some), {}, stall_seconds)
    except Stuck:
        raise
    except RunFailed:
        return Trial()
    spent = list(seconds_by_segment(pipeline, state).values())
    dominant = tuple(
        segment.first
        for segment, seconds in zip(segments_of(pipeline), spent, strict=True)
        if seconds > sum(spent) / 2 and segment.first in partitioned_in(pipeline)
    )
    return Trial(dominant, 1e6 * sum(spent) / len(some))


def partitioned_in(pipeline: Pipeline) -> tuple[int, ...]:
    """Return the numbers of the partitioned operators of a pipeline."""
    return tuple(n for n, each in enumerate(pipeline.operators) if each.kind == PARTITIONED)
