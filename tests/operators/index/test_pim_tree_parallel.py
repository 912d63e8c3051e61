"""The PIM-Tree of several threads alone: hand-over, splits, and a merge that any threads work at.

What every index of several threads must do is in `tests.contract.test_shared_index`.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from operators.contract import ACCEPTED, FULL, UsageError
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, fetch_add, load, yield_thread
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import hits
from operators.index import pim_tree_parallel
from operators.index.family import position_of, sequence_of
from operators.index.pim_parallel_state import CHUNK, SUBINDEXES
from operators.index.window import NEWEST, OLDEST, make_answer, make_window
from tests.covering import interpreted_is_enough

INDEX = pim_tree_parallel.SHARED
MERGES = INDEX.merges
LIMITS = np.iinfo(np.int32)
# Sequences wrap in the middle of each run.
BEGIN = (1 << 32) - 150


def compiled_in_full(value, **more):
    """Return a parameter of nodes of four: they have kernels of their own."""
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


# --- kernels --------------------------------------------------------------------------------------

begin, count, copy = MERGES.begin, MERGES.count, MERGES.copy
place, finish, swap = MERGES.place, MERGES.finish, MERGES.swap
insert, find, scan, is_due = INDEX.insert, INDEX.find, INDEX.scan, MERGES.is_due
# Stages of a merge.
BEGIN_MERGE, COUNT, PLACE, COPY, FINISH, SWAP = range(6)


@kernel
def insert_all(view, keys, first):
    """Insert keys at positions from `first` on; return how many were accepted."""
    for at in range(len(keys)):
        if insert(view, keys[at], first + at) != ACCEPTED:
            return at
    return len(keys)


@kernel
def search_all(view, lows, highs, places, words, out, found, ends, wanted, stop):
    """Search ranges, whose descents are made together, until told to stop, once at least.

    `found` has the positions that the last round found, `ends` where those of each range end. Where
    `wanted` has of each range how many there are, and their sum, the answer is how often there were
    others.
    """
    wrong = 0
    again = True
    while again:
        again = load(stop, 0, RELAXED) == 0
        find(view, lows, 0, len(lows), places)
        total = 0
        for at in range(len(lows)):
            where = at * pim_tree_parallel.PLACE_WORDS
            count = scan(view, lows[at], highs[at], places, where, words, out, 0)
            positions = 0
            for each in range(count):
                found[total + each] = out[each]
                positions += out[each]
            total += count
            ends[at] = total
            if len(wanted) > 0 and (count != wanted[2 * at] or positions != wanted[2 * at + 1]):
                wrong += 1
    return wrong


@kernel
def do(view, stage, number):
    """Do one stage of a merge: a piece of it, or all of what begins at a position."""
    if stage == BEGIN_MERGE:
        return begin(view, number)
    if stage == COUNT:
        count(view, number)
    elif stage == PLACE:
        place(view)
    elif stage == COPY:
        copy(view, number)
    elif stage == FINISH:
        finish(view)
    else:
        swap(view)
    return is_due(view)


@kernel
def work_at(view, pieces, turns, threads):
    """Do a thread's part of a merge: pieces as they come, and what one does, whoever is last."""
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


# --- what is asked for ----------------------------------------------------------------------------


class Tree:
    """A tree of three threads, and what it should have: keys by position, from `BEGIN` on."""

    def __init__(self, window: int, slack: int, **own) -> None:
        self.state = INDEX.make_state(window, slack, threads=3, **own)
        self.views = INDEX.views(self.state, 3)
        self.keys: list[int] = []
        self.kept = 0  # what is before was merged away

    def insert(self, keys, thread: int = 0) -> None:
        """Insert keys, which there is room for."""
        keys = np.asarray(keys, dtype=np.int64)
        assert insert_all(self.views[thread], keys, BEGIN + len(self.keys)) == len(keys)
        self.keys += keys.tolist()

    def merge(self, oldest: int, random, looking=None) -> None:
        """Merge with pieces in any order by any thread; `looking` looks between them."""
        look = looking or (lambda: None)
        pieces = do(self.views[0], BEGIN_MERGE, BEGIN + oldest)
        for stage, alone in ((COUNT, PLACE), (COPY, FINISH)):
            for piece in random.permutation(pieces).tolist():
                do(self.views[random.integers(3)], stage, piece)
                look()
            do(self.views[random.integers(3)], alone, 0)
            look()
        do(self.views[random.integers(3)], SWAP, 0)
        self.kept = oldest
        self.check()

    def check(self) -> None:
        """Compare what the tree has with what it should have."""
        INDEX.check_invariants(self.state)
        there = range(self.kept, len(self.keys))
        wanted = sorted((self.keys[at], sequence_of(BEGIN + at)) for at in there)
        assert INDEX.entries(self.state) == wanted

    def search(self, lows, highs, oldest: int, newest: int, thread: int = 1) -> None:
        """Search ranges for the tuples from `oldest` to `newest`, and compare."""
        found = self.found(lows, highs, oldest, newest, thread)
        for low, high, each in zip(lows, highs, found, strict=True):
            asked = range(oldest, newest + 1)
            assert each == [at for at in asked if low <= self.keys[at] <= high]

    def found(self, lows, highs, oldest: int, newest: int, thread: int) -> list[list[int]]:
        """Return what a search finds of each range, as numbers of tuples in order."""
        most = max(newest + 1 - oldest, 1)
        words, out = make_window(), make_answer(most)
        words[OLDEST], words[NEWEST] = sequence_of(BEGIN + oldest), BEGIN + newest
        places = np.zeros(len(lows) * INDEX.places_of(self.state), np.int64)
        found, ends = np.zeros(len(lows) * most, np.int64), np.zeros(len(lows), np.int64)
        given = np.asarray(lows, np.int64), np.asarray(highs, np.int64)
        once, nothing = np.ones(1, np.int64), np.zeros(0, np.int64)
        search_all(self.views[thread], *given, places, words, out, found, ends, nothing, once)
        begins = [0, *ends[:-1].tolist()]
        return [
            sorted(int(position) - BEGIN for position in found[a:b])
            for a, b in zip(begins, ends.tolist(), strict=True)
        ]


def streams(random, size: int) -> dict[str, np.ndarray]:
    """Return keys by name."""
    ends = np.array([LIMITS.min, LIMITS.min + 1, -1, 0, LIMITS.max - 1, LIMITS.max])
    return {
        "random": random.integers(-100_000, 100_000, size),
        "tied": random.integers(0, 9, size),
        "equal": np.full(size, 5),
        "extreme": random.choice(ends, size),
        "skewed": (random.pareto(1.0, size) * 100).astype(np.int64) % (1 << 30),
        "drifting": np.arange(size) * 5 + random.integers(0, 60, size),
    }


def ranges(random, keys: list[int], many: int) -> tuple[list[int], list[int]]:
    """Return ends of ranges: narrow ones, wide ones, all there is."""
    lows = random.choice(keys, many)
    highs = lows + random.choice([0, 1, 50, 5_000, 1 << 33], many)
    lows[0], highs[0] = LIMITS.min, LIMITS.max
    return lows.tolist(), np.minimum(highs, LIMITS.max).tolist()


# --- merges ---------------------------------------------------------------------------------------

WINDOW, SLACK = (40, 30) if INTERPRETED else (600, 300)


@pytest.mark.parametrize("stream", streams(np.random.default_rng(1), 1))
@pytest.mark.parametrize("own", EACH)
def test_a_merge_keeps_what_is_asked_for_and_nothing_else(own, stream):
    random = np.random.default_rng(5)
    keys = streams(random, 6 * (WINDOW + SLACK))[stream]
    tree = Tree(WINDOW, SLACK, **own)
    taken = 0
    # How much is inserted, and how much of what there is then has expired: nothing, some of T_S,
    # all of T_S and some of T_I, all of both.
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
    # It was due at 64 more; its thread comes to it after 60 others.
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


@pytest.mark.skipif(INTERPRETED, reason="threads that hold the interpreter take turns anyway")
@pytest.mark.parametrize("own", EACH[1::3])
def test_threads_work_at_a_merge_together(own):
    random = np.random.default_rng(8)
    tree = Tree(20_000, 9_000, **own)
    for _ in range(3):
        tree.insert(random.integers(-(10**6), 10**6, 14_000))
        oldest = max(len(tree.keys) - int(random.integers(5_000, 20_000)), tree.kept)
        pieces = do(tree.views[0], BEGIN_MERGE, BEGIN + oldest)
        turns = aligned_words(LINE_WORDS)
        on_threads(*((work_at, view, pieces, turns, 3) for view in tree.views))
        do(tree.views[0], SWAP, 0)
        tree.kept = oldest
        tree.check()


def on_threads(*calls: tuple) -> list:
    """Make each call in a thread of its own, all at once, and return their answers."""
    answers: list = [None] * len(calls)

    def run(place: int, function, *arguments) -> None:
        answers[place] = function(*arguments)

    threads = [
        threading.Thread(target=run, args=(place, *call)) for place, call in enumerate(calls)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
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
        # Where there are levels for it.
        if own["insertion_depth"] > 0 and stable > own.get("fan_out", 32) ** 2:
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
    tree.insert(keys, 2)
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


@interpreted_is_enough
def test_a_look_without_room_for_a_torn_leaf_takes_the_lock():
    tree = Tree(50, 0, reads="versioned")
    tree.insert(range(50))
    before = hits["pim_tree_parallel: a look takes the lock"]
    tree.search([10], [12], 10, 12)
    assert hits["pim_tree_parallel: a look takes the lock"] == before + 1


@interpreted_is_enough
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
