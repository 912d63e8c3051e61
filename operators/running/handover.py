"""Passes output from running threads to Python, and compiles their kernels before they start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from operators.contract import END, NOT_READY, ROWS_FULL
from operators.core.atomics import RELAXED, RELEASE, load, store
from operators.core.jit import kernel
from operators.running.control import (
    GO,
    HANDING_OVER,
    RUNNING,
    STATE,
    STOP,
    block,
    fail,
    make_control,
    meet,
    wait_until,
)
from operators.running.run_threads import Role

Piece = TypeVar("Piece")


@kernel
def wait_for_start(control, own):
    """Report ready, wait for the common start and return its time; 0 if stopped before."""
    return meet(control, own)


@kernel
def wait_for_due(control, own, due):
    """Wait until a time, in ns, and return the current time; returns earlier if stopped."""
    return wait_until(control, own, due)


def hand_over(
    control: np.ndarray, own: int, pieces: Iterable[Piece], append: Callable[[Piece], None]
) -> None:
    """Give pieces of the output to `append`, until stopped.

    Writing all of them may take longer than the watchdog allows without progress, so the thread
    sets its state. Each piece is small enough that Ctrl-C can wait for it.
    """
    store(control, own + STATE, HANDING_OVER, RELAXED)
    for piece in pieces:
        if load(control, STOP, RELAXED) != 0:
            return
        append(piece)
    store(control, own + STATE, RUNNING, RELAXED)


def hand_out(
    control: np.ndarray,
    own: int,
    take: Callable[[], tuple[int, Piece]],
    append: Callable[[Piece], None],
) -> int:
    """Give the pieces that `take` returns to `append`, until there are no more.

    Parameters
    ----------
    control, own
        As for every thread of a run.
    take : callable
        Returns a status and a piece of the output: only after ROWS_FULL there is more.
    append : callable

    Returns
    -------
    int
        The last status: END, NOT_READY if stopped, or a failure, which is recorded.
    """
    status = NOT_READY if wait_for_start(control, own) == 0 else ROWS_FULL
    while status == ROWS_FULL:
        status, piece = take()
        hand_over(control, own, [piece], append)
    if status not in (END, NOT_READY):
        fail(control, own, status)
    return status


def compile_roles(roles: Sequence[Role]) -> None:
    """Compile each kernel by one call that ends at once, with the argument types of the run.

    In the calling thread, since Ctrl-C cannot end a thread that compiles.
    """
    control = make_control(len(roles))
    store(control, GO, 1, RELEASE)
    store(control, STOP, 1, RELEASE)
    entered = set()
    for place, role in enumerate(roles):
        if role.kernel not in entered:
            role.kernel(control, block(place), *role.arguments)
            entered.add(role.kernel)
