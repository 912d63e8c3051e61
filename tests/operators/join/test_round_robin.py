"""Round robin: a chain finds the pairs of a nested loop, under any timing of the cores."""

from __future__ import annotations

import itertools
import random as randomness

import numpy as np
import pytest

from operators import registry
from operators.contract import END, NOT_READY, READY, UsageError
from operators.core.layout import LINE_WORDS
from operators.join import round_robin
from operators.join.chain import check_invariants, reopen
from operators.join.family import COUNT, FOUND, State
from operators.join.feed import NOTHING, by_time, in_turns
from operators.join.round_robin import make_step

INDEXES = [each.id for each in registry.variants("index")]
INT32 = np.iinfo(np.int32)


def wanted(r, s, window: int, half: int) -> list[list[int]]:
    """Return the partners of r 0, s 0, r 1, ..."""
    found = []
    for row in range(len(r)):
        for side, (own, other) in enumerate(((r, s), (s, r))):
            inside = range(max(row + side - window, 0), row + side)
            found.append([n for n in inside if abs(int(own[row]) - int(other[n])) <= half])
    return found


def make_chain(index: str, window: int, half: int, threads: int, **more) -> State:
    return round_robin.make_state(window, half, threads=threads, index=index, **more)


def run(chain, step, feed, order) -> list[list[int]]:
    """Let cores take steps in some order until all have ended; return the output."""
    found, ended = [], set()
    idle = 0
    while len(ended) < len(chain.threads):
        number = order(len(chain.threads))
        if number in ended:
            continue
        status = step(chain.shared, chain.threads[number], chain.output, feed)
        assert status in (END, NOT_READY, FOUND, READY)
        idle = idle + 1 if status == NOT_READY else 0
        assert idle < 10_000, "nobody gets on"
        if status == FOUND:
            count = int(chain.output.words[COUNT])
            found.append(sorted(chain.output.partners[:count].tolist()))
        elif status == END:
            ended.add(number)
    return found


def keys_of(name: str, rows: int) -> tuple[np.ndarray, np.ndarray, int]:
    random = np.random.default_rng(4)
    made = {
        "random": (random.integers(-500, 500, (2, rows)), 20),
        "equal": (np.full((2, rows), 3), 0),
        "extreme": (random.choice([INT32.min, INT32.max, 0], (2, rows)), 1),
    }
    (r, s), half = made[name]
    return r.astype(np.int32), s.astype(np.int32), half


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["random", "equal", "extreme"])
def test_a_chain_finds_the_pairs_of_a_loop_over_everything(threads, name):
    r, s, half = keys_of(name, 60)
    for index in INDEXES if name == "random" else ["b-plus-tree"]:
        for window in (1, 7, 30):
            chain = make_chain(index, window, half, threads)
            random = randomness.Random(window)
            found = run(chain, make_step(index=index), in_turns(r, s, 60), random.randrange)
            assert found == wanted(r, s, window, half), (index, window)
            check_invariants(chain)


@pytest.mark.parametrize("seed", range(8))
def test_no_order_of_steps_changes_a_pair_or_stops_the_chain(seed):
    # Rings of one message: neighbours often cannot forward to each other.
    r, s, half = keys_of("random", 50)
    chain = make_chain("b-plus-tree", 13, half, 4, messages=1, partners=1)
    random = randomness.Random(seed)
    # Some cores get far more steps than others, and the favoured cores change.
    weights = [random.choice([1, 1, 5, 60]) for _ in chain.threads]

    def order(count: int) -> int:
        if random.random() < 0.01:
            random.shuffle(weights)
        return random.choices(range(count), weights)[0]

    assert run(chain, make_step(index="b-plus-tree"), in_turns(r, s, 50), order) == wanted(
        r, s, 13, half
    )
    check_invariants(chain)


def test_both_streams_pass_the_chain_without_waiting_for_each_other():
    r, s, half = keys_of("random", 200)
    chain = make_chain("nested-loop", 16, half, 8)
    steps = itertools.count()
    found = run(
        chain, make_step(index="nested-loop"), in_turns(r, s, 200), lambda n: next(steps) % n
    )
    assert found == wanted(r, s, 16, half)
    # The cores take steps in turn; core 0 takes two for a tuple, because it also gives out the
    # partners. If a message waited until the turn of its tuple, each of the 400 would take one
    # round for each core.
    assert next(steps) / 8 < 2.2 * 400


def test_who_has_handed_on_or_taken_partners_says_that_it_got_on():
    # A tuple of S matches 6 of R, of which core 1 keeps 3: words for core 0, which has room for
    # one.
    keys, step = np.zeros(6, np.int32), make_step(index="nested-loop")
    chain = make_chain("nested-loop", 8, 0, 2, partners=1)
    feed = by_time(np.arange(6), keys, np.array([9]), keys[:1])
    rings = chain.shared.partners.positions
    for number in itertools.islice(itertools.cycle((1, 1, 1, 0)), 400):
        before = rings[::LINE_WORDS].copy()
        status = step(chain.shared, chain.threads[number], chain.output, feed)
        if status == NOT_READY:
            # Neither the producer's positions nor the consumer's.
            moved = rings[::LINE_WORDS] != before
            assert not moved[0::4].any() and not moved[2::4].any()
    assert step(chain.shared, chain.threads[0], chain.output, feed) == END


def test_a_chain_that_has_ended_goes_on():
    r, s, half = keys_of("random", 80)
    chain, step = make_chain("pim-tree", 20, half, 3), make_step(index="pim-tree")
    random = randomness.Random(1)
    # Windows are filled without probing, and then the rows begin again.
    filled = run(chain, step, in_turns(r, s, 30, probing=False), random.randrange)
    assert filled == [[]] * 60
    reopen(chain)
    found = run(chain, step, in_turns(r, s, 130), random.randrange)
    rows = np.arange(130) % 80
    assert found == wanted(r[rows], s[rows], 20, half)[60:]


def wanted_by_time(times, keys, window: int, span: int, half: int) -> list[list[int]]:
    """Return the partners of each tuple in arrival order; for one stream, the earlier partners."""
    arriving = sorted((t, side, n) for side, of in enumerate(times) for n, t in enumerate(of))
    arrived, found = [0] * len(times), []
    for time, side, position in arriving:
        other = len(times) - 1 - side
        first = 0 if span else max(arrived[other] - window, 0)
        inside = [
            n for n in range(first, arrived[other]) if not span or times[other][n] >= time - span
        ]
        key = keys[side][position]
        found.append([n for n in inside if abs(int(key) - int(keys[other][n])) <= half])
        arrived[side] += 1
    return found


def most_within(times, span: int) -> int:
    """Return the most tuples in any window of `span` ticks: no core has room for more."""
    behind = [np.arange(1, len(of) + 1) - np.searchsorted(of, of - span) for of in times]
    return max(int(each.max(initial=1)) for each in behind)


ARRIVING = {
    "spread": (300, 60, 45),
    "ties": (6, 60, 45),
    "at once": (1, 30, 50),
    "nothing of S": (90, 40, 0),
    "nothing of R": (90, 0, 40),
}


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ARRIVING)
@pytest.mark.parametrize("streams", [2, 1])
def test_tuples_arrive_by_time_and_leave_by_it(threads, name, streams):
    latest, *rows = ARRIVING[name]
    random = np.random.default_rng(latest)
    times = [np.sort(random.integers(0, latest, n)) for n in rows[:streams]]
    keys = [random.integers(-40, 40, n) for n in rows[:streams]]
    nothing = [NOTHING] * (2 - streams)
    feed = by_time(times[0], keys[0], *(times + nothing)[1:], *(keys + nothing)[1:])
    for window, span in ((7, 0), *((most_within(times, s), s) for s in (5, 40, 2**62 - 1))):
        chain = make_chain("b-plus-tree", window, 6, threads, two_way=streams == 2, span=span)
        order = randomness.Random(span).randrange
        found = run(chain, make_step(index="b-plus-tree"), feed, order)
        assert found == wanted_by_time(times, keys, window, span, 6), (window, span)
        check_invariants(chain)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("b-plus-tree", 0, 1, 2), "between 1 and"),
        (("b-plus-tree", 8, -1, 2), "at least 0"),
        (("b-plus-tree", 8, 1, 0), "1 to 16 threads"),
        (("b-plus-tree", 8, 1, 17), "1 to 16 threads"),
    ],
)
def test_what_no_chain_can_be_is_refused(given, message):
    with pytest.raises(UsageError, match=message):
        make_chain(*given)
