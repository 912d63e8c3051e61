"""How threads pass what comes out to Python while they run, and are compiled before they start."""

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
from operators.running.crew import Role

Piece = TypeVar("Piece")


@kernel
def wait_for_start(control, own):
    """Report ready and return the common start, 0 when told to stop."""
    return meet(control, own)


@kernel
def wait_for_due(control, own, due):
    """Wait for a time, in ns, and return when it is over; earlier when told to stop."""
    return wait_until(control, own, due)


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


def hand_out(
    control: np.ndarray,
    own: int,
    take: Callable[[], tuple[int, Piece]],
    append: Callable[[Piece], None],
) -> int:
    """Give to `append` what `take` returns, until that has no more.

    Parameters
    ----------
    control, own
        As of any thread of a run.
    take : callable
        Returns a status and a piece of the output: there is more after ROWS_FULL alone.
    append : callable

    Returns
    -------
    int
        The last status: END, NOT_READY when told to stop, or a failure, which is noted.
    """
    status = NOT_READY if wait_for_start(control, own) == 0 else ROWS_FULL
    while status == ROWS_FULL:
        status, piece = take()
        hand_over(control, own, [piece], append)
    if status not in (END, NOT_READY):
        fail(control, own, status)
    return status


def compile_roles(roles: Sequence[Role]) -> None:
    """Enter each kernel once with the very types of the run, and leave it at once.

    Here and not in the threads, since Ctrl-C cannot end a thread that compiles.
    """
    control = make_control(len(roles))
    store(control, GO, 1, RELEASE)
    store(control, STOP, 1, RELEASE)
    entered = set()
    for place, role in enumerate(roles):
        if role.kernel not in entered:
            role.kernel(control, block(place), *role.arguments)
            entered.add(role.kernel)
