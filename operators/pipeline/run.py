"""Runs a pipeline: makes the state from the settings of the family, and starts the workers.

``run_pipeline`` runs a user's pipeline (`operators.pipeline.declare`) over an array of records::

    from operators.pipeline.run import run_pipeline
    from operators.pipeline.queries import fraud

    found = run_pipeline(fraud.make(425, 300, phones=1000), calls, workers=4, scheduler="lp")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import UsageError, Variant, whole
from operators.core.layout import LINE_WORDS, aligned_words
from operators.partition.shape import PARTITIONS_OF_WORKERS
from operators.pipeline.blocks.deciding import Decision, decide
from operators.pipeline.blocks.run import workers_in_blocks
from operators.pipeline.blocks.sending import Schedule
from operators.pipeline.blocks.state import BY_THE_WALK, BlocksState, make_blocks_state
from operators.pipeline.board import NOBODY
from operators.pipeline.columns import COMPARED_RECORDS, check_columns
from operators.pipeline.declare import MOST_STATE_WORDS, Pipeline
from operators.pipeline.family import BLOCKS, OF_PARAMETRIC, SCHEDULER
from operators.pipeline.loops import Functions, make_worker_loop
from operators.pipeline.stage import BUFFERS, CURSOR, FINISHING, WORKLISTS
from operators.pipeline.state import (
    COUNT,
    PLACE,
    WORKER_WORDS,
    PipelineState,
    Setting,
    make_state,
)
from operators.running.calibration import products_of
from operators.running.library import checked_integers, checked_seconds, run_to_the_end
from operators.running.run_threads import STALL_SECONDS, Counts, Role

MOST_OUTPUTS = 1 << 20


def partitions_of(settings: Mapping[str, Any]) -> int:
    """Return the number of partitions of each partitioned operator.

    The partitioned queue has at most as many as there are workers (section 7.2.1), since one worker
    alone serves a partition.
    """
    queue = registry.variant("partition", settings["partition"])
    if PARTITIONS_OF_WORKERS in queue.parameters:
        return min(settings["partitions"], settings["workers"])
    return settings["partitions"]


def capacity_of(settings: Mapping[str, Any]) -> int:
    """Return QST's capacity of the system (equation 1): as given, or derived from the slots.

    # ASSUME: the paper does not say how large C is, and its worklists seem to be unbounded. Here
    # the slots of an operator bound them, and a threshold that a worklist cannot reach decides
    # nothing. So C is a quarter of the slots unless given: above a threshold there is still room
    # for the outputs of a turn.

    Raises
    ------
    UsageError
        When a threshold could exceed the capacity of a worklist.
    """
    slots, capacity = settings["slots"], settings["capacity"]
    if capacity > slots:
        raise UsageError(
            f"capacity must be at most slots, {slots} here, received {capacity}: a worklist holds"
            " no more tuples than that, and a threshold above never decides; give less, or more"
            " slots"
        )
    return capacity or max(slots // 4, 1)


@cache
def _schedulers() -> tuple[Variant, ...]:
    """Return the schedulers, in the order of their numbers."""
    return tuple(registry.variants("pipeline"))


def _number_of(scheduler: str) -> int:
    return [each.id for each in _schedulers()].index(scheduler)


def _schedule_of(scheduler: str, settings: Mapping[str, Any], in_flight: int) -> Schedule:
    """Return what sends workers to blocks: a scheduler, or the walk.

    # ASSUME: QST's capacity of the system is a quarter of the blocks in flight, unless it is given,
    # in tuples: then as many blocks.
    """
    if settings["walk"] != SCHEDULER:
        return BY_THE_WALK
    capacity = settings["capacity"] // settings["block"] or in_flight // 4
    return Schedule(
        _number_of(scheduler),
        *(round(1_000 * settings[name]) for name in ("slice_us", "window_us")),
        max(capacity, 1),
    )


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
    stall_seconds: float | None = None,
    decided: Decision | None = None,
) -> PipelineState | BlocksState:
    """Return the state of a run; raises like ``make_state``, ``capacity_of``, ``check_columns``.

    Parameters
    ----------
    pipeline, records, total, marker_every, period_ns, kept_words
        As for ``make_state``.
    scheduler : str
        Id of a variant.
    settings : mapping
        Every setting of the family by name.
    stall_seconds : float, optional
        As for ``run_pipeline``.
    decided : Decision, optional
        From ``decision_for`` with these settings; by default it is decided here.
    """
    if settings["form"] == BLOCKS:
        check_columns(pipeline, records[:COMPARED_RECORDS])
        decision = decided or decision_for(pipeline, records, settings, stall_seconds)
        return make_blocks_state(
            pipeline,
            records,
            total,
            workers=settings["workers"],
            block=settings["block"],
            **decision._asdict(),
            schedule=_schedule_of(scheduler, settings, decision.in_flight),
            ranged=settings["split"] == "range",
            marker_every=marker_every,
            period_ns=period_ns,
            kept_words=kept_words,
            **_given_by(settings),
        )
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
        scheduler=_number_of(scheduler),
        slice_ns=round(1_000 * settings["slice_us"]),
        window_ns=round(1_000 * settings["window_us"]),
        capacity=capacity_of(settings),
        source_most=settings["source"],
        marker_every=marker_every,
        period_ns=period_ns,
        kept_words=kept_words,
    )


def _given_by(settings: Mapping[str, Any]) -> dict[str, int]:
    return {"tables": partitions_of(settings), "products": products_of(settings["added_us"])}


def decision_for(
    pipeline: Pipeline,
    records: np.ndarray,
    settings: Mapping[str, Any],
    stall_seconds: float | None = None,
) -> Decision:
    """Return how a run in blocks goes; arguments as for ``state_of``, and more in ``decide``."""
    return decide(pipeline, records, settings, _given_by(settings), stall_seconds)


def workers_of(
    functions: Functions, state: PipelineState | BlocksState, workers: int
) -> list[Role]:
    """Return the threads of a run; the first one reports the run's progress."""
    choose = tuple(each.operations.choose for each in _schedulers())
    if isinstance(state, BlocksState):
        return workers_in_blocks(functions, state, choose)
    loop = make_worker_loop(functions, choose)
    names = [operator.name for operator in functions.pipeline.operators]

    def role(worker: int) -> Role:
        out = aligned_words(LINE_WORDS)
        return Role(
            f"worker {worker}",
            loop,
            (state, worker, out),
            output=True,
            counts=Counts.NOTHING if worker else Counts.EVERY_TUPLE,
            doing=lambda: _doing(state, names, worker, int(out[1])),
        )

    return [role(worker) for worker in range(workers)]


def _doing(state: PipelineState, names: Sequence[str], worker: int, record: int) -> str:
    """Describe the activity of a worker in a stalled run; `record` is the worker's last record."""
    place = int(state.workers[worker * WORKER_WORDS + PLACE])
    if place != NOBODY:
        return f"sent to operator {names[place]!r}; its last record was number {record} there"
    flushed = [
        f"; {name!r} is being flushed, at key {stage.words[CURSOR]}"
        for name, stage in zip(names, state.stages, strict=True)
        if stage.words[FINISHING]
    ]
    return "sent nowhere" + "".join(flushed)


def run(
    functions: Functions,
    state: PipelineState | BlocksState,
    total: int,
    workers: int,
    stall_seconds: float | None = None,
) -> None:
    """Run a pipeline over `total` records to its end, with a number of workers.

    `stall_seconds` is as for ``run_pipeline``.

    Raises
    ------
    run_threads.RunFailed
        When an operator has no room for a record, a thread failed, or no thread made progress.
    """
    roles = workers_of(functions, state, workers)
    # Compiled on the state of the run itself: a worker that is stopped at once takes no record, and
    # the start time that it notes is overwritten.
    failures = registry.family("pipeline").failures
    run_to_the_end(roles, roles, total, failures, stall_seconds)


def run_pipeline(
    pipeline: Pipeline,
    records: ArrayLike,
    *,
    scheduler: str = "ct",
    most_outputs: int = MOST_OUTPUTS,
    stall_seconds: float = STALL_SECONDS,
    **settings: Any,
) -> np.ndarray:
    """Run a pipeline over records and return the outputs, in the order of a serial run.

    Parameters
    ----------
    pipeline : Pipeline
    records : array_like of int, (rows, pipeline.inputs)
        In the order of arrival.
    scheduler : str
        Id of a variant: qst, lp, et, ct or ct-as-printed.
    most_outputs : int
        Maximal number of outputs.
    stall_seconds : float
        The longest time without progress of any thread: longer than a function of an operator may
        take for one record.
    **settings
        Settings of the family by name, such as workers, slots, partitions, partition, reorder and
        slice_us; with ``form="blocks"`` also block, parts and walk.

    Returns
    -------
    int64 array (outputs, words of the last operator)

    Raises
    ------
    UsageError
        When the pipeline, the records or a setting is invalid, or there are more outputs.
    run_threads.RunFailed
        When an operator has no room for a record, a thread failed, or no thread made progress.
    """
    if not isinstance(pipeline, Pipeline):
        raise UsageError(f"a pipeline is a Pipeline, received {type(pipeline).__name__}")
    pipeline.check()
    records = checked_integers(f"records of pipeline {pipeline.name}", records, pipeline.inputs)
    stall_seconds = checked_seconds("stall_seconds", stall_seconds)
    of_queries = {"query", *(each.name for each in OF_PARAMETRIC)} & settings.keys()
    if of_queries:
        raise UsageError(
            f"{min(of_queries)} is a setting of queries and was given for pipeline {pipeline.name};"
            " leave it out"
        )
    words = pipeline.operators[-1].outputs
    most_outputs = whole("most_outputs", most_outputs)
    if not 0 <= most_outputs <= MOST_STATE_WORDS // words:
        raise UsageError(
            f"most_outputs must be between 0 and {MOST_STATE_WORDS // words} of {words} words,"
            f" received {most_outputs}"
        )
    known = registry.family("pipeline").resolve(registry.variant("pipeline", scheduler), settings)
    total = len(records)
    state = state_of(pipeline, records, total, scheduler, known, marker_every=total + 1,
                     kept_words=most_outputs * words, stall_seconds=stall_seconds)  # fmt: skip
    run(Functions(pipeline), state, total, known["workers"], stall_seconds)
    count = int(state.sink.words[COUNT])
    if count > most_outputs:
        raise UsageError(
            f"pipeline {pipeline.name} put out {count} records, and there was room for"
            f" {most_outputs}; give most_outputs={count}"
        )
    return state.sink.kept[: count * words].reshape(count, words).copy()
