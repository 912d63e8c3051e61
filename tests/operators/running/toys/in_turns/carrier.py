"""A carrier without threads: it offers the rows of a batch and takes steps, in turns.

The operator's state persists: a batch continues where the previous one stopped. The operator is the
same as the one that threads run, without additional operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.jit import inlined
from operators.running.control import block, make_control
from operators.running.drivers import from_zero, make_visit


class Batch(NamedTuple):
    """Rows in the order of their arrival, of all streams together."""

    streams: np.ndarray
    timestamps: np.ndarray
    keys: np.ndarray
    values: np.ndarray


@cache
def make_carry(add, step):
    """Return the kernel that carries a batch into an operator, as far as the operator can step.

    ``carry(control, own, state, batch)`` returns END when every row was taken and no further step
    is possible, or a failure.
    """

    @inlined
    def turn(control, own, row, state, batch):
        if row < len(batch.values):
            status = add(
                state, batch.streams[row], batch.timestamps[row], batch.keys[row],
                batch.values[row],
            )  # fmt: skip
            if status == ACCEPTED:
                return READY, row + 1
            if status != FULL:
                return status, row
        status = step(state)
        if status == NOT_READY:
            # There is no other thread, so waiting is useless.
            return END, row
        return status, row

    return make_visit(turn, from_zero)


class Carrier:
    """An operator's state, and the operations that rows go through.

    Parameters
    ----------
    state
        As the operator makes it.
    add, close, step : callable
        The operator's: ``add(state, stream, timestamp, key, value)``, ``close(state, stream)`` and
        ``step(state)``.
    """

    def __init__(self, state: Any, add: Callable, close: Callable, step: Callable) -> None:
        self.state = state
        self._close = close
        self._carry = make_carry(add, step)
        self._control = make_control(1)

    def carry(self, batch: Batch) -> None:
        """Carry the rows of a batch, as far as they can be processed."""
        status = self._carry(self._control, block(0), self.state, batch)
        if status != END:
            raise RuntimeError(f"an operation answered {status}")

    def end(self, streams: int) -> None:
        """Close every stream, and process the rest."""
        for stream in range(streams):
            if self._close(self.state, stream) != ACCEPTED:
                raise RuntimeError(f"stream {stream} was not closed")
        none = np.zeros(0, dtype=np.int64)
        self.carry(Batch(none, none, none, none))
