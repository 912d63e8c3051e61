"""The processor time of operations per thread, from the timed blocks of a run.

The expected highest rate of a variant follows from it (section 7.3 of the aggregation paper): a
billion over the larger of the output thread's time per tuple and an input thread's, which gets one
of as many tuples as there are input threads.

# ASSUME: the paper times operations by the clock, with a core for each thread. Here threads share
# cores, and the clock would time other threads' work too: processor time is taken. It leaves out
# the time a thread sleeps inside an operation, which happens only in MQ's mutex.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.core.atomics import thread_now
from operators.running.calibration import clock_cost_ns
from operators.running.control import PROGRESS, TIMED, TIMED_BLOCKS, TIMED_NS
from operators.running.run_threads import Outcome

OUTPUT = 0


class Durations(NamedTuple):
    """Processor time of a thread's operations, ns per tuple; None if no block was long enough.

    Attributes
    ----------
    input_ns : float or None
        Mean over the tuples that the input threads added.
    output_ns : float or None
        Sum over the output thread's operations, per input tuple.
    """

    input_ns: float | None
    output_ns: float | None


# The durations of a run that timed none.
NONE = Durations(None, None)


def of(outcome: Outcome, first_input: int, total: int) -> Durations:
    """Return the durations of a run of `total` tuples; the last threads are the input threads."""
    threads = len(outcome.cpu_ns)
    output = _step_ns(outcome, range(OUTPUT, OUTPUT + 1))
    if output is not None:
        # In some variants a step of the output thread is a winset.
        output *= float(outcome.words(PROGRESS, [OUTPUT])[0]) / total
    return Durations(_step_ns(outcome, range(first_input, threads)), output)


def _step_ns(outcome: Outcome, threads: range) -> float | None:
    steps = int(outcome.words(TIMED, threads).sum())
    if steps == 0:
        return None
    clocks = clock_cost_ns(thread_now) * int(outcome.words(TIMED_BLOCKS, threads).sum())
    spent = int(outcome.words(TIMED_NS, threads).sum()) - clocks
    # If nothing remains, the steps were too short to be resolved by the clock.
    return spent / steps if spent > 0 else None
