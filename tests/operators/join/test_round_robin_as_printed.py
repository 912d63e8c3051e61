"""Round robin as printed: the set of the pairs under any delay, and no waiting for order."""

from __future__ import annotations

import random as randomness

import numpy as np
import pytest

from operators.contract import END, NOT_READY, READY, UsageError
from operators.join import round_robin, round_robin_as_printed
from operators.join.chain import check_invariants
from operators.join.family import COUNT, FOUND, POSITION, SIDE, State
from operators.join.feed import by_time, in_turns
from operators.join.round_robin_as_printed import VARIANT, make_state, make_step
from tests.operators.join.test_round_robin import keys_of, wanted, wanted_by_time

STEP = make_step(index="nested-loop")
# More steps than one core can take alone.
MANY = 10_000


def steps(chain: State, feed, number: int, most: int = MANY) -> list[tuple[int, int, int]]:
    """Let a thread take steps until it has to wait; return side, position and partner of pairs."""
    found = []
    for _ in range(most):
        status = STEP(chain.shared, chain.threads[number], chain.output, feed)
        if status == FOUND:
            words = chain.output.words
            met = chain.output.partners[: words[COUNT]].tolist()
            found += [(int(words[SIDE]), int(words[POSITION]), each) for each in met]
        elif status in (END, NOT_READY):
            break
        assert status in (FOUND, READY)
    return found


def by_turns(chain: State, feed, seed: int) -> list[tuple[int, int, int]]:
    """Let threads take turns, some far longer than others, until nothing is left."""
    random = randomness.Random(seed)
    weights = [random.choice([1, 1, 5, 200]) for _ in chain.threads]
    found, rounds = [], 0
    while round_robin_as_printed.seen(chain.threads[-1]) < feed.end_r + feed.end_s:
        if random.random() < 0.05:
            random.shuffle(weights)
        found += steps(chain, feed, random.randrange(len(chain.threads)), random.choice(weights))
        rounds += 1
        assert rounds < 100_000, "nobody gets on"
    return found


def triples(partners: list[list[int]]) -> list[tuple[int, int, int]]:
    """Return the pairs of r 0, s 0, r 1, ... in the order of arrival."""
    return [(at % 2, at // 2, n) for at, found in enumerate(partners) for n in found]


@pytest.mark.parametrize("ahead", [1, 2, 7, 128])
@pytest.mark.parametrize("seed", range(4))
def test_no_order_of_steps_changes_the_set_of_pairs(ahead, seed):
    r, s, half = keys_of("random", 120)
    for threads, messages, window in ((2, 1, 9), (4, 2, 9), (3, 64, 1), (5, 64, 30)):
        chain = make_state(window, half, threads=threads, index="nested-loop", messages=messages,
                           partners=1 + seed, ahead=ahead)  # fmt: skip
        found = by_turns(chain, in_turns(r, s, 120), seed)
        assert sorted(found) == sorted(triples(wanted(r, s, window, half)))
        for number in range(threads + 1):
            steps(chain, in_turns(r, s, 120), number)
        check_invariants(chain)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("span", [0, 3, 50])
def test_bursts_of_one_stream_and_windows_of_time_lose_no_pair(seed, span):
    random = np.random.default_rng(seed)
    # Many tuples of one stream in a row: ranks are far ahead of the other stream, positions are
    # not.
    times = [np.sort(random.choice(np.arange(0, 400, 20 + 7 * side), 80)) for side in range(2)]
    keys = [random.integers(0, 12, 80) for _ in range(2)]
    feed = by_time(times[0], keys[0], times[1], keys[1])
    chain = make_state(11 if not span else 80, 2, threads=3, index="nested-loop", span=span,
                       messages=3, ahead=5)  # fmt: skip
    partners = wanted_by_time(times, keys, 11, span, 2)
    ranks = np.concatenate(feed[2:4])
    probing = [(int(n >= 80), int(n % 80)) for n in np.argsort(ranks)]
    pairs = [(*tuple_, n) for tuple_, found in zip(probing, partners, strict=True) for n in found]
    assert len(pairs) > 20
    assert sorted(by_turns(chain, feed, seed)) == sorted(pairs)


@pytest.mark.parametrize("rows", [127, 128, 256])
def test_at_rest_each_core_has_its_window_however_often_it_told_how_far_it_is(rows):
    # Of 256 tuples, a core reports the last time when it processes the last one, before the end.
    r, s, half = keys_of("random", rows)
    for seed in range(12):
        chain = make_state(9, half, threads=3, index="nested-loop", messages=4, ahead=20)
        feed = in_turns(r, s, rows)
        by_turns(chain, feed, seed)
        for number in range(4):
            steps(chain, feed, number)
        check_invariants(chain)


def test_a_core_goes_on_while_the_other_stream_is_late_and_not_too_far():
    keys = np.zeros(200, np.int32)
    feed = in_turns(keys, keys, 200)
    seen = []
    for module, more in ((round_robin, {}), (round_robin_as_printed, {"ahead": 20})):
        chain = module.make_state(8, 0, threads=2, index="nested-loop", **more)
        step = module.make_step(index="nested-loop")
        while step(chain.shared, chain.threads[0], chain.output, feed) == READY:
            pass
        seen.append(int(module.seen(chain.threads[0])))
    # Of ranks from 0 to 19 every second is R's. In order, a core waits for the first of S.
    assert seen == [0, 10]


def test_a_tuple_that_passes_a_home_first_is_found_when_the_earlier_one_comes():
    # Core 1 is the home of R's tuple 1, rank 2; S's tuple 1, rank 3, arrives there first.
    chain = make_state(4, 0, threads=2, index="nested-loop")
    feed = in_turns(np.array([8, 5]), np.array([9, 5]), 2)
    steps(chain, feed, 1)
    assert steps(chain, feed, 2) == []
    steps(chain, feed, 0)
    steps(chain, feed, 1)
    assert steps(chain, feed, 2) == [(1, 1, 1)]


def test_pairs_come_as_they_are_found():
    # The partners of R's tuples 2 and 3 are held by core 0 and by core 1, which is a step behind.
    r, s = np.array([1, 2, 7, 8]), np.array([8, 7, 3, 4])
    chain = make_state(4, 0, threads=2, index="nested-loop")
    feed = in_turns(r, s, 4)
    pairs = triples(wanted(r, s, 4, 0))
    assert pairs == [(0, 2, 1), (0, 3, 0)]
    for number in (1, 0):
        steps(chain, feed, number)
    first = steps(chain, feed, 2)
    steps(chain, feed, 1)
    assert (first, steps(chain, feed, 2)) == ([pairs[1]], [pairs[0]])


def test_what_no_chain_can_be_is_refused():
    for threads in (0, 17):
        with pytest.raises(UsageError, match="1 to 16 threads"):
            make_state(8, 1, threads=threads)
    with pytest.raises(UsageError, match="received ahead=0"):
        make_state(8, 1, ahead=0)
    assert VARIANT.operations.collectors == 1 and not VARIANT.operations.ordered
