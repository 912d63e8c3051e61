"""The compiled half of `tests.drivers`: the choice of the next step, in one thread or in many.

A variant's operations are closed over, so one source drives every gate and every aggregate. The
file imports no more than the kernels need, because all of its text enters their cache key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

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

# Statuses of a driving kernel in addition to those of the contract.
REFUSED = -10  # a source was told OUT_OF_ORDER
STOPPED = -11  # another thread failed
EXHAUSTED = -12  # a source has closed already
# The actor that stands for all in the single-threaded mode.
EVERYBODY = -1


@inlined
def advance_source(insert, close, state, source, streams, position):
    """Let a source take a step: deliver, close, or nothing. FULL leaves it at its position."""
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
    """Return whether a source keeps silent this turn, and count the turn."""
    if position[source] != silence[source, 0] or silence[source, 1] == 0:
        return False
    silence[source, 1] -= 1
    return True


def _driving(insert: Callable, close: Callable, update: Callable, step: Callable) -> Callable:
    """Return the kernel of one thread that acts for all, and of each thread that acts for one.

    ``drive(state, streams, position, silence, updates, taken, seed, burst, actor, until, stop)``:
    `actor` is a source, then come the update threads, then the reader, or EVERYBODY; a source's
    thread ends at position `until`. ``step(state, taken)`` is the reader's step. `silence` has a
    row a source: the position before which it keeps silent, and the number of turns.

    There is one kernel because compiling the operations takes most of a test's time.
    """

    @kernel
    def drive(state, streams, position, silence, updates, taken, seed, burst, actor, until, stop):
        sources = streams.offsets.shape[0] - 1
        random = seed
        round = 0
        acting = actor
        while True:
            random = mix64(wrapping_add(random, 1))
            if actor == EVERYBODY:
                acting = shift_right(random, 40) % (sources + updates + 1)
            elif acting < sources and position[acting] >= until:
                return END
            status = READY
            for _ in range(1 + shift_right(random, 8) % burst):
                if acting < sources:
                    if is_silent(silence, acting, position):
                        break
                    status = advance_source(insert, close, state, acting, streams, position)
                    if status == OUT_OF_ORDER:
                        return REFUSED
                    if status == FULL or status == EXHAUSTED:
                        break
                elif acting < sources + updates:
                    status = update(state, acting - sources)
                    if status == NOT_READY or (status == END and actor == EVERYBODY):
                        break
                    if status != READY:
                        return status
                else:
                    status = step(state, taken)
                    if status != READY and status != NOT_READY:
                        return status
            if actor != EVERYBODY:
                if shift_right(random, 16) % 64 == 0:
                    yield_thread()
                round = wait_a_little(round) if status == FULL or status == NOT_READY else 0
                if load(stop, 0, RELAXED) == 1:
                    return STOPPED

    return drive


def _gate_step(get_next_ready_tuple: Callable) -> Callable:
    """Return a step that appends a reader's tuples to `taken`, which begins with four words.

    The header has the count of the tuples, and the reader's number; each tuple is four more words.
    The number is not a constant of the step, or a step would be compiled for each reader.
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


@cache
def driver_of(operations: GateOperations | AggregationOperations) -> Callable:
    """Return the driving kernel of a variant's operations."""
    if isinstance(operations, GateOperations):
        step = _gate_step(operations.get_next_ready_tuple)
        return _driving(operations.insert_tuple, operations.close_source, _no_update, step)
    step = _process_step(operations.process)
    return _driving(operations.add, operations.close, operations.update or _no_update, step)
