"""Runners of pipelines in tests: the bench's kernels, into which each query is compiled once."""

from __future__ import annotations

import numpy as np

from operators import registry
from operators.pipeline.declare import Pipeline
from operators.pipeline.loops import Functions, make_serial_loop
from operators.pipeline.run import workers_of
from operators.pipeline.serial import serial_state_of
from operators.pipeline.state import COUNT, PipelineState, Setting, make_state
from operators.running import run_threads

FAILURES = registry.family("pipeline").failures


def state_of(pipeline: Pipeline, records: np.ndarray, outputs: int, **given) -> PipelineState:
    """Return the state of a run that keeps up to `outputs` outputs."""
    settings = {
        "workers": 1,
        "slots": 16,
        "partitions": 5,
        "setting": Setting(0, 0, 0),
        "scheduler": 0,
        "slice_ns": 20_000,
        "window_ns": 1_000_000,
        "capacity": 64,
        "source_most": 1 << 20,
        "marker_every": 7,
        "kept_words": outputs * pipeline.operators[-1].outputs,
    }
    return make_state(pipeline, records, len(records), **(settings | given))


def kept(state: PipelineState, words: int) -> list[tuple[int, ...]]:
    """Return the outputs of a run."""
    count = int(state.sink.words[COUNT])
    assert count * words <= len(state.sink.kept), f"{count} outputs are more than were asked for"
    return [tuple(map(int, row)) for row in state.sink.kept[: count * words].reshape(-1, words)]


def run_state(functions: Functions, state: PipelineState, workers: int, **limits: float) -> None:
    """Run workers to the end, with the limits and errors of ``run_threads.run``."""
    roles = workers_of(functions, state, workers)
    limits = {"limit_seconds": 60, **limits}
    run_threads.run(roles, pin=False, expected_seconds=0.1, failures=FAILURES, **limits)


def run_in_threads(
    functions: Functions, records: np.ndarray, outputs: int, **given
) -> list[tuple[int, ...]]:
    """Run a pipeline with workers and return the outputs."""
    state = state_of(functions.pipeline, records, outputs, **given)
    run_state(functions, state, given.get("workers", 1))
    return kept(state, functions.pipeline.operators[-1].outputs)


def run_serial_kernel(
    functions: Functions, records: np.ndarray, outputs: int
) -> list[tuple[int, ...]]:
    """Run a pipeline serially, compiled, and return the outputs."""
    state = state_of(functions.pipeline, records, outputs, partitions=1)
    out = np.zeros(1, dtype=np.int64)
    make_serial_loop(functions)(serial_state_of(state), out)
    assert out[0] == 0, f"the serial run answered {int(out[0])}"
    return kept(state, functions.pipeline.operators[-1].outputs)
