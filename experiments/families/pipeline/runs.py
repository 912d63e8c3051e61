"""A run of a pipeline: its state, from the settings of the family, and its workers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from experiments.families.pipeline.loops import Functions, make_worker_loop
from experiments.timing.crew import Role
from operators import registry
from operators.contract import Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.pipeline.declare import Pipeline
from operators.pipeline.stage import BUFFERS, WORKLISTS
from operators.pipeline.state import PipelineState, Setting, make_state


@cache
def _schedulers() -> tuple[Variant, ...]:
    """Return what the number of a scheduler chooses among."""
    return tuple(registry.variants("pipeline"))


def state_of(
    pipeline: Pipeline,
    records: np.ndarray,
    total: int,
    scheduler: str,
    settings: Mapping[str, Any],
    *,
    marker_every: int,
    kept_words: int = 0,
) -> PipelineState:
    """Return the state of a run; raises as ``operators.pipeline.state.make_state`` does.

    Parameters
    ----------
    pipeline, records, total, marker_every, kept_words
        As ``make_state`` takes them.
    scheduler : str
        Id of a variant.
    settings : mapping
        Every setting of the family by name.
    """
    return make_state(
        pipeline,
        records,
        total,
        workers=settings["workers"],
        slots=settings["slots"],
        partitions=settings["partitions"],
        setting=Setting(WORKLISTS[settings["partition"]], BUFFERS[settings["reorder"]], 0),
        scheduler=[each.id for each in _schedulers()].index(scheduler),
        slice_ns=round(1_000 * settings["slice_us"]),
        window_ns=round(1_000 * settings["window_us"]),
        capacity=settings["capacity"],
        source_most=settings["source"],
        marker_every=marker_every,
        kept_words=kept_words,
    )


def workers_of(functions: Functions, state: PipelineState, workers: int) -> list[Role]:
    """Return the threads of a run; the first one says how far it is."""
    loop = make_worker_loop(functions, tuple(each.operations.choose for each in _schedulers()))
    return [
        Role(
            f"worker {worker}",
            loop,
            (state, worker, aligned_words(LINE_WORDS)),
            output=True,
            counts="" if worker else "all",
        )
        for worker in range(workers)
    ]
