"""The oracle of a join: for each tuple its partners, from sorted rows, without any index.

A block of rows is taken with the window before it, both streams sorted by key; for each probe the
keys of its band are gone through, and those outside of its window left out by their positions. It
shares nothing with the operators but the word that a list of partners is folded into.

What a tuple meets does not depend on the variant, so that the words are kept for all variants that
join the same rows.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache

import numpy as np

from experiments.families.join.streams import Keys
from operators.core.integers import fold, mix64, wrapping_add
from operators.core.jit import kernel

# Rows that are looked at together, at least, and as a share of the window: a block is sorted with
# the window before it, so that smaller ones are sorted more often, and larger ones for nothing.
LEAST_BLOCK, BLOCKS_A_WINDOW = 1 << 12, 8
# Rows whose words are kept: what the variants of a setting join in a few rounds.
KEPT_ROWS = 1 << 22


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
        self._step = max(window // BLOCKS_A_WINDOW, LEAST_BLOCK)
        self._blocks: OrderedDict[int, tuple[np.ndarray, np.ndarray]] = OrderedDict()

    def digest(self, first: int, rows: int) -> tuple[int, int]:
        """Return the digest of the rows from `first` on, and how many pairs they have."""
        out = np.zeros(2, dtype=np.int64)
        for number in range(first // self._step, -(-(first + rows) // self._step)):
            begin = number * self._step
            part = slice(max(first - begin, 0), min(first + rows - begin, self._step))
            words, counts = self._block_of(number)
            _fold_words(words[part].reshape(-1), counts[part].reshape(-1), out)
        return int(out[0]), int(out[1])

    def _block_of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of a block of rows and their numbers of partners."""
        if number not in self._blocks:
            shape = (self._step, self._sides)
            words, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
            self._block(number * self._step, self._step, words, counts)
            self._blocks[number] = words, counts
            while len(self._blocks) > max(KEPT_ROWS // self._step, 2):
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return self._blocks[number]

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
    digest = out[0]
    pairs = out[1]
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
