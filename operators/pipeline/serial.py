"""A pipeline run by one thread: each record through all operators before the next one enters.

The baseline of speed-ups, without queues or buffers, and, compiled, the expected output of every
parallel run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from operators.core.jit import inlined
from operators.core.work import matrix_work
from operators.pipeline.declare import (
    NO_SUCH_KEY,
    PARTITIONED,
    TABLE_FULL,
    Operator,
    Pipeline,
    no_flush,
)
from operators.pipeline.stage import NO_ROW, Stage, has_key, outputs_of, row_end, row_of
from operators.pipeline.state import SCRATCH, PipelineState, Sink, deliver


class SerialStage(NamedTuple):
    """The data of an operator in a serial run: the fields of `Stage` with these names."""

    inputs: int
    most: int
    row_words: int
    table_rows: int
    keys: int
    rows: np.ndarray
    row_starts: np.ndarray
    table: np.ndarray
    made: np.ndarray
    flushed: np.ndarray


class SerialState(NamedTuple):
    """The data of a pipeline in a serial run.

    Without queues, buffers or board: a kernel that passes them on takes four times as long to
    compile.
    """

    stages: tuple[SerialStage, ...]
    sink: Sink
    source: np.ndarray
    rows: int
    total: int
    products: int


def serial_state_of(state: PipelineState) -> SerialState:
    """Return the serial view of a state with one partition; the two share their arrays."""

    def lean(stage: Stage) -> SerialStage:
        return SerialStage(*(getattr(stage, name) for name in SerialStage._fields))

    stages = tuple(map(lean, state.stages))
    products = state.setting.products
    return SerialState(stages, state.sink, state.source, state.rows, state.total, products)


def make_run_serially(pipeline: Pipeline) -> Callable[..., int]:
    """Return ``run_serially(state)``, for a `SerialState`.

    It runs all records of the source and the flushes, and returns 0, or a failure.
    """
    # From the last operator to the first, since each calls the next one.
    enters = [_leaving(pipeline.operators[-1])]
    for place, operator in reversed(list(enumerate(pipeline.operators))):
        enters.insert(0, _entering(place, operator, enters[0]))
    first = enters[0]
    flush = _flushing(pipeline, enters)

    @inlined
    def run_serially(state: SerialState) -> int:
        inputs = state.stages[0].inputs
        for rank in range(state.total):
            status = first(state, state.source, (rank % state.rows) * inputs)
            if status < 0:
                return status
        return flush(state)

    return run_serially


def _leaving(operator: Operator) -> Callable[..., int]:
    outputs = operator.outputs

    @inlined
    def leave(state, words, begin):
        deliver(state.sink, outputs, words, begin, 0)
        return 0

    return leave


def _entering(place: int, operator: Operator, following: Callable[..., int]) -> Callable[..., int]:
    """Return ``enter(state, words, begin)``, by which a record enters this operator."""
    process, key_of = operator.process, operator.key
    partitioned, outputs = int(operator.kind == PARTITIONED), operator.outputs

    @inlined
    def enter(state, words, begin):
        stage = state.stages[place]
        record = words[begin : begin + stage.inputs]
        key = 0
        if partitioned:
            key = key_of(record)
            if not has_key(stage, key):
                return NO_SUCH_KEY
        row = row_of(stage, 0, key)
        if row == NO_ROW:
            return TABLE_FULL
        state_row = stage.rows[row : row_end(stage, row, key)]
        count = outputs_of(stage, process(record, state_row, stage.made))
        if count < 0:
            return count
        if state.products > 0:
            state.sink.words[SCRATCH] ^= matrix_work(begin, state.products)
        for number in range(count):
            status = following(state, stage.made, number * outputs)
            if status < 0:
                return status
        return 0

    return enter


def _flushing(pipeline: Pipeline, enters: list[Callable[..., int]]) -> Callable[..., int]:
    """Return ``flush(state)``, which flushes the operators in order."""

    def behind(place: int) -> Callable[..., int]:
        if place == len(pipeline.operators):

            @inlined
            def nothing(state):
                return 0

            return nothing
        operator, following, rest = pipeline.operators[place], enters[place + 1], behind(place + 1)
        if operator.flush is no_flush:
            # Otherwise the rest of the pipeline would be compiled once more, for nothing.
            return rest
        flush_key, outputs = operator.flush, operator.outputs

        @inlined
        def flush(state):
            stage = state.stages[place]
            for key in range(stage.keys):
                row = row_of(stage, 0, key)
                own = stage.rows[row : row_end(stage, row, key)]
                count = outputs_of(stage, flush_key(key, own, stage.flushed))
                if count < 0:
                    return count
                for number in range(count):
                    status = following(state, stage.flushed, number * outputs)
                    if status < 0:
                        return status
            return rest(state)

        return flush

    return behind(0)
