"""Scripts of shared indexes: the rows of a single thread, the expected answers, and merges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from operators.contract import END
from operators.core.layout import LINE_WORDS, aligned_words
from operators.index.family import MASK_32
from operators.index.shared import SharedIndexOperations
from operators.index.window import make_answer
from tests.operators.index.shared_driving import (
    BEGIN,
    COLUMNS,
    COPY,
    COUNT,
    ENTER,
    FIND,
    FINISH,
    INSERT,
    LEAVE,
    NO_TICKET,
    NOTED,
    PIECES,
    PLACE,
    REMOVE,
    RETURN,
    ROW,
    SCAN,
    STAGE,
    SWAP,
    THREADS,
    TICKET,
    WAIT,
    WINDOW,
    Actor,
    driver_of,
)

# Limit of the descents in one group.
GROUP = 8
# Words private to a thread.
OWN = 16


def crew_words(threads: int) -> np.ndarray:
    """Return the words that the threads of a run share."""
    words = aligned_words((THREADS + threads) * LINE_WORDS)
    words[TICKET] = NO_TICKET
    return words


def own_words() -> np.ndarray:
    """Return a thread's initial words."""
    words = aligned_words(OWN)
    words[RETURN], words[STAGE] = -1, WAIT
    return words


def entries_of(shared: SharedIndexOperations, state: Any) -> list[tuple[int, int]]:
    """Return the entries of an index, with sequences as unsigned words, sorted."""
    return sorted((int(key), int(sequence) & MASK_32) for key, sequence in shared.entries(state))


class Alone:
    """An index, and a single thread that uses it through all views, one task after the other.

    Rows are queued until ``flush``, which executes them and compares each search with a scan of all
    keys.
    """

    def __init__(
        self,
        shared: SharedIndexOperations,
        window: int,
        slack: int,
        first: int,
        key_bits: int = 32,
        views: int = 3,
        **own: Any,
    ) -> None:
        self.shared, self.window, self.slack, self.first = shared, window, slack, first
        self.state = shared.make_state(window, slack, key_bits, views, **own)
        self.views = shared.views(self.state, views)
        self.keys: dict[int, int] = {}  # inserted keys by position
        self.removed = first  # all earlier positions are removed
        self.merged = first  # earlier positions were outside the window at the last merge
        self.turn = 0
        self.crew = crew_words(0)
        self.place_words = int(shared.places_of(self.state))
        self._rows: list[tuple[int, ...]] = []
        self._lows: list[int] = []
        self._wanted: list[tuple[int, int, int, int]] = []
        self._asked = (first, first - 1)

    # --- what a thread does ----------------------------------------------------------------------

    def row(self, *words: int) -> None:
        self._rows.append((*words, *(COLUMNS - len(words)) * (0,)))

    def enter(self) -> None:
        self.row(ENTER)

    def leave(self) -> None:
        self.row(LEAVE)

    def insert(self, key: int, position: int) -> None:
        self.row(INSERT, key, position)
        self.keys[position] = key

    def remove_next(self) -> None:
        """Remove the oldest entry."""
        self.row(REMOVE, self.keys[self.removed], self.removed)
        self.removed += 1

    def find(self, lows: list[int]) -> None:
        self.row(FIND, len(self._lows), len(lows))
        self._lows += lows

    def ask_for(self, oldest: int, newest: int) -> None:
        """Set the positions that the next scans ask for; all of them have been inserted."""
        assert newest - oldest < self.window and oldest >= max(self.removed, self.merged)
        self.row(WINDOW, oldest, newest)
        self._asked = (oldest, newest)

    def scan(self, low: int, high: int, number: int = 0) -> None:
        self.row(SCAN, low, high, number)
        self._wanted.append((low, high, *self._asked))

    def search(self, bands: list[tuple[int, int]], oldest: int, newest: int) -> None:
        """Search some ranges in a separate task."""
        self.enter()
        self.ask_for(oldest, newest)
        self.find([low for low, _ in bands])
        for number, (low, high) in enumerate(bands):
            self.scan(low, high, number)
        self.leave()

    # --- doing it --------------------------------------------------------------------------------

    def act(self, rows: list[tuple[int, ...]], lows: list[int], searches: int) -> Actor:
        """Execute rows through a view, the next one for each call; return the records."""
        self.turn += 1
        latest = max(self.keys, default=self.first)
        actor = Actor(
            index=self.views[self.turn % len(self.views)],
            script=np.array(rows, np.int64).reshape(-1, COLUMNS),
            lows=np.array([*lows, 0], np.int64),
            crew=self.crew,
            began=np.zeros(latest - self.first + 1, np.int64),
            ended=np.zeros(latest - self.first + 1, np.int64),
            own=own_words(),
            window=aligned_words(LINE_WORDS),
            places=np.zeros(GROUP * self.place_words + 1, np.int64),
            out=make_answer(self.window + 1),
            searches=np.zeros((searches + 1, NOTED), np.int64),
            found=np.zeros(searches * self.window + 1, np.int64),
            number=0,
            threads=0,
            place_words=self.place_words,
            first=self.first,
            size=self.window,
            ahead=0,
            spare=0,
            spares=0,
            stamped=False,
        )
        status = driver_of(self.shared)(actor, len(rows) + 1)
        assert status == END, f"row {rows[int(actor.own[ROW]) - 1]} was answered with {status}"
        return actor

    def flush(self) -> None:
        """Execute the queued rows, and compare each search.

        Raises
        ------
        AssertionError
            With the search and the missing or surplus positions.
        """
        rows, lows, wanted = self._rows, self._lows, self._wanted
        self._rows, self._lows, self._wanted = [], [], []
        if not rows:
            return
        actor = self.act(rows, lows, len(wanted))
        begin = 0
        for (low, high, oldest, newest), noted in zip(wanted, actor.searches, strict=False):
            found = sorted(actor.found[begin : noted[6]].tolist())
            begin = int(noted[6])
            hit = [p for p in range(oldest, newest + 1) if low <= self.keys[p] <= high]
            assert found == hit, (
                f"keys {low} to {high} of {oldest} to {newest}: missing"
                f" {sorted(set(hit) - set(found))}, wrong {sorted(set(found) - set(hit))}"
                f", twice {sorted({p for p in found if found.count(p) > 1})}"
            )

    # --- merging ---------------------------------------------------------------------------------

    def is_due(self) -> bool:
        merges = self.shared.merges
        return merges is not None and bool(merges.is_due(self.views[0]))

    def stages(self, oldest: int, random: np.random.Generator) -> Iterator[int]:
        """Merge, and yield between the stages, where other rows may be flushed.

        Pieces are taken in several orders, by all views.
        """
        self.merged = oldest
        self.act([(BEGIN, oldest, 0, 0)], [], 0)
        pieces = int(self.crew[PIECES])
        yield BEGIN
        for stage, then in ((COUNT, PLACE), (COPY, FINISH)):
            parts = int(random.integers(1, 5))
            for part in random.permutation(parts).tolist():
                if part < pieces:
                    self.act([(stage, part, parts, 0)], [], 0)
                yield stage
            self.act([(then, 0, 0, 0)], [], 0)
            yield then
        self.act([(SWAP, 0, 0, 0)], [], 0)

    def check(self) -> None:
        """Compare all entries of the index in a quiescent state.

        Raises
        ------
        AssertionError
            When an invariant does not hold, or an entry is missing or surplus.
        """
        self.flush()
        self.shared.check_invariants(self.state)
        begin = self.merged if self.shared.merges is not None else self.removed
        kept = sorted((key, p & MASK_32) for p, key in self.keys.items() if p >= begin)
        assert entries_of(self.shared, self.state) == kept


class Sliding:
    """A window that slides over keys, driven as a join drives it.

    At most `ahead` positions after the first missing one are inserted, in any order. A tuple is
    removed up to `late` positions after the last search that may ask for it.
    """

    def __init__(
        self,
        alone: Alone,
        keys: np.ndarray,
        half_width: int,
        limits: np.iinfo,
        ahead: int,
        late: int,
        seed: int,
    ) -> None:
        assert alone.slack >= 3 * ahead + late + 2
        self.alone, self.keys, self.half_width, self.limits = alone, keys, half_width, limits
        self.ahead, self.late = ahead, late
        self.random = np.random.default_rng(seed)
        self.edge = alone.first
        self.end = alone.first + len(keys)

    def bands(self, count: int) -> list[tuple[int, int]]:
        """Return ranges around nearby keys."""
        near = range(self.edge - 2 * self.alone.window - 4, self.edge + 2 * self.ahead + 4)
        places = self.random.integers(near.start, near.stop, count) - self.alone.first
        found = []
        for key in self.keys[np.clip(places, 0, len(self.keys) - 1)].tolist():
            shift = int(self.random.integers(-1, 2)) * self.half_width
            low = min(max(key + shift - self.half_width, self.limits.min), self.limits.max)
            high = min(max(key + shift + self.half_width, self.limits.min), self.limits.max)
            found.append((int(low), int(high)))
        if self.random.random() < 0.05:
            found[0] = (int(self.limits.min), int(self.limits.max))
        return found

    def asked(self) -> tuple[int, int]:
        """Return the first and the last position that a search asks for; the range may be empty."""
        alone, random = self.alone, self.random
        newest = self.edge - 1 - int(random.choice([0, 0, 0, 1, self.ahead]))
        oldest = max(newest - alone.window + 1, alone.removed, alone.merged)
        newest = max(newest, oldest - 1)
        kind = random.random()
        if kind < 0.1:
            oldest = newest + 1
        elif kind < 0.3:
            oldest = int(random.integers(oldest, newest + 2))
        return oldest, newest

    def insert_one(self) -> None:
        """Insert one of the next positions, and release those that no search asks for any more."""
        alone = self.alone
        ready = [
            p for p in range(self.edge, min(self.edge + self.ahead + 1, self.end))
            if p not in alone.keys
        ]  # fmt: skip
        if not ready:
            return
        position = ready[int(self.random.integers(len(ready)))]
        alone.insert(int(self.keys[position - alone.first]), position)
        while self.edge in alone.keys:
            self.edge += 1

    def remove_some(self, before: int) -> None:
        """Remove some of the positions before one, at least those that are overdue."""
        alone = self.alone
        while alone.removed < before:
            if alone.removed >= self.edge - alone.window - self.late and self.random.random() < 0.5:
                return
            alone.remove_next()

    def task(self) -> None:
        """Search, with changes between the descents and the scans, or execute each separately."""
        alone, random = self.alone, self.random
        together = random.random() < 0.5
        count = int(random.integers(1, GROUP + 1))
        bands, changes = self.bands(count), int(random.integers(1, self.ahead + 2))
        alone.enter()
        if not together:
            alone.ask_for(*self.asked())
        alone.find([low for low, _ in bands])
        for number, (low, high) in enumerate(bands):
            for _ in range(changes // count if together else 0):
                self.insert_one()
            if together:
                self.remove_some(self.edge - alone.window)
                alone.ask_for(*self.asked())
            alone.scan(low, high, number)
        for _ in range(0 if together else changes):
            self.insert_one()
        self.remove_some(self.edge - alone.window)
        alone.leave()

    def merge(self) -> None:
        """Merge, and search between every two stages."""
        oldest = max(self.edge - self.alone.window, self.alone.merged, self.alone.removed)
        for _ in self.alone.stages(oldest, self.random):
            self.alone.search(self.bands(3), *self.asked())
            self.alone.flush()

    def run(self) -> None:
        """Let the window slide over all keys, and check at the end.

        Raises
        ------
        AssertionError
            When a search or the index is wrong.
        """
        alone, since, due = self.alone, 0, False
        while self.edge < self.end:
            self.task()
            since += 1
            if alone.shared.merges is not None or since % 40 == 0:
                alone.flush()
            # Immediately, or late: after one more task has inserted.
            if alone.is_due():
                if due or self.random.random() < 0.5:
                    self.merge()
                    due = False
                    continue
                due = True
        alone.check()
