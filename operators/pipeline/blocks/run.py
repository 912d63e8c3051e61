"""The threads of a run in blocks, and the name of the record at which a function fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from operators import registry
from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.pipeline.block_ring import NONE
from operators.pipeline.blocks.layout import Segment, segments_of
from operators.pipeline.blocks.sending import BY_WALK
from operators.pipeline.blocks.state import (
    IN_BLOCK,
    INDEX,
    LEFT,
    OF_BLOCK,
    OPERATOR,
    OUT_WORDS,
    PASSED,
    SEGMENT,
    SPENT_NS,
    STATISTICS,
    TIMED,
    TOGETHER,
    BlocksState,
    scattered_in,
)
from operators.pipeline.blocks.turns import make_work_in_blocks
from operators.pipeline.declare import Pipeline
from operators.pipeline.loops import Functions, loop_of_turns
from operators.running.control import FAILURE
from operators.running.run_threads import Counts, Role, RunFailed


@cache
def make_blocks_loop(
    functions: Functions,
    segments: tuple[Segment, ...],
    schedulers: tuple[Callable[..., int], ...],
) -> Callable[..., None]:
    """Return the kernel of a worker, ``blocks_loop(control, own, state, worker, out)``.

    Parameters
    ----------
    functions : Functions
    segments : tuple of Segment
        From ``segments_of``, which also goes by the number of outputs.
    schedulers : tuple of callable
        As for ``make_work_in_blocks``.
    """

    @inlined
    def passed(state):
        # RELAXED: a number for those who watch the run.
        return load(state.words, LEFT, RELAXED)

    return loop_of_turns(make_work_in_blocks(functions.pipeline, segments, schedulers), passed)


def workers_in_blocks(
    functions: Functions, state: BlocksState, schedulers: tuple[Callable[..., int], ...] = ()
) -> list[Role]:
    """Return the threads of a run; the first one reports the run's progress.

    `schedulers` are the ``choose`` functions that a run may be scheduled by; one that goes by a
    walk has a kernel without them.
    """
    if state.sending.scheduler == BY_WALK:
        schedulers = ()
    pipeline = functions.pipeline
    segments = segments_of(pipeline, scattered_in(state))
    loop = make_blocks_loop(functions, segments, schedulers)

    def role(worker: int) -> Role:
        out = aligned_words(OUT_WORDS)
        out[SEGMENT] = NONE

        def enter(control: np.ndarray, own: int, *arguments: Any) -> None:
            failures = registry.family("pipeline").failures
            try:
                loop(control, own, *arguments)
            except Exception as error:
                first = str(error).strip().partition("\n")[0]
                raise RunFailed(
                    f"worker {worker} failed: {type(error).__name__}: {first}"
                    f" ({record_in_progress(pipeline, segments, out)})"
                ) from error
            status = int(load(control, own + FAILURE, RELAXED))
            if status != 0:
                why = failures.get(status, f"an operation answered {status}")
                where = record_in_progress(pipeline, segments, out)
                raise RunFailed(f"worker {worker}: {why} ({where})", status)

        return Role(
            f"worker {worker}",
            enter,
            (state, worker, out),
            output=True,
            counts=Counts.NOTHING if worker else Counts.EVERY_TUPLE,
            doing=lambda: record_in_progress(pipeline, segments, out),
        )

    return [role(worker) for worker in range(state.workers)]


def record_in_progress(pipeline: Pipeline, segments: tuple[Segment, ...], out: np.ndarray) -> str:
    """Return a clause that names the operator and the record that a worker is, or was, at."""
    if out[SEGMENT] == NONE:
        return "before its first record"
    first, count = int(out[OF_BLOCK]), int(out[IN_BLOCK])
    name, index = pipeline.operators[out[OPERATOR]].name, int(out[INDEX])
    last = index + int(out[TOGETHER]) - 1
    records = f"the records {index} to {last}" if last > index else f"record {index}"
    if count == NONE:
        return f"operator {name!r}, at {records} of those that a flush put out"
    if count == 0:
        return f"operator {name!r}, at the flush of key {index}"
    if out[SEGMENT] == 0:
        tuples = f"tuple {first + index}"
        if last > index:
            tuples = f"the tuples {first + index} to {first + last}"
        return f"operator {name!r}, at {tuples} of the input"
    return (
        f"operator {name!r}, at {records} of those that it got of the tuples {first} to"
        f" {first + count - 1} of the input"
    )


def seconds_by_segment(pipeline: Pipeline, state: BlocksState) -> dict[str, float]:
    """Return the time of all workers in each segment, by number and names of its operators.

    One block in eight is timed, and stands for the others.
    """
    found = {}
    for number, segment in enumerate(segments_of(pipeline, scattered_in(state))):
        words = state.statistics.reshape(state.workers, -1, STATISTICS)[:, number].sum(axis=0)
        names = [each.name for each in pipeline.operators[segment.first : segment.end]]
        spent = int(words[SPENT_NS]) * int(words[PASSED]) / max(int(words[TIMED]), 1)
        found[f"{number + 1} {', '.join(names) or 'output'}"] = spent / 1e9
    return found
