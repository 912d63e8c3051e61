"""The parallel join finds the pairs of a nested loop, under any timing of the threads.

The indexes here are obviously correct: a tree under one lock, and a row of entries that merges. The
join treats every other index the same.
"""

from __future__ import annotations

import random as randomness
from collections.abc import Callable

import numpy as np
import pytest

from operators import registry
from operators.contract import END, NOT_READY, READY, UsageError
from operators.core import histogram
from operators.core.jit import INTERPRETED, inlined
from operators.join.family import FOUND, INDEX_FULL, JoinOperations, State, Timing
from operators.join.feed import in_turns
from operators.join.merging import ENTER
from operators.join.shared_state import (
    NO_STAGE,
    PHASE,
    STAGE,
    STUCK,
    forget_latency,
    latency_of,
)
from operators.join.work_queue import slack_of
from tests.contract.test_join import INT32, SUITE, wanted
from tests.covering import compiled_few, interpreted_is_enough
from tests.operators.index.locked_index import LOCKED_TREE, MERGING_ROW
from tests.operators.join import parameters
from tests.operators.join.running import feed_of, join, join_over, make_given, make_runner

TREE, ROW = join_over("locked-tree", LOCKED_TREE), join_over("merging-row", MERGING_ROW)
JOINS = {each.id: each for each in (TREE, ROW)}
# Indexes that merge: the row, and the measured one.
PIM_TREE = registry.variant("join", "pim-tree-parallel")
MERGING = {each.id: each for each in (ROW, PIM_TREE)}
# The join behaves the same over each index: compiled tests use the measured indexes, and the join's
# corner cases are tested here, interpreted.
ANY_INDEX = pytest.mark.parametrize("name", compiled_few(JOINS, ()))
# After so many steps in which no thread proceeds, the join counts as deadlocked.
IDLE = 20_000


def run(
    operations: JoinOperations,
    step: Callable[..., int],
    state: State,
    feed,
    choose: Callable[[], int],
) -> list[list[int]]:
    """Let the thread selected by `choose` take a step, until all have ended; return the output."""
    given = make_given(feed.end_r + feed.end_s, len(state.output.partners))
    once = make_runner(step)
    ended: set[int] = set()
    idle = 0
    while len(ended) < len(state.threads):
        number = choose()
        if number in ended:
            continue
        status = once(state.shared, state.threads[number], state.output, feed, 1, given)
        assert status in (END, NOT_READY, READY, FOUND), f"thread {number} answers {status}"
        idle = idle + 1 if status == NOT_READY else 0
        assert idle < IDLE, "nobody gets on"
        if status == END:
            ended.add(number)
    operations.check_invariants(state)
    return [sorted(each) for each in given.lists()]


def streams_of(seed: int, count: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return sides, keys and a half width, whose kind depends on the seed."""
    random = np.random.default_rng(seed)
    kinds = {
        0: (random.integers(-(1 << 20), 1 << 20, count), 1 << 14),
        1: (random.integers(0, 6, count), 0),
        2: (np.full(count, -3), 0),
        3: (random.choice([INT32.min, INT32.min + 1, 0, INT32.max], count), 1),
        4: (np.linspace(0, 1e6, count).astype(int) + random.integers(0, 9_000, count), 4_000),
        5: ((random.pareto(1.0, count) * 100).astype(int) % (1 << 30), 20),
    }
    keys, half_width = kinds[seed % len(kinds)]
    return random.integers(0, 2, count), keys, half_width


@pytest.fixture
def any_parameters(monkeypatch):
    for each in JOINS.values():
        monkeypatch.setitem(parameters.SETTINGS, each.id, parameters.settings_of(each))


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.name)
@ANY_INDEX
def test_a_join_over_a_locked_index_is_a_join(name: str, case, any_parameters):
    case.body(JOINS[name])


@pytest.mark.parametrize("seed", range(24))
@ANY_INDEX
def test_any_threads_and_tasks_find_the_same_pairs(name: str, seed: int):
    random = randomness.Random(seed)
    count = 150 if INTERPRETED else 900
    sides, keys, half_width = streams_of(seed, count)
    sides = sides * (seed % 3 > 0)
    window = random.choice([1, 2, 7, 64, 300])
    own = {
        "threads": random.choice([1, 2, 3, 5, 16]),
        "task_size": random.choice([1, 2, 8, 21, 64]),
        "descents": random.choice(["one-by-one", "lock-step"]),
        # Buffers too small for most tuples, and tasks that hardly run ahead.
        "room": random.choice([2, 16, 1 << 15]),
        "ahead": random.choice([1, 2, 4, 0]),
    }
    if name == ROW.id:
        own["merge"] = random.choice(["blocking", "non-blocking"])
        own["merge_ratio"] = random.choice([0.1, 1])
    operations = JOINS[name].operations
    for span in (0, 40):
        times = np.cumsum(np.random.default_rng(seed).choice([0, 1, 2, 30], count))
        state = operations.make_state(
            count if span else window, half_width, two_way=bool(sides.any()), span=span, **own
        )
        feed = feed_of(sides, keys, times)
        given = make_given(count, count)
        join(operations, operations.make_step(**own), state, feed, given, seed)
        operations.check_invariants(state)
        found = [sorted(each) for each in given.lists()]
        two_way = bool(sides.any())
        assert found == wanted(window, half_width, sides, keys, times, span, two_way), own


def starving(state: State, random: randomness.Random, seen: set[int]) -> Callable[[], int]:
    """Return a choice of threads that starves merging threads; `seen` collects their stages."""
    threads = len(state.threads)

    def choose() -> int:
        number = random.randrange(threads)
        stage = int(state.threads[number].words[STAGE])
        if stage != NO_STAGE:
            seen.add(stage)
            if random.random() > 0.02:
                return (number + 1) % threads
        return number

    return choose


@pytest.mark.parametrize("merge", ["non-blocking", "blocking"])
@pytest.mark.parametrize("merge_ratio", [0.2, 1])
@pytest.mark.parametrize("name", compiled_few(MERGING, ("pim-tree-parallel",)))
@pytest.mark.xdist_group("pim-tree-parallel")
def test_a_merging_thread_that_hardly_runs_loses_nothing(name: str, merge: str, merge_ratio: float):
    # Tuples are held until there is no room for more, and many arrive while these are entered. The
    # compiled test reuses the contract's kernel: with larger nodes, and many in a window.
    window, count, fan_out = (30, 400, 4) if INTERPRETED else (200, 1_500, 32)
    operations, seen = MERGING[name].operations, set()
    for seed in range(3 if INTERPRETED else 1):
        sides, keys, half_width = streams_of(6 * seed, count)
        own = {"threads": 3, "task_size": 2, "merge": merge, "merge_ratio": merge_ratio}
        if name == PIM_TREE.id:
            own |= {"fan_out": fan_out, "insertion_depth": 1}
        state = operations.make_state(window, half_width, ahead=4, **own)
        choose = starving(state, randomness.Random(seed), seen)
        found = run(operations, operations.make_step(**own), state, feed_of(sides, keys), choose)
        assert found == wanted(window, half_width, sides, keys)
        assert operations.merge_ns(state) > 0
    assert ENTER in seen


@interpreted_is_enough
@pytest.mark.parametrize("merge", ["non-blocking", "blocking"])
def test_what_comes_as_held_tuples_are_entered_has_room(merge: str):
    # As many tuples are held as allowed, many times the number at which a merge is due, and as many
    # arrive while these are entered. Ascending keys leave the leaves half empty.
    operations, seen, window = PIM_TREE.operations, set(), 2_048
    keys, sides = np.arange(3_500), np.zeros(3_500, int)
    own = {
        "threads": 3, "task_size": 2, "merge": merge, "merge_ratio": 1 / 256, "fan_out": 4,
        "insertion_depth": 1,
    }  # fmt: skip
    state = operations.make_state(window, 1, two_way=False, ahead=1, **own)
    held = state.shared.queue.held_most
    assert held == window // 4 > operations.cycle(state) + slack_of(1, 2)
    choose = starving(state, randomness.Random(1), seen)
    most = 0

    def choose_and_count() -> int:
        nonlocal most
        most = max(most, int(state.shared.indexes.r.counts.sum()))
        return choose()

    step, feed = operations.make_step(**own), feed_of(sides, keys)
    found = run(operations, step, state, feed, choose_and_count)
    assert found == wanted(window, 1, sides, keys, two_way=False)
    assert ENTER in seen
    if merge == "non-blocking":
        # More than `held` tuples of one merge plus the entries that make a merge due.
        assert held + operations.cycle(state) + slack_of(1, 2) < most <= 2 * held


@interpreted_is_enough
def test_what_finds_no_room_is_given_out_by_its_thread():
    # Each tuple has the whole window as partners, but a buffer has room for two.
    operations = TREE.operations
    keys, sides = np.full(200, 7), np.arange(200) % 2
    state = operations.make_state(50, 0, threads=3, task_size=4, room=2)
    stuck = 0
    random = randomness.Random(1)

    def choose():
        nonlocal stuck
        stuck = max(stuck, sum(int(each.words[PHASE]) == STUCK for each in state.threads))
        return random.randrange(3)

    found = run(operations, operations.make_step(), state, feed_of(sides, keys), choose)
    assert found == wanted(50, 0, sides, keys)
    assert stuck == 3, "all threads were stuck at once"


@interpreted_is_enough
def test_a_tuple_without_results_needs_no_room():
    # No result would fit into a buffer of two.
    operations = TREE.operations
    keys, sides = np.arange(60) * 10, np.arange(60) % 2
    state = operations.make_state(50, 0, threads=1, task_size=4, room=2)
    step, feed = operations.make_step(), feed_of(sides, keys)
    given = make_given(60, len(state.output.partners))
    once, status = make_runner(step), READY
    while status != END:
        status = once(state.shared, state.threads[0], state.output, feed, 1, given)
        assert state.threads[0].words[PHASE] != STUCK
    assert given.lists() == [[] for _ in keys]


@pytest.mark.parametrize("changes", [(2, 4, 1), (1, 3), (4, 1, 2, 1)])
@ANY_INDEX
def test_threads_come_and_go_and_the_output_is_the_same(name: str, changes: tuple[int, ...]):
    operations, every = JOINS[name].operations, 90
    sides, keys, half_width = streams_of(6, 500)
    state = operations.make_state(
        40, half_width, threads=4, task_size=3, changes=changes, every=every
    )
    random = randomness.Random(3)
    step, feed = operations.make_step(), feed_of(sides, keys)
    found = run(operations, step, state, feed, lambda: random.randrange(4))
    assert found == wanted(40, half_width, sides, keys)
    processed = [int(operations.seen(each)) for each in state.threads]
    assert sum(processed) == len(keys)
    # A thread of a merging index may be busy with merges during all of a part.
    least = 1 if name == TREE.id else 0
    assert all(each >= least for each in processed[: max(changes)]), processed
    assert not any(processed[max(changes) :]), processed


def test_who_has_no_part_takes_nothing():
    operations = TREE.operations
    keys = np.arange(300)
    state = operations.make_state(20, 1, threads=3, task_size=2, changes=(1, 3), every=100)
    step, feed = operations.make_step(), feed_of(np.zeros(300, int), keys)
    for _ in range(40):
        for number in (1, 2):
            status = step(state.shared, state.threads[number], state.output, feed)
            assert status == NOT_READY
    given = 0
    while given < 100:
        status = step(state.shared, state.threads[0], state.output, feed)
        given += status == FOUND
    assert step(state.shared, state.threads[1], state.output, feed) == READY
    assert operations.seen(state.threads[1]) == 2


def test_an_index_without_room_ends_the_run():
    def without_slack(window, slack, key_bits, threads, **parameters):
        return LOCKED_TREE.make_state(1, 0, key_bits, threads, fan_out=4)

    broken = join_over("broken", LOCKED_TREE._replace(make_state=without_slack)).operations
    keys = np.arange(400)
    state = broken.make_state(300, 0, threads=1, two_way=False)
    step, feed = broken.make_step(), feed_of(np.zeros(400, int), keys)
    statuses = {step(state.shared, state.threads[0], state.output, feed) for _ in range(400)}
    assert INDEX_FULL in statuses


class Counting:
    """Counts the largest number of entries that an index held at once."""

    def __init__(self) -> None:
        self.entries = self.most = 0


@pytest.mark.skipif(not INTERPRETED, reason="counts in Python")
@pytest.mark.parametrize("seed", range(6))
def test_what_is_indexed_and_not_removed_is_bounded(seed: int):
    count = Counting()

    @inlined
    def insert(view, key, position):
        count.entries += 1
        count.most = max(count.most, count.entries)
        return LOCKED_TREE.insert(view, key, position)

    @inlined
    def remove(view, key, position):
        count.entries -= 1
        LOCKED_TREE.remove(view, key, position)

    counted = join_over("counted", LOCKED_TREE._replace(insert=insert, remove=remove)).operations
    sides, keys, half_width = streams_of(6, 600)
    sides[:] = 0
    state = counted.make_state(5, half_width, two_way=False, threads=3, task_size=2, ahead=4)
    random = randomness.Random(seed)
    # One thread hardly runs, whatever the phase; the slow thread changes from time to time.
    slow = [0]

    def choose():
        if random.random() < 0.01:
            slow[0] = random.randrange(3)
        number = random.randrange(3)
        return number if number != slow[0] or random.random() < 0.03 else (number + 1) % 3

    run(counted, counted.make_step(), state, feed_of(sides, keys), choose)
    assert 5 + 2 * 4 < count.most <= 5 + slack_of(4, 2)


def test_clocks_say_how_long_tasks_and_tuples_take():
    operations = TREE.operations
    state = operations.make_state(20, 100, threads=2, task_size=4)
    timing = Timing(lambda notes: False, lambda *times: None)
    given = make_given(200, 20)
    feed = in_turns(np.arange(100), np.arange(100), 100)
    join(operations, operations.make_step(timing), state, feed, given)
    latency = latency_of(state)
    assert [histogram.count(each) for each in latency] == [50, 200]
    tasks, tuples = latency
    assert 0 < histogram.percentile(tasks, 50) <= histogram.largest(tasks)
    # A task of four tuples cannot end before a latency of any of them.
    assert histogram.largest(tuples) > histogram.smallest(tasks) > 0
    forget_latency(state)
    assert [histogram.count(each) for each in latency_of(state)] == [0, 0]


@interpreted_is_enough
def test_without_clocks_no_times_are_taken():
    operations, feed = TREE.operations, in_turns(np.arange(100), np.arange(100), 100)
    join_without = operations.make_state(20, 100, threads=2, task_size=4)
    join(operations, operations.make_step(), join_without, feed, make_given(200, 20))
    assert [histogram.count(each) for each in latency_of(join_without)] == [0, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"threads": 17}, "threads must be between 1 and 16, received 17"),
        ({"task_size": 65}, "task_size must be between 1 and 64, received 65"),
        ({"threads": 2, "changes": (1, 3)}, "2 threads"),
        ({"room": 3}, "power of two"),
    ],
)
def test_what_no_join_can_be_is_refused(given, message):
    with pytest.raises(UsageError, match=message):
        TREE.operations.make_state(8, 1, **given)
