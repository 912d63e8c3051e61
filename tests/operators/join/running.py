"""How tests let the threads of a window join take steps in turns, and what comes out."""

from __future__ import annotations

import random as randomness
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, Variant
from operators.core.jit import kernel
from operators.index.shared import SharedIndexOperations, operations_for_one
from operators.join.family import COUNT, FOUND, JoinOperations, State
from operators.join.feed import NOTHING, Feed
from operators.join.shared_join import variant_over

# Steps that a thread takes before another one has its turn, at most.
MOST_STEPS = 40
TUPLES, TOTAL = 0, 1


def join_over(name: str, shared: SharedIndexOperations) -> Variant:
    """Return the join of several threads over an index that is no variant."""
    index = Variant(
        id=name, family="index", title=name, paper="pim_tree", section="4",
        operations=operations_for_one(shared), order="none", progress="blocking",
        threads={"any": "1 to 16"}, capacity="a window",
    )  # fmt: skip
    return variant_over(index)


class Given(NamedTuple):
    """What a join has given out: the partners of all tuples, those of each up to its end."""

    partners: np.ndarray
    ends: np.ndarray
    words: np.ndarray  # TUPLES given out, and the TOTAL of their partners

    def lists(self) -> list[list[int]]:
        """Return the partners of each tuple, in the order in which they were given."""
        ends = self.ends[: self.words[TUPLES]].tolist()
        return [self.partners[a:b].tolist() for a, b in zip([0, *ends], ends, strict=False)]


def make_given(tuples: int, most: int) -> Given:
    """Return room for what so many tuples find, each at most so many partners."""
    return Given(np.zeros(tuples * most + 1, int), np.zeros(tuples, int), np.zeros(2, int))


@cache
def make_runner(step: Callable[..., int]) -> Callable[..., int]:
    """Return ``run(shared, thread, output, feed, most, given)``: steps of one thread.

    It takes `most` of them, fewer where one is NOT_READY or ends it, and returns the last answer.
    """

    @kernel
    def run(shared, thread, output, feed, most, given):
        words = given.words
        status = READY
        for _ in range(most):
            status = step(shared, thread, output, feed)
            if status == FOUND:
                for place in range(output.words[COUNT]):
                    given.partners[words[TOTAL]] = output.partners[place]
                    words[TOTAL] += 1
                given.ends[words[TUPLES]] = words[TOTAL]
                words[TUPLES] += 1
            elif status != READY:
                return status
        return status

    return run


def join(
    operations: JoinOperations,
    step: Callable[..., int],
    state: State,
    feed: Feed,
    given: Given,
    seed: int = 0,
) -> None:
    """Let the threads of a join take steps in turns of random length until all have ended."""
    operations.reopen(state)
    run, random = make_runner(step), randomness.Random(seed)
    waiting, ended = 0, set()
    while len(ended) < len(state.threads):
        number = random.randrange(len(state.threads))
        if number in ended:
            continue
        thread, most = state.threads[number], random.randint(1, MOST_STEPS)
        if len(state.threads) == 1:
            most = len(given.ends) + 1
        before = given.words[TUPLES], operations.seen(thread)
        status = run(state.shared, thread, state.output, feed, most, given)
        assert status in (END, NOT_READY, READY, FOUND), f"thread {number} answers {status}"
        assert operations.seen(thread) >= before[1]
        waiting = waiting + 1 if status == NOT_READY else 0
        assert waiting < 1_000, "no thread gets on"
        if status == END:
            ended.add(number)


def feed_of(sides: np.ndarray, keys: np.ndarray, times: np.ndarray | None = None) -> Feed:
    """Return the tuples that arrive in this order, each of R (0) or of S (1)."""
    ranks = [np.flatnonzero(sides == side) for side in range(2)]
    clocks = [NOTHING if times is None else times[of_side] for of_side in ranks]
    columns = [np.asarray(keys)[of_side] for of_side in ranks]
    return Feed(*columns, *ranks, *clocks, len(ranks[0]), len(ranks[1]), 1, NOTHING)
