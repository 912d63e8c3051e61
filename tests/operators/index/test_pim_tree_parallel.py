"""The parallel PIM-Tree alone: hand-over, splits, and a merge shared by any threads.

The contract of all shared indexes is in `tests.contract.test_shared_index`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from operators.contract import FULL, UsageError
from operators.core.atomics import ACQ_REL, ACQUIRE, fetch_add, load, yield_thread
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import hits
from operators.index.family import position_of, sequence_of
from operators.index.pim_parallel_state import CHUNK, SUBINDEXES
from operators.index.window import NEWEST, OLDEST, make_answer, make_window
from tests.operators.core.running import run_threads
from tests.operators.index.parallel_trees import (
    BEGIN,
    BEGIN_MERGE,
    INDEX,
    MERGES,
    SWAP,
    Tree,
    copy,
    count,
    do,
    finish,
    insert_all,
    place,
    ranges,
    search_all,
    streams,
)

# On the worker that compiles the index for the contract tests.
pytestmark = pytest.mark.xdist_group("pim-tree-parallel")


def compiled_in_full(value, **more):
    """Return a parameter with nodes of four, which need separate kernels."""
    return pytest.param(value, marks=[] if INTERPRETED else [pytest.mark.full], **more)


EACH = [
    compiled_in_full(
        {"fan_out": 4, "insertion_depth": depth, "reads": reads}, id=f"4-{depth}-{reads}"
    )
    for depth, reads in ((0, "versioned"), (1, "locked"), (2, "versioned"), (3, "locked"))
] + [
    pytest.param({"insertion_depth": 1, "reads": reads}, id=f"32-{reads}")
    for reads in ("locked", "versioned")
]
EACH += [
    compiled_in_full({"fan_out": 4, "attached": "blocks", "reads": "versioned"}, id="4-blocks"),
    pytest.param({"attached": "blocks", "reads": "versioned"}, id="32-blocks"),
]


@kernel
def work_at(view, pieces, turns, threads):
    """Do a thread's part of a merge: pieces in any order, and serial steps if it is the last."""
    piece = fetch_add(turns, 0, 1, ACQ_REL)
    while piece < pieces:
        count(view, piece)
        piece = fetch_add(turns, 0, 1, ACQ_REL)
    if fetch_add(turns, 1, 1, ACQ_REL) == threads - 1:
        place(view)
        fetch_add(turns, 2, 1, ACQ_REL)
    while load(turns, 2, ACQUIRE) == 0:
        yield_thread()
    piece = fetch_add(turns, 3, 1, ACQ_REL)
    while piece < pieces:
        copy(view, piece)
        piece = fetch_add(turns, 3, 1, ACQ_REL)
    if fetch_add(turns, 4, 1, ACQ_REL) == threads - 1:
        finish(view)


# --- merges ---------------------------------------------------------------------------------------

WINDOW, SLACK = (40, 30) if INTERPRETED else (600, 300)


@pytest.mark.parametrize("stream", streams(np.random.default_rng(1), 1))
@pytest.mark.parametrize("own", EACH)
def test_a_merge_keeps_what_is_asked_for_and_nothing_else(own, stream):
    random = np.random.default_rng(5)
    keys = streams(random, 6 * (WINDOW + SLACK))[stream]
    tree = Tree(WINDOW, SLACK, **own)
    taken = 0
    # The part of the window inserted, and the part of the entries that has expired then: none, some
    # of T_S, all of T_S and some of T_I, all of both.
    for part, expired in ((1, 0), (0.4, 0.3), (0.6, 0.7), (1, 0.9), (0.3, 1), (0.5, 0.1)):
        size = int(part * WINDOW)
        for thread, some in enumerate(np.array_split(keys[taken : taken + size], 3)):
            tree.insert(some, thread)
        taken += size
        oldest = tree.kept + int(expired * (taken - tree.kept))

        def look(oldest=oldest, taken=taken):
            lows, highs = ranges(random, tree.keys, 5)
            tree.search(lows, highs, oldest, taken - 1, int(random.integers(3)))

        look()
        tree.merge(oldest, random, look)
        look()


def test_a_merge_that_comes_late_finds_expired_entries_in_both_components():
    random = np.random.default_rng(3)
    tree = Tree(64, 64)
    tree.insert(random.integers(0, 1000, 64))
    tree.merge(0, random)
    # The merge was due after 64 more; the thread notices after 60 others.
    tree.insert(random.integers(0, 1000, 64), 1)
    assert MERGES.is_due(tree.views[2])
    tree.insert(random.integers(0, 1000, 60), 2)
    tree.merge(124, random)
    assert not MERGES.is_due(tree.views[0])
    assert len(INDEX.entries(tree.state)) == 64


def test_a_merge_is_due_by_what_all_threads_have_inserted():
    tree = Tree(100, 10, merge_ratio=0.09)
    for key in range(9):
        assert not MERGES.is_due(tree.views[0])
        tree.insert([key], key % 3)
    assert all(MERGES.is_due(view) for view in tree.views)


@pytest.mark.skipif(INTERPRETED, reason="tens of thousands of tuples")
@pytest.mark.parametrize("own", EACH[1::3])
def test_threads_work_at_a_merge_together(own):
    random = np.random.default_rng(8)
    tree = Tree(20_000, 9_000, **own)
    for _ in range(3):
        tree.insert(random.integers(-(10**6), 10**6, 14_000))
        oldest = max(len(tree.keys) - int(random.integers(5_000, 20_000)), tree.kept)
        pieces = do(tree.changed[0], BEGIN_MERGE, BEGIN + oldest)
        turns = aligned_words(LINE_WORDS)
        on_threads(*((work_at, view, pieces, turns, 3) for view in tree.changed))
        do(tree.changed[0], SWAP, 0)
        tree.kept = oldest
        tree.check()


def on_threads(*calls: tuple) -> list:
    """Make each call concurrently in a separate thread, and return the answers."""
    answers: list = [None] * len(calls)

    def run(place: int, function, *arguments) -> None:
        answers[place] = function(*arguments)

    run_threads(*(partial(run, place, *call) for place, call in enumerate(calls)))
    return answers


# --- searches beside insertions -------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["random", "tied", "extreme"])
@pytest.mark.parametrize("own", EACH)
def test_searches_hand_over_while_others_insert(own, stream):
    """Two threads search ranges over many subindexes while a third splits their leaves."""
    random = np.random.default_rng(4)
    window, more, rounds = (60, 60, 2) if INTERPRETED else (1_500, 6_000, 2)
    for _ in range(rounds):
        tree = Tree(window, more, **own)
        keys = streams(random, window + more)[stream]
        stable = 3 * window // 4
        tree.insert(keys[:stable])
        tree.merge(0, random)
        tree.insert(keys[stable:window])
        # If there are levels for a split.
        if own.get("insertion_depth", 2) > 0 and stable > own.get("fan_out", 32) ** 2:
            assert tree.state.words[SUBINDEXES] > 1
        lows, highs = ranges(random, tree.keys, 8)
        words = make_window()
        words[OLDEST], words[NEWEST] = sequence_of(BEGIN), BEGIN + window - 1
        asked = np.asarray(tree.keys)
        inside = [
            np.flatnonzero((asked >= low) & (asked <= high)) + BEGIN
            for low, high in zip(lows, highs, strict=True)
        ]
        wanted = np.array([[len(each), each.sum()] for each in inside]).ravel()
        stop = aligned_words(LINE_WORDS)
        given = np.asarray(lows, np.int64), np.asarray(highs, np.int64)
        calls = []
        for view in tree.views[:2]:
            places = np.zeros(len(lows) * INDEX.places_of(tree.state), np.int64)
            found, ends = np.zeros(len(lows) * window, np.int64), np.zeros(len(lows), np.int64)
            own_words = (places, words, make_answer(window), found, ends)
            calls.append((search_all, view, *given, *own_words, wanted, stop))
        calls.append((insert_and_stop, tree, keys[window:], stop))
        assert on_threads(*calls) == [0, 0, None]
        tree.check()


def insert_and_stop(tree: Tree, keys, stop) -> None:
    try:
        tree.insert(keys, 2)
    finally:
        stop[0] = 1


def test_threads_insert_into_one_subindex_together():
    random = np.random.default_rng(2)
    size = 150 if INTERPRETED else 20_000
    tree = Tree(3 * size, 0, insertion_depth=0)
    keys = [random.integers(0, 50, size) for _ in range(3)]
    calls = [
        (insert_all, view, some, BEGIN + thread * size)
        for thread, (view, some) in enumerate(zip(tree.views, keys, strict=True))
    ]
    assert on_threads(*calls) == [size] * 3
    tree.keys = np.concatenate(keys).tolist()
    tree.check()


@pytest.mark.skipif(not INTERPRETED, reason="marks are counted interpreted")
def test_a_look_without_room_for_a_torn_leaf_takes_the_lock():
    tree = Tree(50, 0, reads="versioned")
    tree.insert(range(50))
    took, void = (f"pim_tree_parallel: a look {what}" for what in ("takes the lock", "is void"))
    before = hits[took], hits[void]
    tree.search([10], [12], 10, 12)
    # Immediately: another look would have no more room.
    assert (hits[took], hits[void]) == (before[0] + 1, before[1])


@pytest.mark.skipif(not INTERPRETED, reason="marks are counted interpreted")
@pytest.mark.parametrize("reads", ["locked", "versioned"])
def test_a_search_goes_on_only_where_its_range_does(reads):
    went_on = "pim_tree_parallel: a search goes on in the next subindex"
    tree = Tree(64, 0, fan_out=4, insertion_depth=2, reads=reads)
    tree.insert(range(64))
    tree.merge(0, np.random.default_rng(0))
    subindexes = int(tree.state.words[SUBINDEXES])
    span = 64 // subindexes
    assert subindexes == 4
    for low in range(0, 60, 3):
        for high in range(low, 64, 5):
            before = hits[went_on]
            tree.search([low], [high], 0, 63)
            assert hits[went_on] - before == high // span - low // span


# --- room, and what is refused --------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["random", "equal", "drifting"])
@pytest.mark.parametrize("fan_out", [compiled_in_full(4), 32])
def test_the_stated_room_is_there_however_threads_share_it(stream, fan_out):
    window, slack = (60, 40) if INTERPRETED else (900, 400)
    random = np.random.default_rng(6)
    for shares in ((1, 0, 0), (1, 1, 1), (5, 1, 0)):
        tree = Tree(window, slack, fan_out=fan_out, insertion_depth=2)
        keys = streams(random, window + slack)[stream]
        parts = np.cumsum(shares)[:-1] * len(keys) // sum(shares)
        for thread, some in enumerate(np.split(keys, parts)):
            tree.insert(some, thread)
        tree.check()


def test_behind_its_room_it_is_full_and_stays_whole():
    tree = Tree(40, 10)
    keys = np.arange(100 * CHUNK)
    accepted = insert_all(tree.views[1], keys, BEGIN)
    assert 50 <= accepted < len(keys)
    assert INDEX.insert(tree.views[1], 5, BEGIN) == FULL
    tree.keys = keys[:accepted].tolist()
    tree.check()
    assert position_of(INDEX.entries(tree.state)[-1][1], BEGIN + accepted) == BEGIN + accepted - 1


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"reads": "never"}, "reads is one of locked, versioned, received 'never'"),
        ({"attached": "root"}, "attached is one of inner, blocks, received 'root'"),
        ({"merge_ratio": 1.5}, "merge_ratio is above 0 and at most 1, received 1.5"),
        ({"insertion_depth": 9}, "insertion_depth is 0 to 6, received 9"),
        ({"threads": 0}, "received 0 threads"),
    ],
)
def test_what_it_cannot_be_is_refused(own, message):
    with pytest.raises(UsageError, match=message):
        INDEX.make_state(50, **own)


def test_more_threads_than_it_was_made_for_are_refused():
    with pytest.raises(UsageError, match="made for 3 threads, received 4"):
        INDEX.views(INDEX.make_state(50, threads=3), 4)


def test_an_odd_fan_out_is_refused():
    with pytest.raises(UsageError, match="fan_out must be even, received 5"):
        INDEX.make_state(50, fan_out=5)
