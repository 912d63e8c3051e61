"""The output thread of a replay, outside of compiled loops: how it begins, and hands rows over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from experiments.timing.control import HANDING_OVER, RUNNING, STATE, STOP, meet
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import kernel

Piece = TypeVar("Piece")


@kernel
def wait_for_start(control, own):
    """Report ready and return the common start, 0 when told to stop."""
    return meet(control, own)


def hand_over(
    control: np.ndarray, own: int, pieces: Iterable[Piece], append: Callable[[Piece], None]
) -> None:
    """Give pieces of the output to `append`, until told to stop.

    All of them may take longer to write than a thread may go without progress, so it says what it
    does. Each is small enough that Ctrl-C may wait for it.
    """
    store(control, own + STATE, HANDING_OVER, RELAXED)
    for piece in pieces:
        if load(control, STOP, RELAXED) != 0:
            return
        append(piece)
    store(control, own + STATE, RUNNING, RELAXED)
