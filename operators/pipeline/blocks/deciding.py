"""Finds the partitioned operator that is worth taking blocks in parts: that with most of the work.

In order, whole blocks, an operator is a stage of its pipeline: as long as it has less than half of
the work, two workers lose nothing by that, and parts would cost a division and a gathering.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from operators.core.jit import INTERPRETED
from operators.pipeline.blocks.layout import segments_of
from operators.pipeline.blocks.run import seconds_by_segment, workers_in_blocks
from operators.pipeline.blocks.state import make_blocks_state
from operators.pipeline.declare import PARTITIONED
from operators.pipeline.loops import Functions
from operators.running.library import run_to_the_end
from operators.running.run_threads import RunFailed, Stuck

# Records of the trial, in blocks of which every eighth is timed.
TRIAL_RECORDS, TRIAL_BLOCK = (64, 4) if INTERPRETED else (2_048, 32)
# Parts of a block. With nine tenths of the work in one operator, native programs had 1.8 to 2.0
# times the serial loop's speed with 2 to 16.
PARTS = 4


def dominant_in(
    functions: Functions,
    records: np.ndarray,
    given: Mapping[str, Any],
    stall_seconds: float | None = None,
) -> tuple[int, ...]:
    """Return the number of the partitioned operator with more than half of the work, if any.

    One worker runs the first records, once. Where that fails the run itself will fail, and says
    where.

    Parameters
    ----------
    functions : Functions
    records : int64 array (rows, inputs)
    given : mapping
        More arguments of ``make_blocks_state``, such as `products` and `tables`.
    stall_seconds : float, optional
        As for ``run_pipeline``.
    """
    pipeline, some = functions.pipeline, records[:TRIAL_RECORDS]
    if not len(some) or all(each.kind != PARTITIONED for each in pipeline.operators):
        return ()
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
    roles = workers_in_blocks(functions, state)
    try:
        run_to_the_end(roles, roles, len(some), {}, stall_seconds)
    except Stuck:
        raise
    except RunFailed:
        # The run itself will fail at the same record, and say where.
        return ()
    spent = list(seconds_by_segment(pipeline, state).values())
    return tuple(
        segment.first
        for segment, seconds in zip(segments_of(pipeline), spent, strict=True)
        if seconds > sum(spent) / 2
        and segment.first < len(pipeline.operators)
        and pipeline.operators[segment.first].kind == PARTITIONED
    )
