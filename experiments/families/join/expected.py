"""The oracle of a join: each tuple's partners, from sorted rows, without any index.

Rows are cut into parts as long as a window, and each part is sorted by key. The candidates of a
tuple lie in two or three parts: in each, the keys of the tuple's band are scanned, and those
outside its window are left out by position. The oracle shares nothing with the operators but the
word into which a list of partners is folded.

The partners of a tuple do not depend on the variant, so that the words are kept for all variants
that join the same rows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np

from experiments.families.join.streams import Keys
from operators.core.integers import fold, mix64, wrapping_add, wrapping_mul
from operators.core.jit import kernel

# Minimum rows of a part.
LEAST_PART = 1 << 12
# Rows of a block: a minimum, and a share of the window. A larger block has rows nearer to one
# another by key, but rows beyond the run's end are computed for nothing.
LEAST_BLOCK, BLOCKS_A_WINDOW = 1 << 12, 8
# Rows whose words are kept, and rows of a stream that are kept sorted: as many as the variants of a
# setting join in a few rounds.
KEPT_ROWS = 1 << 23
# A block meets at most this many parts.
LEAST_KEPT = 3

Name, Made = TypeVar("Name"), TypeVar("Made")


class Expected:
    """The partners of every tuple of a join: a word that hashes them, and their number.

    Parameters
    ----------
    keys : Keys
    window, half_width, sides : int
        `sides` is 1 for a self join.
    """

    def __init__(self, keys: Keys, window: int, half_width: int, sides: int) -> None:
        self._streams = (keys.r, keys.s)[:sides]
        self._window, self._half_width = window, half_width
        self._part = max(window, LEAST_PART)
        self._step = max(window // BLOCKS_A_WINDOW, LEAST_BLOCK)
        self._blocks: OrderedDict[int, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._parts: list[OrderedDict[int, tuple[np.ndarray, np.ndarray]]]
        self._parts = [OrderedDict() for _ in range(sides)]

    def digest(self, first: int, rows: int, ordered: bool = True) -> tuple[int, int]:
        """Return the digest of `rows` rows from `first` on, and the number of their pairs.

        The digest is that of the pairs in arrival order, or, unless `ordered`, that of their set.
        """
        out = np.zeros(2, dtype=np.int64)
        for number in range(first // self._step, -(-(first + rows) // self._step)):
            begin = number * self._step
            part = slice(max(first - begin, 0), min(first + rows - begin, self._step))
            words, counts = _kept_or_made(
                self._blocks, number, lambda number=number: self._block(number), self._step
            )
            if ordered:
                _fold_words(words[part].reshape(-1), counts[part].reshape(-1), out)
            else:
                _add_words(begin + part.start, words[part], counts[part], out)
        return int(out[0]), int(out[1])

    def _block(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of a block of rows, and each row's number of partners."""
        begin, sides = number * self._step, len(self._streams)
        words, counts = (np.zeros((self._step, sides), np.int64) for _ in range(2))
        first, last = max(begin - self._window, 0), begin + self._step - 1
        for side in range(sides):
            probes = _sorted(self._rows(side, begin, self._step))
            # The S tuple of a row comes after its R tuple, which it may meet.
            behind = begin + int(sides == 2 and side == 1)
            for part in range(first // self._part, last // self._part + 1):
                _add_partners(*probes, *self._sorted_part(sides - 1 - side, part),
                              part * self._part, behind, self._window, self._half_width,
                              words[:, side], counts[:, side])  # fmt: skip
        words += counts
        return words, counts

    def _sorted_part(self, side: int, part: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted keys of a part of a stream, and the position of each in the part."""
        return _kept_or_made(
            self._parts[side],
            part,
            lambda: _sorted(self._rows(side, part * self._part, self._part)),
            self._part,
        )

    def _rows(self, side: int, begin: int, rows: int) -> np.ndarray:
        """Return keys of a stream, which starts again after the last row."""
        return np.take(self._streams[side], np.arange(begin, begin + rows), mode="wrap")


def _kept_or_made(
    kept: OrderedDict[Name, Made], name: Name, make: Callable[[], Made], rows: int
) -> Made:
    """Return the cached value of a name, made first if missing; a value holds `rows` rows.

    The least recently used values are dropped.
    """
    if name not in kept:
        kept[name] = make()
        while len(kept) > max(KEPT_ROWS // rows, LEAST_KEPT):
            kept.popitem(last=False)
    kept.move_to_end(name)
    return kept[name]


def _sorted(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int32 keys in ascending order, and the original position of each.

    Key and position share a word, since sorting numbers is several times as fast as an indirect
    sort.
    """
    words = np.left_shift(keys, 32, dtype=np.int64)
    words += np.arange(len(keys))
    words.sort()
    return (words >> 32).astype(np.int32), words.astype(np.int32)


@kernel
def _add_partners(
    probes, rows, keys, places, begin, behind, window, half_width, words, counts
):  # fmt: skip
    """Add the partners that lie in the part of the other stream that begins at `begin`.

    Probes and keys are sorted, so that the ends of a band never move back from one probe to the
    next. Every key in the band is mixed, even one outside the window, in a loop without branches.
    """
    least, most = 0, 0
    for probe in range(len(probes)):
        row = rows[probe]
        first, last = behind + row - window, behind + row
        low, high = np.int64(probes[probe]) - half_width, np.int64(probes[probe]) + half_width
        while least < len(keys) and keys[least] < low:
            least += 1
        while most < len(keys) and keys[most] <= high:
            most += 1
        word = words[row]
        count = 0
        for near in range(least, most):
            position = begin + places[near]
            met = int(first <= position) & int(position < last)
            word = wrapping_add(word, mix64(position) & -met)
            count += met
        words[row] = word
        counts[row] += count


@kernel
def _fold_words(words, counts, out):
    digest = out[0]
    pairs = out[1]
    for place in range(len(words)):
        digest = fold(digest, words[place])
        pairs += counts[place]
    out[0] = digest
    out[1] = pairs


@kernel
def _add_words(first, words, counts, out):
    """Add the words of the rows from `first` on, by side, to the digest of a set of pairs."""
    for row in range(words.shape[0]):
        for side in range(words.shape[1]):
            partners = wrapping_add(words[row, side], -counts[row, side])
            word = wrapping_mul(mix64(2 * (first + row) + side) | 1, partners)
            out[0] = wrapping_add(out[0], word)
            out[1] += counts[row, side]


@lru_cache(maxsize=64)
def _kept(place: tuple, window: int, half_width: int, sides: int) -> list[Expected]:
    return []


def expected_of(place: tuple, keys: Keys, window: int, half_width: int, sides: int) -> Expected:
    """Return the oracle of a join over the keys of `place`, kept from run to run."""
    found = _kept(place, window, half_width, sides)
    if not found:
        found.append(Expected(keys, window, half_width, sides))
    return found[0]
