"""The compiled halves of `running`: the loop of each thread of a theta join.

Each kernel takes up to `most` steps: a few, when one thread acts for all, or all of them on a
separate thread, which then waits whenever it cannot proceed. So no kernel is compiled twice. The
file imports no more than the kernels need, because all of the file's text enters their cache key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from operators.contract import ACCEPTED, END, FULL, NOT_READY, READY
from operators.core.atomics import RELAXED, load, yield_thread
from operators.core.backoff import wait_a_little
from operators.core.integers import mix64, shift_right
from operators.core.jit import kernel
from operators.theta_join.family import ThetaOperations
from operators.theta_join.predicates import Predicate

# Answers of a kernel that are not statuses of the contract.
STOPPED = -20  # another thread failed
NO_ROOM = -21  # more pairs came out than expected
# More steps than a thread can ever take.
FOR_EVER = 1 << 60
# Number of steps after which a thread yields the core.
YIELD_EACH = 64


class Kernels(NamedTuple):
    """The loops of a variant's threads.

    ``advance(shared, own, most, waits, stop)`` is a processing thread's and ``drive`` the driver's;
    ``take(shared, own, out, found, taken, most, waits, stop)`` appends the output to `found` and
    counts it in ``taken[0]``; ``feed(shared, stream, times, rows, place, until, most, waits,
    stop)`` delivers a stream up to a position, and closes it after the last tuple.
    """

    feed: Callable[..., int]
    advance: Callable[..., int] | None
    take: Callable[..., int]
    drive: Callable[..., int] | None
    fill: Callable[..., int]
    drive_past: Callable[..., bool] | None


@cache
def _stepping(step: Callable) -> Callable:
    @kernel
    def advance(shared, own, most, waits, stop):
        status = NOT_READY
        round = 0
        for taken in range(most):
            status = step(shared, own)
            if status != READY and status != NOT_READY:
                return status
            if status == NOT_READY and not waits:
                return status
            round = wait_a_little(round) if status == NOT_READY else 0
            if waits and shift_right(mix64(taken), 8) % YIELD_EACH == 0:
                yield_thread()
            if load(stop, 0, RELAXED) == 1:
                return STOPPED
        return status

    return advance


@cache
def _taking(get_output: Callable, words: int) -> Callable:
    @kernel
    def take(shared, own, out, found, taken, most, waits, stop):
        status = NOT_READY
        round = 0
        for _ in range(most):
            status = get_output(shared, own, out)
            if status != READY and status != NOT_READY:
                return status
            if status == NOT_READY and not waits:
                return status
            round = wait_a_little(round) if status == NOT_READY else 0
            if status == READY:
                place = words * taken[0]
                if place + words > found.shape[0]:
                    return NO_ROOM
                for word in range(words):
                    found[place + word] = out[word]
                taken[0] += 1
            if load(stop, 0, RELAXED) == 1:
                return STOPPED
        return status

    return take


@cache
def _feeding(insert: Callable, close: Callable) -> Callable:
    @kernel
    def feed(shared, stream, times, rows, place, until, most, waits, stop):
        status = FULL
        round = 0
        for taken in range(most):
            at = place[stream]
            if at >= until:
                return END
            if at < times.shape[0]:
                status = insert(shared, stream, times[at], 0, rows[at])
            else:
                status = close(shared, stream)
            if status == ACCEPTED:
                place[stream] = at + 1
            elif status != FULL or not waits:
                return status
            round = wait_a_little(round) if status == FULL else 0
            if waits and shift_right(mix64(taken), 8) % YIELD_EACH == 0:
                yield_thread()
            if load(stop, 0, RELAXED) == 1:
                return STOPPED
        return status

    return feed


@cache
def _filling(fill: Callable) -> Callable:
    @kernel
    def fill_one(shared, own, side, timestamp, row, newer, filled):
        return fill(shared, own, side, timestamp, row, newer, filled)

    return fill_one


@cache
def _passing(drive_past: Callable) -> Callable:
    @kernel
    def past(driver, side, timestamp):
        return drive_past(driver, side, timestamp)

    return past


@cache
def kernels_of(operations: ThetaOperations, predicate: Predicate) -> Kernels:
    """Return a variant's loops under a predicate; common parts of variants are compiled once."""
    step = operations.make_step(predicate)
    return Kernels(
        _feeding(operations.insert_tuple, operations.close_source),
        _stepping(step) if step else None,
        _taking(operations.make_get_output(predicate), 1 + predicate.record),
        _stepping(operations.drive) if operations.drive else None,
        _filling(operations.make_fill(predicate)),
        _passing(operations.drive_past) if operations.drive_past else None,
    )
