"""Runs a query's pipeline over files, and writes what comes out."""

from __future__ import annotations

import numpy as np

from experiments.families.pipeline.loops import Functions, make_worker_loop
from experiments.families.pipeline.replay.inputs import Prepared, prepare
from experiments.families.pipeline.replay.request import Request
from experiments.families.pipeline.replay.writing import write
from experiments.timing import crew, machine
from experiments.timing.crew import Role, RunFailed
from operators import registry
from operators.contract import UsageError
from operators.core.layout import LINE_WORDS, aligned_words
from operators.pipeline.declare import TABLE_FULL
from operators.pipeline.stage import BUFFERS, WORKLISTS
from operators.pipeline.state import COUNT, PipelineState, Setting, make_state

# What a run begins with, and doubles when it was too little; nobody knows beforehand how many pairs
# there are. The last number is of words.
TABLE_ROWS, KEPT_OUTPUTS, MOST_WORDS = 1 << 10, 1 << 14, 1 << 29
# A run over files may take this long.
LIMIT_SECONDS = 86_400.0


def replay(request: Request) -> tuple[int, int]:
    """Run a request and return how many tuples went in and how many rows were written.

    Raises
    ------
    UsageError
        When a file is no good, or there are more different pairs than memory.
    RunFailed
        When a thread failed.
    """
    prepared = prepare(request)
    words = prepared.pipeline(1).operators[-1].outputs
    table_rows, kept = TABLE_ROWS, KEPT_OUTPUTS
    rows = np.zeros((0, words), dtype=np.int64)
    while len(prepared.records):
        state = _state(request, prepared, table_rows, kept * words)
        if not _run(request, prepared, state):
            table_rows *= 2
        elif state.sink.words[COUNT] > kept:
            kept = int(state.sink.words[COUNT])
        else:
            rows = state.sink.kept[: state.sink.words[COUNT] * words].reshape(-1, words)
            break
        if max(table_rows * request.settings["partitions"], kept * words) > MOST_WORDS:
            raise UsageError(
                f"{request.input} has more different pairs or outputs than fit into"
                f" {8 * MOST_WORDS} bytes; give fewer rows"
            )
    write(request, prepared, rows)
    return len(prepared.records), len(rows)


def _schedulers() -> list:
    return registry.variants("pipeline")


def _state(request: Request, prepared: Prepared, table_rows: int, kept_words: int) -> PipelineState:
    settings = request.settings
    return make_state(
        prepared.pipeline(table_rows),
        prepared.records,
        len(prepared.records),
        workers=settings["workers"],
        slots=settings["slots"],
        partitions=settings["partitions"],
        setting=Setting(WORKLISTS[settings["partition"]], BUFFERS[settings["reorder"]], 0),
        scheduler=[each.id for each in _schedulers()].index(request.scheduler),
        slice_ns=round(1_000 * settings["slice_us"]),
        window_ns=round(1_000 * settings["window_us"]),
        capacity=settings["capacity"],
        source_most=settings["source"],
        marker_every=len(prepared.records) + 1,
        kept_words=kept_words,
    )


def _run(request: Request, prepared: Prepared, state: PipelineState) -> bool:
    """Run the workers to the end; False where a table of keys was too small."""
    failures = registry.family("pipeline").failures
    choices = tuple(each.operations.choose for each in _schedulers())
    loop = make_worker_loop(Functions(prepared.pipeline(1)), choices)
    workers = request.settings["workers"]
    roles = [
        Role(f"worker {worker}", loop, (state, worker, aligned_words(LINE_WORDS)), output=True)
        for worker in range(workers)
    ]
    try:
        crew.run(
            roles,
            pin=workers <= machine.cores(),
            expected_seconds=1.0,
            limit_seconds=LIMIT_SECONDS,
            failures=failures,
        )
    except RunFailed as error:
        if failures[TABLE_FULL] in str(error):
            return False
        raise
    return True
