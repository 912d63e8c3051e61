"""The requirements on every index of several threads: alone, while merging, full, on threads.

The suite runs over two indexes under one lock first (`tests.operators.index.locked_index`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators import registry
from operators.contract import ACCEPTED, FULL
from operators.core.jit import INTERPRETED
from operators.index.family import MASK_32
from operators.index.shared import SharedIndexOperations
from tests import covering
from tests.covering import interpreted_is_enough, taken
from tests.operators.index.locked_index import LOCKED_TREE, MERGING_ROW
from tests.operators.index.shared_scripts import Alone, Sliding, entries_of
from tests.operators.index.shared_threads import Plan, run_plan

INT32, INT64 = np.iinfo(np.int32), np.iinfo(np.int64)
INDEXES = [each for each in registry.variants("index") if each.operations.shared is not None]
SHARED: dict[str, SharedIndexOperations] = {
    "locked tree": LOCKED_TREE,
    "merging row": MERGING_ROW,
    **{variant.id: variant.operations.shared for variant in INDEXES},
}
# Parameters in addition to the defaults: the smallest nodes, every depth, frequent merges.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "locked tree": [{"fan_out": 4}],
    "merging row": [{"merge_ratio": 0.3}],
    "pim-tree-parallel": [
        {"fan_out": 4, "insertion_depth": 2},
        {"fan_out": 4, "insertion_depth": 3, "merge_ratio": 0.3, "reads": "versioned"},
        {"reads": "versioned", "merge_ratio": 0.1},
        {"fan_out": 4, "insertion_depth": 0, "merge_ratio": 0.5},
        {"fan_out": 4, "insertion_depth": 1, "reads": "versioned"},
    ],
    "bw-tree": [
        {"leaf_size": 4, "inner_size": 4, "leaf_chain": 3, "inner_chain": 2},
        {"leaf_size": 4, "inner_size": 4, "leaf_chain": 2, "inner_chain": 1},
        {"leaf_size": 9, "inner_size": 5, "leaf_chain": 6, "inner_chain": 3},
    ],
    "olc-tree": [{"fan_out": 4}, {"fan_out": 6}],
}
# Used to test the suite itself.
PROVING = ("locked tree", "merging row")


# Indexes whose nodes of other sizes need no separate kernels.
OF_ANY_SIZE = ("bw-tree",)


def each_of(settings: int, *, compiled: bool = True) -> list:
    """Return every index at the defaults and, in a normal run, at `settings` other settings.

    ``make test-full`` has all settings. Nodes of other sizes need separate kernels, and are tried
    interpreted. Indexes under a lock, and everything without `compiled`, are compiled in
    ``make test-full`` only.
    """
    found = []
    for name in SHARED:
        for number, own in enumerate(({}, *SETTINGS[name])):
            light = number <= settings
            if not INTERPRETED:
                light = light and compiled and name not in PROVING
                light = light and number <= (name in OF_ANY_SIZE)
            # On the worker that compiles the index for the other contracts.
            marks = [pytest.mark.xdist_group(name)]
            marks += [] if light else [pytest.mark.full]
            case = f"{name} {own}" if own else name
            found.append(pytest.param(name, own, id=case, marks=marks))
    return found


# Sequence numbers wrap from positive to negative in the middle of a run, and from the last to 0.
WRAPS = (1 << 31, 1 << 32)


def streams(count: int, limits: np.iinfo) -> dict[str, tuple[np.ndarray, int]]:
    """Return keys by name, each with a half width."""
    random = np.random.default_rng(7)
    ends = np.array([limits.min, limits.min + 1, -1, 0, limits.max - 1, limits.max])
    moving = np.linspace(0, 1e6, count).astype(np.int64)
    return {
        "random": (random.integers(-100_000, 100_000, count), 4_000),
        "tied": (random.integers(0, 12, count), 1),
        "equal": (np.full(count, 5), 0),
        "rising": (np.arange(count) * 3, 10),
        "falling": (np.arange(count)[::-1] * 3, 10),
        "drifting": (moving + random.integers(0, 50_000, count), 9_000),
        "extreme": (random.choice(ends, count), 1),
        "skewed": ((random.pareto(1.0, count) * 100).astype(np.int64) % (1 << 30), 20),
    }


# --- alone ----------------------------------------------------------------------------------------

# Windows, how far a thread may be ahead of the first missing tuple, and how late deletes are.
SIZES = ((1, 0, 0), (2, 5, 3), (7, 3, 0), (30, 1, 40), (90, 12, 9))


def slide(name: str, own: dict, keys: np.ndarray, half_width: int, size: tuple, **more: Any):
    """Slide a window over keys; raise if a search or the index is wrong."""
    window, ahead, late = size
    limits = INT64 if more.get("key_bits") == 64 else INT32
    first = more.pop("first", WRAPS[window % 2] - len(keys) // 2)
    alone = Alone(SHARED[name], window, 3 * ahead + late + 2, first, **own, **more)
    Sliding(alone, keys, half_width, limits, ahead, late, seed=window).run()


def with_each_stream() -> list:
    """Return every index at every setting with all keys; a normal run has some of the keys.

    Compiled, the defaults have all keys; interpreted, any setting has three, so that the settings
    of an index cover all keys between them.
    """
    names, found = list(streams(4, INT32)), []
    for place, each in enumerate(each_of(9)):
        for number, stream in enumerate(names):
            light = not INTERPRETED or (number - 3 * place) % len(names) < 3
            marks = [*each.marks, *([] if light else [pytest.mark.full])]
            case = f"{each.id}-{stream}"
            found.append(pytest.param(*each.values, stream, id=case, marks=marks))
    return found


@pytest.mark.parametrize(("name", "own", "stream"), with_each_stream())
def test_a_window_slides_with_tuples_in_any_order(name, own, stream):
    keys, half_width = streams(60 if INTERPRETED else 500, INT32)[stream]
    for size in taken(SIZES, SIZES[1::2] if INTERPRETED else SIZES):
        slide(name, own, keys[: 50 + 5 * size[0]], half_width, size)


@pytest.mark.parametrize(("name", "own"), each_of(0, compiled=False))
def test_keys_of_64_bits_are_told_apart(name, own):
    keys, half_width = streams(150, INT64)["extreme"]
    close = np.concatenate([keys, (1 << 40) + np.arange(150) // 3])
    slide(name, own, close, half_width, (40, 6, 5), key_bits=64)


@pytest.mark.skipif(INTERPRETED, reason="thousands of tuples")
@pytest.mark.parametrize(("name", "own"), each_of(1))
def test_a_larger_window_has_nodes_above_nodes(name, own):
    random = np.random.default_rng(3)
    window = 3_000 if covering.FULL else 800
    keys = random.integers(-(10**6), 10**6, 3 * window)
    slide(name, own, keys, 900, (window, 20, 30))


@pytest.mark.parametrize(("name", "own"), each_of(1))
def test_an_empty_index_finds_nothing(name, own):
    alone = Alone(SHARED[name], 20, 4, 100, **own)
    alone.search([(INT32.min, INT32.max), (0, 0), (5, 9)], 100, 99)
    alone.check()
    assert SHARED[name].entries(alone.state) == []


@pytest.mark.parametrize(("name", "own"), each_of(1))
def test_what_has_been_removed_makes_room_until_nothing_is_left(name, own):
    keys = streams(120, INT32)["tied"][0].tolist()
    alone = Alone(SHARED[name], 40, 10, WRAPS[1] - 50, **own)
    for begin in range(0, 120, 40):
        positions = range(alone.first + begin, alone.first + begin + 40)
        alone.enter()
        for position, key in zip(positions, keys[begin:], strict=False):
            alone.insert(key, position)
        alone.leave()
        alone.search([(3, 7), (0, 11)], positions[0], positions[-1])
        alone.enter()
        for _ in positions:
            alone.remove_next()
        alone.leave()
        alone.search([(0, 11)], positions[-1] + 1, positions[-1])
        alone.flush()
        if alone.is_due():
            for _ in alone.stages(positions[-1] + 1, np.random.default_rng(begin)):
                pass
            assert SHARED[name].entries(alone.state) == []
    alone.check()


# --- merges ---------------------------------------------------------------------------------------

MERGING = [each for each in each_of(2) if SHARED[each.values[0]].merges is not None]


@pytest.mark.parametrize("late", [0, 1, 25])
@pytest.mark.parametrize(("name", "own"), MERGING)
def test_a_late_merge_leaves_out_what_has_expired_wherever_it_is(name, own, late):
    # As many new tuples as a window, and `late` more while others delayed the merging thread:
    # expired tuples are in both components.
    window, slack = 50, 30
    keys = np.random.default_rng(late).integers(0, 300, 20 * window).tolist()
    alone = Alone(SHARED[name], window, slack, WRAPS[0] - 200, **own)
    position, merges = alone.first, 0
    while merges < 3:
        before = len(alone.keys)
        while not alone.is_due():
            alone.insert(keys[position - alone.first], position)
            position += 1
            alone.flush()
        for _ in range(late):
            alone.insert(keys[position - alone.first], position)
            position += 1
        alone.flush()
        assert len(alone.keys) > before
        oldest = max(position - window, alone.merged)
        for _ in alone.stages(oldest, np.random.default_rng(merges)):
            alone.search([(0, 300), (100, 120), (7, 7)], oldest, position - 1)
            alone.flush()
        merges += 1
        held = entries_of(SHARED[name], alone.state)
        assert len(held) == position - oldest
        alone.check()


@pytest.mark.parametrize(("name", "own"), MERGING)
def test_a_merge_at_which_nobody_asks_for_anything_leaves_nothing(name, own):
    alone = Alone(SHARED[name], 30, 5, 1000, **own)
    position = 1000
    for _ in range(2):
        while not alone.is_due():
            alone.insert(position % 7, position)
            position += 1
            alone.flush()
        for _ in alone.stages(position, np.random.default_rng(1)):
            alone.search([(0, 9)], position, position - 1)
            alone.flush()
        assert SHARED[name].entries(alone.state) == []
        alone.check()


# --- full -----------------------------------------------------------------------------------------


def fill(alone: Alone, keys: list[int], position: int) -> int:
    """Insert keys one by one, merging where it is due; return the next position."""
    for key in keys:
        alone.insert(key, position)
        position += 1
        if alone.shared.merges is not None:
            alone.flush()
            if alone.is_due():
                for _ in alone.stages(alone.removed, np.random.default_rng(position)):
                    pass
    alone.flush()
    return position


@pytest.mark.parametrize("size", [(1, 1), (5, 40), (50 if INTERPRETED else 150, 17)])
@pytest.mark.parametrize(("name", "own"), each_of(1))
def test_a_window_and_its_slack_fit_however_keys_lie(name, own, size):
    window, slack = size
    total = window + slack
    for rising in (True, False):
        alone = Alone(SHARED[name], window, slack, WRAPS[1] - 70, **own)
        # Of four in a row, three leave: the remaining nodes are as empty as they can be; then a row
        # of keys arrives where there was none.
        sparse = np.arange(total) * 10 if rising else np.arange(total)[::-1] * 10
        order = [*sparse[np.arange(total) % 4 != 0], *sparse[np.arange(total) % 4 == 0]]
        position = fill(alone, [int(key) for key in order], alone.first)
        for turn in range(1, 4):
            leaving = 3 * total // 4
            for _ in range(leaving):
                alone.remove_next()
            alone.flush()
            dense = turn * 100_000 + np.arange(leaving) * (1 if rising else -1)
            position = fill(alone, dense.tolist(), position)
            alone.search([(INT32.min, INT32.max)], position - min(window, leaving), position - 1)
            alone.check()


@interpreted_is_enough
@pytest.mark.parametrize("name", SHARED)
def test_one_that_is_full_says_so_and_loses_nothing(name):
    window, slack = 20, 5
    shared, random = SHARED[name], np.random.default_rng(4)
    alone = Alone(shared, window, slack, 10, **SETTINGS[name][0])
    view = alone.views[1]
    held: list[tuple[int, int]] = []
    refused = 0
    # An index may have more room than it has promised, but the room is finite.
    for position in range(10, 200_000):
        key = int(random.integers(-50, 50))
        shared.enter(view)
        status = shared.insert(view, key, position)
        shared.leave(view)
        if status == ACCEPTED:
            held.append((key, position & MASK_32))
        else:
            assert status == FULL
            refused += 1
            if refused == 3:
                break
    assert refused == 3, "there is no end to its room"
    assert len(held) >= window + slack
    shared.check_invariants(alone.state)
    assert entries_of(shared, alone.state) == sorted(held)


# --- on threads -----------------------------------------------------------------------------------


def plan_of(stream: str, threads: int, stamped: bool, each: int, window: int, ahead: int) -> Plan:
    """Return a plan for threads with `each` positions each."""
    keys, half_width = streams(each * threads, INT32)[stream]
    first = WRAPS[threads % 2] - len(keys) // 2
    return Plan(keys, half_width, threads, window, ahead, 3, first, threads, stamped, INT32)


def streams_of_threads() -> list:
    """Return keys with and without times; a normal run has all keys, and both."""
    few = {("random", True), ("tied", True), ("equal", False), ("extreme", False)}
    return [
        pytest.param(
            stream,
            stamped,
            id=f"{stream}-{'stamped' if stamped else 'edge'}",
            marks=[] if (stream, stamped) in few else [pytest.mark.full],
        )
        for stream in ("random", "tied", "equal", "rising", "extreme", "drifting")
        for stamped in (True, False)
    ]


@pytest.mark.parametrize(("stream", "stamped"), streams_of_threads())
@pytest.mark.parametrize(("name", "own"), each_of(1))
def test_threads_find_what_is_there(name, own, stream, stamped):
    each, rounds, window = (50, 1, 12) if INTERPRETED else (400, 6, 150)
    for threads in taken((1, 2, 3, 4, 8), (3,) if INTERPRETED else (2, 4)):
        plan = plan_of(stream, threads, stamped, each, window, 4 * threads)
        assert run_plan(SHARED[name], plan, rounds=rounds, **own) > 50


@pytest.mark.parametrize(("name", "own"), each_of(2))
def test_threads_that_take_turns_find_what_is_there(name, own):
    for stream, threads in (("random", 2), ("tied", 3)):
        plan = plan_of(stream, threads, True, 40, 12, 3 * threads)
        rounds = 6 if covering.FULL else 1
        assert run_plan(SHARED[name], plan, on_threads=False, rounds=rounds, **own) > 20
