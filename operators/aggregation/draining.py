"""The output thread of an aggregate whose rows are kept: it processes until they have to be taken.

Apart from ``run``, so that the compiled loop stays in the cache when only that changes.
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

# As many averages take 0.07 s to compute: so long, and for the writing, Ctrl-C may have to wait.
ROWS_AT_ONCE = 1 << 18


def make_drain_loop(process):
    """Return the kernel of an output thread that is left whenever the caller has to act.

    Parameters
    ----------
    process : callable
        The aggregate's.

    Returns
    -------
    callable
        ``drain_loop(control, own, state)``: processes until the status is neither READY nor
        NOT_READY and returns it, or NOT_READY when told to stop.
    """
    return make_visit(make_counted_turn(process))


def hand_over(
    control: np.ndarray, own: int, rows: np.ndarray, append: Callable[[np.ndarray], None]
) -> None:
    """Give rows to `append` in blocks, until told to stop.

    A winset may have millions of rows.
    """
    blocks = (rows[first : first + ROWS_AT_ONCE] for first in range(0, len(rows), ROWS_AT_ONCE))
    handover.hand_over(control, own, blocks, append)


def drain(
    control: np.ndarray, own: int, state: Any, process, append: Callable[[np.ndarray], None]
) -> None:
    """Run an output thread to its end, giving its rows, int64 (rows, 5), to `append`.

    A full winset log is emptied as a full row buffer is: nobody reads it here.
    """
    sink = state.windows.sink
    drain_loop = make_drain_loop(process)

    def take() -> tuple[int, np.ndarray]:
        status = drain_loop(control, own, state)
        rows, log = take_rows(sink), take_log(sink)
        # Where the log was empty the window state has no room: no use to go on.
        if status == WINSETS_FULL and len(log.digest):
            status = ROWS_FULL
        return status, rows

    hand_out(control, own, take, lambda rows: hand_over(control, own, rows, append))
    end(control, own)
