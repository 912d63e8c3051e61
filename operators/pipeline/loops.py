"""The worker of a pipeline bench: takes turns until all outputs have left the pipeline."""

from __future__ import annotations

from functools import cache

from operators.contract import READY
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined, kernel
from operators.pipeline.declare import Pipeline
from operators.pipeline.runtime import make_work_once
from operators.pipeline.serial import make_run_serially
from operators.pipeline.stage import next_serial
from operators.pipeline.state import GO
from operators.running.control import BLOCKS, PROGRESS, act, pass_marks
from operators.running.control import GO as COMMON_START
from operators.running.drivers import make_driver


@cache
def make_worker_loop(pipeline_functions, schedulers):
    """Return the kernel of a worker.

    Parameters
    ----------
    pipeline_functions : Functions
        The pipeline, identified by its functions alone: the tables belong to the run.
    schedulers : tuple of callable
        The ``choose`` of each scheduler.

    Returns
    -------
    callable
        ``worker_loop(control, own, state, worker, out)``
    """
    work_once = make_work_once(pipeline_functions.pipeline, schedulers)

    @inlined
    def passed(state):
        # Tuples whose outputs have left the first operator, and therefore all tuples before them.
        return next_serial(state.stages[0], state.setting.buffer) - 1

    return loop_of_turns(work_once, passed)


def loop_of_turns(turn, passed):
    """Return the kernel of a worker: ``loop(control, own, state, worker, out)``.

    Parameters
    ----------
    turn : callable
        ``turn(control, own, state, worker, out)``, READY where it did something.
    passed : callable
        ``passed(state)``, the number of tuples that have passed where progress is counted.
    """

    @inlined
    def begin(control, own, state, worker, out):
        # RELAXED: each worker writes the same number, and only reads its own write.
        store(state.pace.words, GO, load(control, COMMON_START, RELAXED), RELAXED)
        return 0

    @inlined
    def work(control, own, turns, state, worker, out):
        status = turn(control, own, state, worker, out)
        if status == READY:
            # A turn without work is no progress: workers that all wait would wait forever.
            turns += 1
            act(control, own)
        # Any worker notes the measured part, since one of many may have lost the core.
        count = passed(state)
        pass_marks(control, BLOCKS, count)
        store(control, own + PROGRESS, count if own == BLOCKS else turns, RELAXED)
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
    """A pipeline as its functions: two of one query are equal, whatever their tables contain."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._key = (
            pipeline.name,
            tuple(
                (o.process, o.process_columns, o.key, o.flush, o.kind, o.outputs)
                for o in pipeline.operators
            ),
        )

    def __hash__(self) -> int:
        """Return a hash of the functions."""
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        """Return whether another pipeline has the same functions."""
        return isinstance(other, Functions) and self._key == other._key
