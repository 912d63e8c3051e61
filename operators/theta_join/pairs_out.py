"""The thread that takes pairs: a compiled loop that is left whenever its buffer is full.

Apart from the rest of the replay, so that the loop stays in the cache when only the reading or
writing of files changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, ROWS_FULL
from operators.core.atomics import RELAXED, load
from operators.core.jit import kernel
from operators.running.control import PROGRESS, STOP, end, go_on, wait_for_input
from operators.running.handover import hand_out, hand_over


class Sink(NamedTuple):
    """Where pairs go.

    ``append(keys)`` takes pairs as they come; behind the last one, what ``rest()`` yields of those
    that were kept until then is given to ``write``.
    """

    append: Callable[[np.ndarray], None]
    rest: Callable[[], Iterable[np.ndarray]]
    write: Callable[[np.ndarray], None]


@cache
def make_take_loop(get_output, seen, joins):
    """Return the kernel of the thread that takes pairs.

    Parameters
    ----------
    get_output, seen : callable
        The operator's.
    joins : bool
        Whether this thread is the one that joins: then it gets on without a pair, too.

    Returns
    -------
    callable
        ``take_loop(control, own, shared, thread, out, keys, taken)``: puts the keys of pairs into
        `keys` and says in ``taken[0]`` how many there are. ROWS_FULL when `keys` is full, END, a
        failure, or NOT_READY when told to stop.
    """

    @kernel
    def take_loop(control, own, shared, thread, out, keys, taken):
        progress = load(control, own + PROGRESS, RELAXED)
        count = 0
        round = 0
        status = READY
        before = 0
        while count < len(keys) and load(control, STOP, RELAXED) == 0:
            status = get_output(shared, thread, out)
            if status == READY:
                keys[count] = out[0]
                count += 1
                round = go_on(control, own, progress + count, round)
            elif status != NOT_READY:
                break
            else:
                moved = False
                if joins:
                    moved = seen(thread) != before
                    before = seen(thread)
                if moved:
                    progress += 1
                    round = go_on(control, own, progress + count, round)
                else:
                    round = wait_for_input(control, own, round)
        taken[0] = count
        if status == READY and count == len(keys):
            return ROWS_FULL
        return NOT_READY if status == READY else status

    return take_loop


def take_pairs(
    control: np.ndarray, own: int, take_loop: Any, arguments: tuple, keys: np.ndarray, sink: Sink
) -> None:
    """Run the thread that takes pairs to its end.

    Parameters
    ----------
    control, own
        As of any thread of a run.
    take_loop : callable
        As ``make_take_loop`` returns it.
    arguments : tuple
        Of the loop, `shared` to `out`.
    keys : int64 array
        Room for so many pairs.
    sink : Sink
    """
    taken = np.zeros(1, dtype=np.int64)

    def take() -> tuple[int, np.ndarray]:
        status = take_loop(control, own, *arguments, keys, taken)
        return status, keys[: int(taken[0])]

    if hand_out(control, own, take, sink.append) == END:
        hand_over(control, own, sink.rest(), sink.write)
    end(control, own)
