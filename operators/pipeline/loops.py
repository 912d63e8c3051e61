"""The worker of a pipeline bench: one turn after the other, until everything came out."""

from __future__ import annotations

from functools import cache

from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined, kernel
from operators.pipeline.declare import Pipeline
from operators.pipeline.runtime import make_work_once
from operators.pipeline.serial import make_run_serially
from operators.pipeline.stage import next_serial
from operators.pipeline.state import GO
from operators.running.control import BLOCKS, PROGRESS, pass_marks
from operators.running.control import GO as COMMON_START
from operators.running.drivers import make_driver


@cache
def make_worker_loop(pipeline_functions, schedulers):
    """Return the kernel of a worker.

    Parameters
    ----------
    pipeline_functions : Functions
        The pipeline, by its functions alone: its tables are of the run.
    schedulers : tuple of callable
        The ``choose`` of each scheduler.

    Returns
    -------
    callable
        ``worker_loop(control, own, state, worker, out)``
    """
    work_once = make_work_once(pipeline_functions.pipeline, schedulers)

    @inlined
    def begin(control, own, state, worker, out):
        # RELAXED: each worker writes the same number, and reads it itself.
        store(state.pace.words, GO, load(control, COMMON_START, RELAXED), RELAXED)
        return 0

    @inlined
    def work(control, own, turns, state, worker, out):
        status = work_once(state, worker, out)
        turns += 1
        # Tuples whose outputs have left the first operator: all those before are through it.
        # Any worker notes the measured part, since one of many may be off its core.
        sent = next_serial(state.stages[0], state.setting.buffer) - 1
        pass_marks(control, BLOCKS, sent)
        store(control, own + PROGRESS, sent if own == BLOCKS else turns, RELAXED)
        return status, turns

    return make_driver(work, begin)


@cache
def make_serial_loop(pipeline_functions):
    """Return the kernel that runs a pipeline serially: ``serial_loop(serial_state, out)``."""
    run_serially = make_run_serially(pipeline_functions.pipeline)

    @kernel
    def serial_loop(state, out):
        out[0] = run_serially(state)

    return serial_loop


class Functions:
    """A pipeline as its functions: two of one query are equal, whatever their tables hold."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._key = (
            pipeline.name,
            tuple((o.process, o.key, o.flush, o.kind, o.outputs) for o in pipeline.operators),
        )

    def __hash__(self) -> int:
        """Return a hash of the functions."""
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        """Say whether another has the same functions."""
        return isinstance(other, Functions) and self._key == other._key
