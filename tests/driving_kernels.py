"""The compiled halves of `tests.drivers`: who moves next, in one thread or in many.

A variant's operations are closed over, so one source drives every gate and every aggregate. The
file imports no more than the kernels need, because each of its words enters their cache key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from operators.aggregation.family import AggregationOperations
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
)
from operators.core.atomics import RELAXED, load, yield_thread
from operators.core.backoff import wait_a_little
from operators.core.integers import mix64, shift_right, wrapping_add
from operators.core.jit import inlined, kernel
from operators.gate.family import GateOperations

# What a driving kernel answers besides the statuses of the contract.
REFUSED = -10  # a source was told OUT_OF_ORDER
STOPPED = -11  # another thread failed
EXHAUSTED = -12  # a source has closed already


@inlined
def advance_source(insert, close, state, source, streams, position):
    """Let a source do its next thing: deliver, close, or nothing more. FULL leaves it in place."""
    at = position[source]
    if at < streams.offsets[source + 1]:
        status = insert(state, source, streams.timestamp[at], streams.key[at], streams.value[at])
    elif at == streams.offsets[source + 1]:
        status = close(state, source)
    else:
        return EXHAUSTED
    if status == ACCEPTED:
        position[source] += 1
    return status


@inlined
def is_silent(silence, source, position):
    """Say whether a source keeps silent this turn, and count the turn."""
    if position[source] != silence[source, 0] or silence[source, 1] == 0:
        return False
    silence[source, 1] -= 1
    return True


def _interleaving(insert: Callable, close: Callable, update: Callable, step: Callable) -> Callable:
    """Return the kernel in which one thread acts for all; `step(state, taken)` is the reader's.

    `silence` has a row a source: the position before which it keeps silent, and for how many turns.
    """

    @kernel
    def interleave(state, streams, position, silence, updates, taken, seed, burst):
        sources = streams.offsets.shape[0] - 1
        random = seed
        while True:
            random = mix64(wrapping_add(random, 1))
            actor = shift_right(random, 40) % (sources + updates + 1)
            for _ in range(1 + shift_right(random, 8) % burst):
                if actor < sources:
                    if is_silent(silence, actor, position):
                        break
                    status = advance_source(insert, close, state, actor, streams, position)
                    if status == OUT_OF_ORDER:
                        return REFUSED
                    if status == FULL or status == EXHAUSTED:
                        break
                elif actor < sources + updates:
                    status = update(state, actor - sources)
                    if status == NOT_READY or status == END:
                        break
                    if status != READY:
                        return status
                else:
                    status = step(state, taken)
                    if status != READY and status != NOT_READY:
                        return status

    return interleave


def _feeding(insert: Callable, close: Callable) -> Callable:
    """Return the kernel of a source's thread; it ends when the source stands at `until`."""

    @kernel
    def feed(state, streams, position, source, until, seed, stop):
        random = seed
        round = 0
        while position[source] < until:
            status = advance_source(insert, close, state, source, streams, position)
            random = mix64(wrapping_add(random, 1))
            if shift_right(random, 8) % 64 == 0:
                yield_thread()
            if status == OUT_OF_ORDER:
                return REFUSED
            round = wait_a_little(round) if status == FULL else 0
            if load(stop, 0, RELAXED) == 1:
                return STOPPED
        return END

    return feed


def _stepping(step: Callable) -> Callable:
    """Return the kernel of a thread whose step, `step(state, argument)`, is READY or NOT_READY.

    It is the reader's, the output thread's or an update thread's, and ends with another status.
    """

    @kernel
    def go_on(state, argument, seed, stop):
        random = seed
        round = 0
        while True:
            status = step(state, argument)
            if status != READY and status != NOT_READY:
                return status
            random = mix64(wrapping_add(random, 1))
            if shift_right(random, 8) % 64 == 0:
                yield_thread()
            round = wait_a_little(round) if status == NOT_READY else 0
            if load(stop, 0, RELAXED) == 1:
                return STOPPED

    return go_on


def _gate_step(get_next_ready_tuple: Callable) -> Callable:
    """Return a step that appends what a reader gets to `taken`, which begins with four words.

    They are the count of the tuples, and the reader's number; each tuple is four more. The number
    is no constant of the step: each reader would be compiled by itself.
    """

    @inlined
    def step(state, taken):
        at = 4 + 4 * taken[0]
        status = get_next_ready_tuple(state, taken[1], taken[at : at + 4])
        if status == READY:
            taken[0] += 1
        return status

    return step


def _process_step(process: Callable) -> Callable:
    @inlined
    def step(state, taken):
        return process(state)

    return step


@inlined
def _no_update(state, thread):
    return END


class Kernels(NamedTuple):
    """The kernels of a variant; `read` is every reader's, or the output thread's."""

    interleave: Callable
    feed: Callable
    update: Callable
    read: Callable


@cache
def kernels_of(operations: GateOperations | AggregationOperations) -> Kernels:
    """Return the driving kernels of a variant's operations."""
    update = _no_update
    if isinstance(operations, GateOperations):
        insert, close = operations.insert_tuple, operations.close_source
        step = _gate_step(operations.get_next_ready_tuple)
    else:
        insert, close = operations.add, operations.close
        step = _process_step(operations.process)
        update = operations.update or _no_update
    return Kernels(
        _interleaving(insert, close, update, step),
        _feeding(insert, close),
        _stepping(update),
        _stepping(step),
    )
