"""The kernel in which tests let a window join of one thread take tuples."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from operators.core.jit import kernel
from operators.join.family import JoinOperations


@cache
def make_runner(operations: JoinOperations) -> Callable[..., int]:
    """Return ``run(state, sides, keys, times, out, found, ends)``: the row without room, or -1.

    The partners of all tuples lie in `found`, those of each up to its place in `ends`.
    """
    process = operations.process

    @kernel
    def run(state, sides, keys, times, out, found, ends):
        total = 0
        for row in range(len(keys)):
            count = process(state, sides[row], keys[row], times[row], out, True)
            if count < 0:
                return row
            for place in range(count):
                found[total] = out[place]
                total += 1
            ends[row] = total
        return -1

    return run
