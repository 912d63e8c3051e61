"""The output thread of an aggregate.

The input threads and the update threads are those of ``operators.running.drivers``, which also says
how all of them end.
"""

from __future__ import annotations

from functools import cache

from operators.contract import END, NOT_READY, READY
from operators.core.atomics import RELAXED, load
from operators.core.jit import kernel
from operators.running.control import (
    STOP,
    STOP_MASK,
    close_block,
    end,
    fail,
    go_on,
    meet,
    open_block,
    wait_for_input,
)
from operators.running.drivers import LEAST_TUPLES

# A timed block of one winset says enough.
LEAST_WINSETS = 1


@cache
def make_output_loop(process, winsets=False, timed=False):
    """Return the kernel of an output thread over an aggregate's ``process``.

    Parameters
    ----------
    process : callable
        The aggregate's.
    winsets : bool
        Whether each of its steps is a winset: these are long, and the stop word is looked at after
        each. Otherwise a step is a tuple.
    timed : bool
        Whether it times blocks of its operations.

    Returns
    -------
    callable
        ``output_loop(control, own, state)``: processes until END, or until told to stop.
    """
    mask, least = (0, LEAST_WINSETS) if winsets else (STOP_MASK, LEAST_TUPLES)

    @kernel
    def output_loop(control, own, state):
        processed = 0
        round = 0
        status = NOT_READY
        if meet(control, own) != 0:
            if timed:
                open_block(control, own, 0)
            while status != END:
                status = process(state)
                if status == READY:
                    processed += 1
                    round = go_on(control, own, processed, round)
                    if processed & mask == 0:
                        if load(control, STOP, RELAXED) != 0:
                            break
                        if timed:
                            close_block(control, own, processed, least)
                            open_block(control, own, processed)
                elif status == NOT_READY:
                    if timed:
                        close_block(control, own, processed, least)
                    round = wait_for_input(control, own, round)
                    if load(control, STOP, RELAXED) != 0:
                        break
                    if timed:
                        open_block(control, own, processed)
                elif status != END:
                    fail(control, own, status)
                    break
            if timed:
                close_block(control, own, processed, least)
        end(control, own)

    return output_loop
