"""Runners for tests: the threads of a window join take steps in turns; their output is kept."""

from __future__ import annotations

import random as randomness
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, Variant
from operators.core.jit import kernel
from operators.index.shared import SharedIndexOperations, operations_for_one
from operators.join.family import COUNT, FOUND, POSITION, SIDE, JoinOperations, State
from operators.join.feed import NOTHING, Feed, rank_of
from operators.join.shared_join import variant_over

# Limit of the steps that a thread takes in one turn.
MOST_STEPS = 40
TUPLES, TOTAL, PARTS = 0, 1, 2


def join_over(name: str, shared: SharedIndexOperations) -> Variant:
    """Return the join of several threads over an index that is not registered as a variant."""
    index = Variant(
        id=name, family="index", title=name, paper="pim_tree", section="4",
        operations=operations_for_one(shared), order="none", progress="blocking",
        threads={"any": "1 to 16"}, capacity="a window",
    )  # fmt: skip
    return variant_over(index)


class Given(NamedTuple):
    """The output of a join: the partners of all tuples, and the end of each tuple's partners.

    Unordered output is sorted after the end of a feed.
    """

    partners: np.ndarray
    ends: np.ndarray
    words: np.ndarray  # TUPLES given out, the TOTAL of their partners, and PARTS given out in a run
    parts: np.ndarray  # (partners, 3) of an unordered run: side and position, partner

    def lists(self) -> list[list[int]]:
        """Return the partners of each tuple, in output order."""
        ends = self.ends[: self.words[TUPLES]].tolist()
        return [self.partners[a:b].tolist() for a, b in zip([0, *ends], ends, strict=False)]


def make_given(tuples: int, most: int) -> Given:
    """Return room for the output of `tuples` tuples, with at most `most` partners each."""
    room = tuples * most + 1
    words = np.zeros(3, int)
    return Given(np.zeros(room, int), np.zeros(tuples, int), words, np.zeros((room, 3), int))


@cache
def make_runner(step: Callable[..., int], ordered: bool = True) -> Callable[..., int]:
    """Return ``run(shared, thread, output, feed, most, given)``: steps of one thread.

    It takes `most` steps, or fewer if one is NOT_READY or the last, and returns the last status.
    """

    @kernel
    def run(shared, thread, output, feed, most, given):
        words = given.words
        status = READY
        for _ in range(most):
            status = step(shared, thread, output, feed)
            if status == FOUND and not ordered:
                for place in range(output.words[COUNT]):
                    part = given.parts[words[PARTS]]
                    part[0], part[1] = output.words[SIDE], output.words[POSITION]
                    part[2] = output.partners[place]
                    words[PARTS] += 1
            elif status == FOUND:
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
    run, random = make_runner(step, operations.ordered), randomness.Random(seed)
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
    if not operations.ordered:
        assert operations.seen(state.threads[-1]) == feed.end_r + feed.end_s
        put_in_order(given, feed)


def put_in_order(given: Given, feed: Feed) -> None:
    """Rearrange the output of an unordered run as an ordered run writes it."""
    words = given.words
    partners: dict[int, list[int]] = {}
    for side, position, partner in given.parts[: words[PARTS]].tolist():
        assert position < (feed.end_r, feed.end_s)[side], "a tuple that has not come"
        partners.setdefault(rank_of(feed, side, position), []).append(partner)
    ranks = [
        rank_of(feed, side, n) for side in range(2) for n in range((feed.end_r, feed.end_s)[side])
    ]
    for rank in sorted(ranks)[words[TUPLES] :]:
        found = partners.pop(rank, [])
        given.partners[words[TOTAL] : words[TOTAL] + len(found)] = found
        words[TOTAL] += len(found)
        given.ends[words[TUPLES]] = words[TOTAL]
        words[TUPLES] += 1
    assert not partners, f"pairs of tuples of an earlier feed, {list(partners)[:3]}"
    words[PARTS] = 0


def feed_of(sides: np.ndarray, keys: np.ndarray, times: np.ndarray | None = None) -> Feed:
    """Return the tuples that arrive in this order, each of R (0) or of S (1)."""
    ranks = [np.flatnonzero(sides == side) for side in range(2)]
    clocks = [NOTHING if times is None else times[of_side] for of_side in ranks]
    columns = [np.asarray(keys)[of_side] for of_side in ranks]
    return Feed(*columns, *ranks, *clocks, len(ranks[0]), len(ranks[1]), 1, NOTHING)
