"""The output thread of an aggregate that keeps rows: it processes until they have to be taken.

Separate from ``run``, so that the compiled loop stays in the cache when only ``run`` changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from operators.aggregation.sink import WINSETS_FULL, take_log, take_rows
from operators.contract import ROWS_FULL
from operators.running import handover
from operators.running.control import end
from operators.running.drivers import make_counted_turn, make_visit
from operators.running.handover import hand_out

# So many averages take 0.07 s to compute: Ctrl-C may have to wait that long, plus the writing.
ROWS_AT_ONCE = 1 << 18


def make_drain_loop(process):
    """Return the kernel of an output thread that returns whenever the caller has to act.

    Parameters
    ----------
    process : callable
        The aggregate's operation.

    Returns
    -------
    callable
        ``drain_loop(control, own, state)``: processes until the status is neither READY nor
        NOT_READY and returns it, or NOT_READY when asked to stop.
    """
    return make_visit(make_counted_turn(process))


def hand_over(
    control: np.ndarray, own: int, rows: np.ndarray, append: Callable[[np.ndarray], None]
) -> None:
    """Give rows to `append` in blocks, until asked to stop.

    A winset may have millions of rows.
    """
    blocks = (rows[first : first + ROWS_AT_ONCE] for first in range(0, len(rows), ROWS_AT_ONCE))
    handover.hand_over(control, own, blocks, append)


def drain(
    control: np.ndarray, own: int, state: Any, process, append: Callable[[np.ndarray], None]
) -> None:
    """Run an output thread to the end, giving the rows, int64 (rows, 5), to `append`.

    A full winset log is emptied like a full row buffer: it is not read here.
    """
    sink = state.windows.sink
    drain_loop = make_drain_loop(process)

    def take() -> tuple[int, np.ndarray]:
        status = drain_loop(control, own, state)
        rows, log = take_rows(sink), take_log(sink)
        # If the log was empty, the window state is full: going on is useless.
        if status == WINSETS_FULL and len(log.digest):
            status = ROWS_FULL
        return status, rows

    hand_out(control, own, take, lambda rows: hand_over(control, own, rows, append))
    end(control, own)
