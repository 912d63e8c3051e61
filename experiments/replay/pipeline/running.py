"""Runs a query's pipeline over files, and writes the output."""

from __future__ import annotations

import numpy as np

from experiments.replay import stages
from experiments.replay.command import Replayed
from experiments.replay.pipeline.inputs import Prepared, prepare
from experiments.replay.pipeline.request import Request
from experiments.replay.pipeline.writing import write
from operators.contract import UsageError
from operators.pipeline.blocks.state import BlocksState
from operators.pipeline.declare import TABLE_FULL
from operators.pipeline.loops import Functions
from operators.pipeline.run import run, state_of
from operators.pipeline.state import COUNT, PipelineState
from operators.running.run_threads import RunFailed

# Initial sizes of a run, doubled or raised if too small, since the number of pairs is unknown
# beforehand. The last number is a limit, in words.
TABLE_ROWS, KEPT_OUTPUTS, MOST_WORDS = 1 << 10, 1 << 14, 1 << 29


def replay(request: Request) -> Replayed:
    """Run a request and return the numbers of tuples read, rows written and rows set aside.

    Raises
    ------
    UsageError
        When a file is unusable, or there are more different pairs than fit in memory.
    RunFailed
        When a thread failed.
    """
    clock = stages.current()
    clock.enter(stages.READ)
    prepared = prepare(request)
    clock.enter(stages.RUN)
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
    clock.enter(stages.WRITE)
    written = write(request, prepared, rows)
    return Replayed(len(prepared.records), written, len(prepared.rejected))


def _state(
    request: Request, prepared: Prepared, table_rows: int, kept_words: int
) -> PipelineState | BlocksState:
    total = len(prepared.records)
    return state_of(
        prepared.pipeline(table_rows),
        prepared.records,
        total,
        request.scheduler,
        request.settings,
        marker_every=total + 1,
        kept_words=kept_words,
    )


def _run(request: Request, prepared: Prepared, state: PipelineState | BlocksState) -> bool:
    """Run the workers to the end; return False if a table of keys was too small."""
    try:
        total, workers = len(prepared.records), request.settings["workers"]
        run(Functions(prepared.pipeline(1)), state, total, workers)
    except RunFailed as error:
        if error.status != TABLE_FULL:
            raise
        return False
    return True
