"""What an operation costs the thread that makes it, from the blocks that a run has timed.

The expected highest rate of a variant follows from them (section 7.3 of the aggregation paper): a
billion over the longer of the output thread's time for a tuple and an input thread's, which has one
of so many tuples.

# ASSUME: the paper times operations by the clock, with a core for each thread. Here threads share
# cores, and the clock would time the others' work too: processor time is taken. It leaves out what
# a thread sleeps for inside an operation, which only MQ's mutex makes it do.
"""

from __future__ import annotations

from typing import NamedTuple

from operators.core.atomics import thread_now
from operators.running.calibration import clock_cost_ns
from operators.running.control import PROGRESS, TIMED, TIMED_BLOCKS, TIMED_NS
from operators.running.crew import Outcome

OUTPUT = 0


class Durations(NamedTuple):
    """Processor time of a thread's operations, ns per tuple; None where no block was long enough.

    Attributes
    ----------
    input_ns : float or None
        Mean over the tuples that the input threads added.
    output_ns : float or None
        Of all the output thread's operations, per input tuple.
    """

    input_ns: float | None
    output_ns: float | None


# Of a run that timed none.
NONE = Durations(None, None)


def of(outcome: Outcome, first_input: int, total: int) -> Durations:
    """Return the durations of a run of `total` tuples whose input threads are the last ones."""
    threads = len(outcome.cpu_ns)
    output = _step_ns(outcome, range(OUTPUT, OUTPUT + 1))
    if output is not None:
        # A step of the output thread is a winset in some variants.
        output *= float(outcome.words(PROGRESS, [OUTPUT])[0]) / total
    return Durations(_step_ns(outcome, range(first_input, threads)), output)


def _step_ns(outcome: Outcome, threads: range) -> float | None:
    steps = int(outcome.words(TIMED, threads).sum())
    if steps == 0:
        return None
    clocks = clock_cost_ns(thread_now) * int(outcome.words(TIMED_BLOCKS, threads).sum())
    spent = int(outcome.words(TIMED_NS, threads).sum()) - clocks
    # Nothing left: the steps were too short beside the clock to be told.
    return spent / steps if spent > 0 else None
