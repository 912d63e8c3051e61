"""The thread that takes pairs: a compiled loop that returns whenever the buffer is full.

It is separate from ``run``, so that the compiled loop stays cached when only that module changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, ROWS_FULL
from operators.core.jit import inlined
from operators.running.control import end, report
from operators.running.drivers import from_progress, make_visit
from operators.running.handover import hand_out, hand_over


class Sink(NamedTuple):
    """The destination of pairs.

    ``append(keys)`` takes pairs as they come; after the last one, ``rest()`` yields those that were
    kept until then, for ``write``.
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
        Those of the operator.
    joins : bool
        Whether this thread also joins, and so progresses without a pair, too.

    Returns
    -------
    callable
        ``take_loop(control, own, shared, thread, out, keys, taken)``: puts the keys of pairs into
        `keys` and their number into ``taken[0]``. ROWS_FULL when `keys` is full, END, a failure, or
        NOT_READY when the run is stopped.
    """

    @inlined
    def begin(control, own, shared, thread, out, keys, taken):
        # Pairs in `keys`, the thread's progress, and the number of tuples seen.
        return 0, from_progress(control, own), 0

    @inlined
    def take(control, own, kept, shared, thread, out, keys, taken):
        count, progress, before = kept
        status = get_output(shared, thread, out)
        if status == READY:
            keys[count] = out[0]
            count += 1
        elif joins and status == NOT_READY:
            now_seen = seen(thread)
            if now_seen != before:
                status = READY
            before = now_seen
        if status == READY:
            progress += 1
            report(control, own, progress)
            if count == len(keys):
                status = ROWS_FULL
        return status, (count, progress, before)

    @inlined
    def finish(control, own, status, kept, shared, thread, out, keys, taken):
        taken[0] = kept[0]

    return make_visit(take, begin, finish)


def take_pairs(
    control: np.ndarray, own: int, take_loop: Any, arguments: tuple, keys: np.ndarray, sink: Sink
) -> None:
    """Run the thread that takes pairs to its end.

    Parameters
    ----------
    control, own
        As for any thread of a run.
    take_loop : callable
        The loop of ``make_take_loop``.
    arguments : tuple
        The loop's, `shared` to `out`.
    keys : int64 array
        A buffer for so many pairs.
    sink : Sink
    """
    taken = np.zeros(1, dtype=np.int64)

    def take() -> tuple[int, np.ndarray]:
        status = take_loop(control, own, *arguments, keys, taken)
        return status, keys[: int(taken[0])]

    if hand_out(control, own, take, sink.append) == END:
        hand_over(control, own, sink.rest(), sink.write)
    end(control, own)
