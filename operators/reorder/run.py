"""Workers that apply a function to the words of an array, followed by a reorder buffer.

::

    words --> [worker 0] --send--> +----------------+
          --> [worker 1] --send--> | reorder buffer | --in order--> outputs
          ...                      +----------------+

Each free worker takes the next word. ``run_reorder`` is a parallel ``map``: outputs come in the
order of the words, whatever the schedule of the threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY, Variant
from operators.core.atomics import RELAXED, fetch_add
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.user_functions import user_function
from operators.reorder.family import MOST_WORKERS, Sending
from operators.running.drivers import make_steps_loop
from operators.running.library import (
    checked_integers,
    checked_seconds,
    checked_workers,
    run_to_the_end,
)
from operators.running.run_threads import STALL_SECONDS, Counts, Role


class ArrayReceiver(NamedTuple):
    """The destination of outputs in serial order; one thread at a time sends there.

    The buffer holds indices into ``worked`` instead of outputs, so that outputs may be any number.
    """

    worked: np.ndarray  # by serial number - 1; written by the worker before sending
    outputs: np.ndarray
    received: np.ndarray  # one word: number of received outputs


@inlined
def receive(receiver, serial, place):
    """Receive an output: ACCEPTED."""
    receiver.outputs[receiver.received[0]] = receiver.worked[place]
    receiver.received[0] += 1
    return ACCEPTED


@cache
def sending_to_array(make_sending: Callable[..., Sending]) -> Sending:
    """Return the operations of a reorder buffer over an `ArrayReceiver`, compiled only once."""
    return make_sending(receive)


def run_reorder(
    variant: str,
    function: Callable[[int], int],
    words: ArrayLike,
    *,
    workers: int = 2,
    stall_seconds: float = STALL_SECONDS,
    **parameters: Any,
) -> np.ndarray:
    """Apply a function to each word by several workers and return the outputs in order.

    Parameters
    ----------
    variant : str
        Id of a reorder buffer.
    function : callable
        ``function(word)``, from an int64 to an int64. Plain Python that numba compiles; a function
        with a name, in a file.
    words : array_like of int
    workers : int
        Threads that work and send.
    stall_seconds : float
        Give up the run after so long without progress of any thread: longer than a word may take.
    **parameters
        Parameters of the variant, such as ``slots``.

    Returns
    -------
    int64 array (words,)
        ``function`` of each word.

    Raises
    ------
    UsageError
        When an argument is invalid, or the variant does not take it.
    run_threads.RunFailed
        When a thread failed, or no thread made progress.

    Examples
    --------
    >>> from calendar import isleap
    >>> run_reorder("non-blocking", isleap, [1900, 2000, 2023, 2024]).tolist()
    [0, 1, 0, 1]
    """
    chosen = registry.variant("reorder", variant)
    given = chosen.settings(parameters)
    work = user_function("a function of words", function, takes=1)
    words = checked_integers("words", words)
    workers = checked_workers(workers, MOST_WORKERS)
    stall_seconds = checked_seconds("stall_seconds", stall_seconds)
    outputs = np.zeros(len(words), dtype=np.int64)
    run_to_the_end(
        _roles(chosen, work, words, outputs, workers, given),
        _roles(chosen, work, words[:0], outputs, 1, {**given, "slots": 1}),
        len(words),
        registry.family("reorder").failures,
        stall_seconds,
    )
    return outputs


@cache
def make_work_step(function, send):
    """Return a worker's step: it takes the next word, or retries an output that had no room.

    ``step(state, receiver, words, taken, serial)``; ``serial[0]`` is the serial number of the
    pending output, 0 for none.
    """

    @inlined
    def step(state, receiver, words, taken, serial):
        if serial[0] == 0:
            # RELAXED: a counter that orders nothing.
            serial[0] = fetch_add(taken, 0, 1, RELAXED) + 1
            if serial[0] > len(words):
                return END
            receiver.worked[serial[0] - 1] = function(words[serial[0] - 1])
        if send(state, receiver, serial[0], serial[0] - 1) == FULL:
            return NOT_READY
        serial[0] = 0
        return READY

    return step


def _roles(
    variant: Variant,
    function: Callable[..., Any],
    words: np.ndarray,
    outputs: np.ndarray,
    workers: int,
    parameters: dict[str, Any],
) -> list[Role]:
    """Return the threads of a run, with `outputs` as the destination."""
    state, taken = variant.operations.make_state(**parameters), aligned_words(LINE_WORDS)
    receiver = ArrayReceiver(np.zeros(len(words), np.int64), outputs, aligned_words(LINE_WORDS))
    loop = make_steps_loop(
        make_work_step(function, sending_to_array(variant.operations.make_sending).send)
    )

    def role(number: int) -> Role:
        serial = aligned_words(LINE_WORDS)
        return Role(
            f"worker {number}",
            loop,
            (state, receiver, words, taken, serial),
            output=True,
            counts=Counts.SHARE,
            doing=lambda: f"word {serial[0]} of {len(words)}" if serial[0] else "no word",
        )

    return [role(number) for number in range(workers)]
