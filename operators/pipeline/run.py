"""A run of a pipeline: its state, from the settings of the family, and its workers.

``run_pipeline`` runs one of your own (`operators.pipeline.declare`) over an array of records::

    from operators.pipeline.run import run_pipeline
    from operators.pipeline.queries import fraud

    found = run_pipeline(fraud.make(425, 300, phones=1000), calls, workers=4, scheduler="lp")
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import UsageError, Variant
from operators.core.layout import LINE_WORDS, aligned_words
from operators.partition.shape import PARTITIONS_OF_WORKERS
from operators.pipeline.declare import Pipeline
from operators.pipeline.family import OF_PARAMETRIC
from operators.pipeline.loops import Functions, make_worker_loop
from operators.pipeline.stage import BUFFERS, WORKLISTS
from operators.pipeline.state import COUNT, PipelineState, Setting, make_state
from operators.running.calibration import products_of
from operators.running.crew import Counts, Role
from operators.running.library import checked_integers, run_to_the_end

MOST_OUTPUTS = 1 << 20


def partitions_of(settings: Mapping[str, Any]) -> int:
    """Return the partitions of each partitioned operator.

    Those of the partitioned queue are no more than its workers (section 7.2.1): who serves a
    partition does so alone.
    """
    queue = registry.variant("partition", settings["partition"])
    if PARTITIONS_OF_WORKERS in queue.parameters:
        return min(settings["partitions"], settings["workers"])
    return settings["partitions"]


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
    period_ns: float = 0.0,
    kept_words: int = 0,
) -> PipelineState:
    """Return the state of a run; raises as ``operators.pipeline.state.make_state`` does.

    Parameters
    ----------
    pipeline, records, total, marker_every, period_ns, kept_words
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
        partitions=partitions_of(settings),
        setting=Setting(
            WORKLISTS[settings["partition"]],
            BUFFERS[settings["reorder"]],
            int(settings["split"] == "range"),
            products_of(settings["added_us"]),
        ),
        scheduler=[each.id for each in _schedulers()].index(scheduler),
        slice_ns=round(1_000 * settings["slice_us"]),
        window_ns=round(1_000 * settings["window_us"]),
        capacity=settings["capacity"],
        source_most=settings["source"],
        marker_every=marker_every,
        period_ns=period_ns,
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
            counts=Counts.NOTHING if worker else Counts.EVERY_TUPLE,
        )
        for worker in range(workers)
    ]


def run(functions: Functions, state: PipelineState, total: int, workers: int) -> None:
    """Run a pipeline over so many records to its end, with so many workers.

    Raises
    ------
    crew.RunFailed
        When an operator has no room for a record, or a thread failed.
    """
    roles = workers_of(functions, state, workers)
    # They are compiled on the state of the run itself: a worker that is stopped at once takes no
    # record, and what it notes as the start is written again.
    run_to_the_end(roles, roles, total, registry.family("pipeline").failures)


def run_pipeline(
    pipeline: Pipeline,
    records: ArrayLike,
    *,
    scheduler: str = "ct",
    most_outputs: int = MOST_OUTPUTS,
    **settings: Any,
) -> np.ndarray:
    """Run a pipeline over records and return what comes out, in the order of a serial run.

    Parameters
    ----------
    pipeline : Pipeline
    records : array_like of int, (rows, pipeline.inputs)
        In the order of arrival.
    scheduler : str
        Id of a variant: qst, lp, et, ct or ct-as-printed.
    most_outputs : int
        Outputs there is room for.
    **settings
        Of the family by name: workers, slots, partitions, partition, reorder, slice_us, ...

    Returns
    -------
    int64 array (outputs, words of the last operator)

    Raises
    ------
    UsageError
        When pipeline, records or a setting are no good, or there are more outputs.
    crew.RunFailed
        When an operator has no room for a record, or a thread failed.
    """
    pipeline.check()
    records = checked_integers(f"records of pipeline {pipeline.name}", records, pipeline.inputs)
    of_queries = {"query", *(each.name for each in OF_PARAMETRIC)} & settings.keys()
    if of_queries:
        raise UsageError(
            f"{min(of_queries)} is a setting of queries and was given for pipeline {pipeline.name};"
            " leave it out"
        )
    words = pipeline.operators[-1].outputs
    known = registry.family("pipeline").resolve(registry.variant("pipeline", scheduler), settings)
    total = len(records)
    state = state_of(pipeline, records, total, scheduler, known, marker_every=total + 1,
                     kept_words=most_outputs * words)  # fmt: skip
    run(Functions(pipeline), state, total, known["workers"])
    count = int(state.sink.words[COUNT])
    if count > most_outputs:
        raise UsageError(
            f"pipeline {pipeline.name} put out {count} records, and there was room for"
            f" {most_outputs}; give most_outputs={count}"
        )
    return state.sink.kept[: count * words].reshape(count, words).copy()
