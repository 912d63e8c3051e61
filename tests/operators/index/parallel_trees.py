"""A PIM-Tree of three threads for tests: kernels of the tree's operations, and a model."""

from __future__ import annotations

import numpy as np

from operators.contract import ACCEPTED
from operators.core.atomics import RELAXED, load
from operators.core.jit import kernel
from operators.index import pim_tree_parallel
from operators.index.family import sequence_of
from operators.index.window import NEWEST, OLDEST, make_answer, make_window

INDEX = pim_tree_parallel.SHARED
MERGES = INDEX.merges
LIMITS = np.iinfo(np.int32)
# Sequence numbers wrap around in the middle of each run.
BEGIN = (1 << 32) - 150


# --- kernels --------------------------------------------------------------------------------------

begin, count, copy = MERGES.begin, MERGES.count, MERGES.copy
place, finish, swap = MERGES.place, MERGES.finish, MERGES.swap
insert, find, scan = INDEX.insert, INDEX.find, INDEX.scan
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
    """Search ranges, with one group descent for all, until told to stop, but at least once.

    `found` receives the positions of the last round and `ends` the end of each range's positions.
    `wanted` holds the expected number of positions and their sum for each range; the return value
    counts the mismatches.
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
    """Execute one stage of a merge: a piece, or the whole stage that begins at a position."""
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
    return 0


# --- what is asked for ----------------------------------------------------------------------------


class Tree:
    """A tree of three threads and its model: keys by position, starting at `BEGIN`."""

    def __init__(self, window: int, slack: int, **own) -> None:
        self.state = INDEX.make_state(window, slack, threads=3, **own)
        self.views = INDEX.views(self.state, 3)
        # ``looks`` is fixed when a kernel is compiled, and irrelevant to kernels that change the
        # tree. With the same value everywhere these kernels are compiled once.
        self.changed = [v._replace(tree=v.tree._replace(looks=())) for v in self.views]
        self.keys: list[int] = []
        self.kept = 0  # a merge has dropped the positions before

    def insert(self, keys, thread: int = 0) -> None:
        """Insert keys, for which there must be room."""
        keys = np.asarray(keys, dtype=np.int64)
        assert insert_all(self.changed[thread], keys, BEGIN + len(self.keys)) == len(keys)
        self.keys += keys.tolist()

    def merge(self, oldest: int, random, looking=None) -> None:
        """Merge with pieces in any order by any thread; call `looking` between the pieces."""
        look = looking or (lambda: None)
        pieces = do(self.changed[0], BEGIN_MERGE, BEGIN + oldest)
        for stage, alone in ((COUNT, PLACE), (COPY, FINISH)):
            for piece in random.permutation(pieces).tolist():
                do(self.changed[random.integers(3)], stage, piece)
                look()
            do(self.changed[random.integers(3)], alone, 0)
            look()
        do(self.changed[random.integers(3)], SWAP, 0)
        self.kept = oldest
        self.check()

    def check(self) -> None:
        """Compare the contents of the tree with the model."""
        INDEX.check_invariants(self.state)
        there = range(self.kept, len(self.keys))
        wanted = sorted((self.keys[at], sequence_of(BEGIN + at)) for at in there)
        assert INDEX.entries(self.state) == wanted

    def search(self, lows, highs, oldest: int, newest: int, thread: int = 1) -> None:
        """Search ranges for the tuples from `oldest` to `newest`, and compare with the model."""
        found = self.found(lows, highs, oldest, newest, thread)
        for low, high, each in zip(lows, highs, found, strict=True):
            asked = range(oldest, newest + 1)
            assert each == [at for at in asked if low <= self.keys[at] <= high]

    def found(self, lows, highs, oldest: int, newest: int, thread: int) -> list[list[int]]:
        """Return the tuple numbers that a search finds in each range, sorted."""
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
    """Return bounds of ranges: narrow ones, wide ones, and the whole domain."""
    lows = random.choice(keys, many)
    highs = lows + random.choice([0, 1, 50, 5_000, 1 << 33], many)
    lows[0], highs[0] = LIMITS.min, LIMITS.max
    return lows.tolist(), np.minimum(highs, LIMITS.max).tolist()
