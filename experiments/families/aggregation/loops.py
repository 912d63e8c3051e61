"""The output thread of an aggregate.

The input and update threads are those of ``operators.running.drivers``, which also documents how
all threads wait and end.
"""

from __future__ import annotations

from functools import cache

from operators.contract import READY
from operators.core.jit import inlined
from operators.running.control import BLOCK_MASK, close_block, open_block, report
from operators.running.drivers import LEAST_TUPLES, make_driver, make_steps_loop

# A timed block of one winset is long enough.
LEAST_WINSETS = 1


@cache
def make_output_loop(process, winsets=False, timed=False):
    """Return the kernel of an output thread over an aggregate's ``process``.

    Parameters
    ----------
    process : callable
        The aggregate's operation.
    winsets : bool
        Whether a step is a winset; each winset is then a timed block. Otherwise a step is a tuple.
    timed : bool
        Whether to time blocks of operations.

    Returns
    -------
    callable
        ``output_loop(control, own, state)``: processes until END, or until stopped.
    """
    if not timed:
        return make_steps_loop(process)
    mask, least = (0, LEAST_WINSETS) if winsets else (BLOCK_MASK, LEAST_TUPLES)

    @inlined
    def begin(control, own, state):
        return 0, False

    @inlined
    def timed_turn(control, own, kept, state):
        processed, is_open = kept
        if not is_open:
            open_block(control, own, processed)
        status = process(state)
        if status == READY:
            processed += 1
            report(control, own, processed)
        # A block also ends when the thread has to wait.
        is_open = status == READY and processed & mask != 0
        if not is_open:
            close_block(control, own, processed, least)
        return status, (processed, is_open)

    return make_driver(timed_turn, begin)
