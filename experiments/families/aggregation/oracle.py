"""The oracle of an aggregate: the chained digest after every winset of a run.

The reference (`operators.aggregation.reference`) computes a winset from the slice of the total
order that the winset's window covers. A run may be longer than the data, which then repeats::

    ranks    0 ........ rows ........ 2 rows ........ total
    cycle    |----0----|------1------|--- 2, cut ---|
    window      [--------)                [.........)     a window may straddle a seam; the last
                                                    ^     ones are cut by the end of the run

An uncut window is the same in every cycle, so that the rows are computed once and folded again with
another start. Digests of uncut windows do not depend on where a run ends: they are kept, in memory
and under ``results/oracles``, and extended for a longer run. Nothing here is ever timed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.timing.replayed_feed import Cycle
from experiments.timing.threads import hexadecimal
from operators.aggregation import reference
from operators.aggregation.functions import NAMES, TEXT
from operators.aggregation.plan import AggregationPlan, Text
from operators.aggregation.sink import WinsetLog, fold_rows
from operators.core.kernel_keys import closure_digest

# Limit for the rows of windows kept for the next cycle; beyond it they are computed again.
BLOCK_CACHE_BYTES = 512 << 20
# Run lengths whose winsets are kept: those of previous rounds.
KEPT_LENGTHS = 64
UNKNOWN = -1
# Exceptions when reading a truncated or damaged .npz.
UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


class Expected(NamedTuple):
    """The winsets of one run, in order; arrays of equal length.

    Attributes
    ----------
    window_start, rows, digest : int64 arrays
        As in an aggregate's log.
    """

    window_start: np.ndarray
    rows: np.ndarray
    digest: np.ndarray


@dataclass
class Oracle:
    """The expected output of one query over one split dataset.

    Attributes
    ----------
    cycle : Cycle
    plan : AggregationPlan
    text : Text or None
    cache : Path or None
        File of the digests of whole windows; None keeps them in memory only.
    """

    cycle: Cycle
    plan: AggregationPlan
    text: Text | None = None
    cache: Path | None = None

    def __post_init__(self) -> None:
        """Start with the contents of the cache."""
        self._name = NAMES[self.plan.function]
        # Sorting 16-bit codes is several times as fast as sorting 64-bit ones.
        narrow = self.plan.keys <= 1 << 16
        self._key = self.cycle.key.astype(np.uint16) if narrow else self.cycle.key
        if self._name in TEXT:
            self._matched = np.full(self.cycle.rows, UNKNOWN, dtype=np.int64)
        self._blocks: dict[tuple[int, int], np.ndarray] = {}
        self._block_bytes = 0
        self._expected: dict[int, Expected] = {}
        self._start: list[int] = []
        self._rows: list[int] = []
        self._digest: list[int] = []
        self._read_cache()

    def expected(self, total: int) -> Expected:
        """Return every winset of a run of `total` tuples (at least one); the result is cached."""
        if total not in self._expected:
            while len(self._expected) >= KEPT_LENGTHS:
                self._expected.pop(next(iter(self._expected)))
            self._expected[total] = self._compute_all(total)
        return self._expected[total]

    def _compute_all(self, total: int) -> Expected:
        start, rows, digest = self._whole(total)
        state = digest[-1] if digest else 0
        window = self._next_window(start[-1] if start else None)
        while window is not None and self.cycle.rank_at(window) < total:
            block = self._compute(self.cycle.rank_at(window), self._end(window, total))
            state = self._fold(state, window, block)
            start.append(window)
            rows.append(len(block))
            digest.append(state)
            window = self._next_window(window)
        # A winset without rows (no text matched) is not put out.
        kept = np.array(rows, dtype=np.int64) > 0
        arrays = (np.array(column, dtype=np.int64)[kept] for column in (start, rows, digest))
        return Expected(*arrays)

    def _whole(self, total: int) -> tuple[list[int], list[int], list[int]]:
        """Return the windows that a run of `total` tuples does not cut, computing missing ones."""
        known = len(self._start)
        window = self._next_window(self._start[-1] if known else None)
        state = self._digest[-1] if known else 0
        while self._end(window) <= total:
            block = self._block(self.cycle.rank_at(window), self._end(window), total)
            state = self._fold(state, window, block)
            self._start.append(window)
            self._rows.append(len(block))
            self._digest.append(state)
            window = self._next_window(window)
        if len(self._start) > known:
            self._write_cache()
        # A cached chain may come from a longer run: only windows that this run does not cut count.
        count = sum(self._end(window) <= total for window in self._start)
        return self._start[:count], self._rows[:count], self._digest[:count]

    def _end(self, window: int, total: int | None = None) -> int:
        rank = self.cycle.rank_at(window + self.plan.window_size)
        return rank if total is None else min(rank, total)

    def _next_window(self, window: int | None) -> int:
        """Return the start of the first window after `window` that covers a tuple."""
        advance, size = self.plan.window_advance, self.plan.window_size
        following = 0 if window is None else window + advance
        time = self.cycle.time_at(self.cycle.rank_at(following))
        first_covering = ((time - size) // advance + 1) * advance
        return max(following, first_covering)

    def _compute(self, first: int, last: int) -> np.ndarray:
        key = self.cycle.slice(self._key, first, last)
        value = self.cycle.slice(self.cycle.value, first, last)
        matched = self._match(first, last)
        if self._name in TEXT and not self._name.startswith("count"):
            inside = np.flatnonzero(matched)
            key, value, matched = key[inside], value[inside], matched[inside]
        return reference.slice_rows(self.plan, 0, key, value, matched)

    def _match(self, first: int, last: int) -> np.ndarray:
        """Return for each tuple of a slice whether it counts; each text is matched only once."""
        if self._name not in TEXT:
            return np.ones(last - first, dtype=np.int64)
        matched = self.cycle.slice(self._matched, first, last)
        missing = np.flatnonzero(matched == UNKNOWN)
        if missing.size:
            values = self.cycle.slice(self.cycle.value, first, last)[missing]
            offsets, content = self.text.offsets, self.text.text_bytes
            found = [
                reference.text_matches(self._name, content[offsets[v] : offsets[v + 1]].tobytes())
                for v in values.tolist()
            ]
            self._matched[(first + missing) % self.cycle.rows] = found
            matched = self.cycle.slice(self._matched, first, last)
        return matched

    def _block(self, first: int, last: int, total: int) -> np.ndarray:
        place = (first % self.cycle.rows, last - first)
        block = self._blocks.get(place)
        if block is None:
            block = self._compute(first, last)
            repeats = total > self.cycle.rows
            if repeats and self._block_bytes + block.nbytes <= BLOCK_CACHE_BYTES:
                self._blocks[place] = block
                self._block_bytes += block.nbytes
        return block

    @staticmethod
    def _fold(state: int, window: int, block: np.ndarray) -> int:
        block[:, 0] = window
        return fold_rows(state, block)

    def _read_cache(self) -> None:
        if self.cache is None or not self.cache.is_file():
            return
        try:
            with open(self.cache, "rb") as file, np.load(file) as kept:
                columns = [kept[name].tolist() for name in ("window_start", "rows", "digest")]
        except UNREADABLE:
            # The remains of a full disk or a crash. The file is computed again and replaced.
            return
        if len({len(column) for column in columns}) == 1:
            self._start, self._rows, self._digest = columns

    def _write_cache(self) -> None:
        if self.cache is None:
            return
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.cache.parent, suffix=".npz")
        with os.fdopen(handle, "wb") as file:
            np.savez(
                file,
                window_start=np.array(self._start, dtype=np.int64),
                rows=np.array(self._rows, dtype=np.int64),
                digest=np.array(self._digest, dtype=np.int64),
            )
        os.replace(name, self.cache)


def cache_path(folder: Path, dataset_digest: str, query: str, cycle: Cycle, seed: int) -> Path:
    """Return the cache file of one oracle; an edit of the code that computes it gives another."""
    source = closure_digest(Path(reference.__file__).resolve()) + closure_digest(Path(__file__))
    words = f"{dataset_digest} {query} {len(cycle.feeds)} {cycle.rows} {cycle.span} {seed} {source}"
    return folder / f"{hashlib.sha256(words.encode()).hexdigest()[:24]}.npz"


def difference(expected: Expected, log: WinsetLog) -> str | None:
    """Return the first difference between the output and the expected output, or None.

    Every closed winset is compared: the start, the number of rows, and the digest so far.
    """
    for place in range(min(len(expected.digest), len(log.digest))):
        wanted = tuple(int(column[place]) for column in expected)
        got = (log.window_start[place], log.rows[place], log.digest[place])
        if wanted != tuple(map(int, got)):
            return (
                f"wrong output: winset {place} of window {wanted[0]} has {wanted[1]} rows and"
                f" digest {hexadecimal(wanted[2])}, received window {got[0]}, {got[1]} rows,"
                f" {hexadecimal(int(got[2]))}"
            )
    if len(expected.digest) != len(log.digest):
        return f"wrong output: {len(log.digest)} winsets instead of {len(expected.digest)}"
    return None
