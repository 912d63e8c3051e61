"""A partitioned stateful operator over arrays: a producer, workers, and a reorder buffer.

::

                             +----------+ --> [worker 0] --send--> +----------------+
    words --> [producer] --> | worklist | --> [worker 1] --send--> | reorder buffer | --> outputs
                             +----------+     ...                  +----------------+

``run_partition`` applies a function with a state for each key: the words of a key are processed one
at a time and in order, concurrently with words of other partitions. Outputs come in the order of
the words, whatever the schedule of the threads.

The producer stays fewer than ``slots`` words ahead of the sent outputs, so that each output has a
slot. Otherwise a worker could wait for ever with an output if there are fewer workers than
partitions: the next output may come from a partition that nobody serves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import END, FULL, NOT_READY, READY, UsageError, Variant, whole
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.user_functions import user_function
from operators.partition.family import MOST_SLOTS, MOST_WORKERS, NO_OUTPUT_SLOT
from operators.partition.shape import PARTITIONS_OF_WORKERS
from operators.reorder.run import ArrayReceiver, sending_to_array
from operators.running.drivers import make_steps_loop
from operators.running.library import (
    checked_integers,
    checked_seconds,
    checked_workers,
    run_to_the_end,
)
from operators.running.run_threads import STALL_SECONDS, Counts, Role

# The most words of state of all keys together: as many as 2 GiB hold.
MOST_STATE_WORDS = 1 << 28


class Partitioned(NamedTuple):
    """The words, and the state of each key; the keys of a partition are adjacent."""

    words: np.ndarray
    partitions: np.ndarray  # partition of each word
    begins: np.ndarray  # start of the key's state, for each word
    states: np.ndarray  # a key's row is accessed only by the worker that processes the partition
    state_words: int


def run_partition(
    variant: str,
    function: Callable[[np.ndarray, int], int],
    keys: ArrayLike,
    words: ArrayLike,
    *,
    state_words: int = 1,
    workers: int = 2,
    slots: int = 1024,
    reorder: str = "non-blocking",
    stall_seconds: float = STALL_SECONDS,
    **parameters: Any,
) -> np.ndarray:
    """Apply a function with a state for each key to words, and return the outputs in order.

    Parameters
    ----------
    variant : str
        Id of a worklist of partitions.
    function : callable
        ``function(state, word)``: the state of the key is an int64 array, zeros at first, that the
        function may change; the word is an int64. Plain Python that numba compiles; a function with
        a name, in a file.
    keys, words : array_like of int
        Arrays of equal length.
    state_words : int
        Words of state for each key.
    workers : int
        Threads that process.
    slots : int
        The most words in flight.
    reorder : str
        Id of the reorder buffer.
    stall_seconds : float
        Give up the run after so long without progress of any thread: longer than a word may take.
    **parameters
        Parameters of the variant, such as ``partitions``, among which keys are distributed.

    Returns
    -------
    int64 array (words,)

    Raises
    ------
    UsageError
        When an argument is invalid, or the variant does not take it.
    run_threads.RunFailed
        When a thread failed, or no thread made progress.

    Examples
    --------
    Running totals of each key::

        def add(state, word):
            state[0] += word
            return state[0]

        run_partition("hybrid", add, [7, 8, 7, 7], [1, 2, 3, 4])  # 1, 2, 4, 8
    """
    chosen = registry.variant("partition", variant)
    workers = checked_workers(workers, MOST_WORKERS)
    partitions = _partitions(chosen, chosen.settings(parameters)["partitions"], workers)
    work = user_function("a function of a state and words", function, takes=2)
    slots, state_words = whole("slots", slots), whole("state_words", state_words)
    stall_seconds = checked_seconds("stall_seconds", stall_seconds)
    if not 2 <= slots <= MOST_SLOTS:
        raise UsageError(f"slots must be between 2 and {MOST_SLOTS}, received {slots}")
    keys, words = checked_integers("keys", keys), checked_integers("words", words)
    if len(keys) != len(words):
        raise UsageError(f"there are {len(keys)} keys and {len(words)} words; give as many of each")
    labels, codes = np.unique(keys, return_inverse=True)
    if not 1 <= state_words <= MOST_STATE_WORDS // max(len(labels), 1):
        raise UsageError(
            f"state_words must be between 1 and {MOST_STATE_WORDS // max(len(labels), 1)} for"
            f" {len(labels)} keys, received {state_words}"
        )
    # Keys are distributed over the partitions. Two workers share a cache line of states only where
    # the keys of one partition end and those of the next begin, which limits false sharing.
    dealt = np.arange(len(labels)) % partitions
    row = np.empty(len(labels), dtype=np.int64)
    row[np.argsort(dealt, kind="stable")] = np.arange(len(labels))
    states = aligned_words(max(len(labels) * state_words, 1))
    given = Partitioned(words, dealt[codes], row[codes] * state_words, states, state_words)
    nothing = Partitioned(words[:0], *(each[:0] for each in given[1:3]), states, state_words)
    outputs = np.zeros(len(words), dtype=np.int64)
    shape = (partitions, workers, slots)
    buffer = registry.variant("reorder", reorder)
    run_to_the_end(
        _roles(chosen, buffer, work, given, outputs, shape),
        _roles(chosen, buffer, work, nothing, outputs, (1, 1, 2)),
        len(words),
        registry.family("partition").failures,
        stall_seconds,
    )
    return outputs


def _partitions(variant: Variant, asked: int, workers: int) -> int:
    """Return the number of partitions; in a partitioned queue at most one for each worker."""
    if PARTITIONS_OF_WORKERS not in variant.parameters:
        return asked
    if asked > workers:
        raise UsageError(
            f"partitions of a {variant.id} queue must be at most its workers, {workers}, received"
            f" {asked}; give 0 for one a worker"
        )
    return asked or workers


# --- threads --------------------------------------------------------------------------------------


@cache
def make_produce_step(add_input, next_serial):
    """Return the producer's step: ``step(worklist, buffer, given, slots, added)``."""

    @inlined
    def step(worklist, buffer, given, slots, added):
        place = added[0]
        if place == len(given.words):
            return END
        # The serial number of this word is place + 1.
        if place + 1 >= next_serial(buffer) + slots:
            return NOT_READY
        if add_input(worklist, given.partitions[place], place) == FULL:
            return NOT_READY
        added[0] += 1
        return READY

    return step


@cache
def make_work_step(function, next_input, processed, leave, send, next_serial):
    """Return a worker's step: ``step(worklist, buffer, receiver, given, worker, out)``."""

    @inlined
    def step(worklist, buffer, receiver, given, worker, out):
        if next_input(worklist, worker, out) == READY:
            serial, place = out[1], out[2]
            begin = given.begins[place]
            state = given.states[begin : begin + given.state_words]
            receiver.worked[place] = function(state, given.words[place])
            if send(buffer, receiver, serial, place) == FULL:
                return NO_OUTPUT_SLOT
            processed(worklist, worker)
            return READY
        if next_serial(buffer) > len(given.words) and leave(worklist, worker):
            return END
        return NOT_READY

    return step


def _roles(
    variant: Variant,
    reorder: Variant,
    function: Callable[..., Any],
    given: Partitioned,
    outputs: np.ndarray,
    shape: tuple[int, int, int],
) -> list[Role]:
    """Return the threads of a run, with `outputs` as the destination."""
    partitions, workers, slots = shape
    operations, buffering = variant.operations, reorder.operations
    worklist, buffer = (
        operations.make_state(partitions, workers, slots),
        buffering.make_state(slots),
    )
    worked = np.zeros(len(given.words), dtype=np.int64)
    receiver = ArrayReceiver(worked, outputs, aligned_words(LINE_WORDS))
    produce = make_steps_loop(make_produce_step(operations.add_input, buffering.next_serial))
    work = make_steps_loop(
        make_work_step(
            function, operations.next_input, operations.processed, operations.leave,
            sending_to_array(buffering.make_sending).send, buffering.next_serial,
        )
    )  # fmt: skip

    def role(number: int) -> Role:
        out = aligned_words(LINE_WORDS)
        return Role(
            f"worker {number}",
            work,
            (worklist, buffer, receiver, given, number, out),
            output=True,
            counts=Counts.SHARE,
            doing=lambda: f"word {out[1]} of {len(given.words)}" if out[1] else "no word",
        )

    added = aligned_words(LINE_WORDS)
    producer = Role("producer", produce, (worklist, buffer, given, slots, added))
    return [*map(role, range(workers)), producer]
