"""The oracle of a join: for each tuple its partners, from sorted rows, without any index.

A block of rows is taken with the window before it, both streams sorted by key; for each probe the
keys of its band are gone through, and those outside of its window left out by their positions. It
shares nothing with the operators but the word that a list of partners is folded into.

What a tuple meets does not depend on the variant, so that the words are kept for all variants that
join the same rows.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from experiments.families.join.streams import Keys
from operators.core.integers import fold, mix64, wrapping_add
from operators.core.jit import kernel

# Rows that are looked at together, at least: fewer would be sorted too often.
LEAST_BLOCK = 1 << 12


class Expected:
    """The partners of every tuple of a join: a word of them, and how many they are.

    Parameters
    ----------
    keys : Keys
    window, half_width, sides : int
        `sides` is 1 for a self join.
    """

    def __init__(self, keys: Keys, window: int, half_width: int, sides: int) -> None:
        self._keys = keys
        self._window, self._half_width, self._sides = window, half_width, sides
        self._first = 0
        self._words = np.zeros((0, sides), dtype=np.int64)
        self._counts = np.zeros((0, sides), dtype=np.int64)

    def digest(self, first: int, rows: int) -> tuple[int, int]:
        """Return the digest of the rows from `first` on, and how many pairs they have."""
        self._reach(first, first + rows)
        part = slice(first - self._first, first - self._first + rows)
        out = np.zeros(2, dtype=np.int64)
        _fold_words(self._words[part].reshape(-1), self._counts[part].reshape(-1), out)
        return int(out[0]), int(out[1])

    def _reach(self, first: int, end: int) -> None:
        """Compute what is not known yet of the rows between `first` and `end`."""
        known = self._first + len(self._words)
        if first < self._first or first > known:
            self._first, known = first, first
            self._words, self._counts = self._words[:0], self._counts[:0]
        more = max(end - known, 0)
        shape = (more, self._sides)
        words, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        step = max(self._window, LEAST_BLOCK)
        for begin in range(known, end, step):
            block = min(step, end - begin)
            part = slice(begin - known, begin - known + block)
            self._block(begin, block, words[part], counts[part])
        self._words = np.concatenate([self._words, words])
        self._counts = np.concatenate([self._counts, counts])

    def _block(self, begin: int, rows: int, words: np.ndarray, counts: np.ndarray) -> None:
        lowest = max(begin - self._window, 0)
        positions = np.arange(lowest, begin + rows)
        places = positions % len(self._keys.r)
        own = [side[places] for side in (self._keys.r, self._keys.s)[: self._sides]]
        order = [np.argsort(side, kind="stable") for side in own]
        by_key = [side[o] for side, o in zip(own, order, strict=True)]
        for side in range(self._sides):
            other = self._sides - 1 - side
            # The S tuple of a row comes behind its R tuple, which it may meet.
            meets_own_row = int(self._sides == 2 and side == 1)
            _partners(own[side][begin - lowest :], begin, by_key[other], order[other] + lowest,
                      self._window, self._half_width, meets_own_row, words[:, side],
                      counts[:, side])  # fmt: skip


@kernel
def _partners(probes, begin, keys, positions, window, half_width, own_row, words, counts):
    for place in range(len(probes)):
        row = begin + place
        low, high = np.int64(probes[place]) - half_width, np.int64(probes[place]) + half_width
        least, most = 0, len(keys)
        while least < most:
            middle = (least + most) // 2
            if keys[middle] < low:
                least = middle + 1
            else:
                most = middle
        word = 0
        count = 0
        while least < len(keys) and keys[least] <= high:
            position = positions[least]
            if row + own_row - window <= position and position < row + own_row:
                word = wrapping_add(word, mix64(position))
                count += 1
            least += 1
        words[place] = wrapping_add(word, count)
        counts[place] = count


@kernel
def _fold_words(words, counts, out):
    digest = 0
    pairs = 0
    for place in range(len(words)):
        digest = fold(digest, words[place])
        pairs += counts[place]
    out[0] = digest
    out[1] = pairs


@lru_cache(maxsize=64)
def _kept(place: tuple, window: int, half_width: int, sides: int) -> list[Expected]:
    return []


def expected_of(place: tuple, keys: Keys, window: int, half_width: int, sides: int) -> Expected:
    """Return the oracle of a join over the keys of `place`, kept from run to run."""
    found = _kept(place, window, half_width, sides)
    if not found:
        found.append(Expected(keys, window, half_width, sides))
    return found[0]
