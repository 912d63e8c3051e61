"""The pairs that a run must put out, found by another road than the operators'.

No window slides here. Which tuples of the other stream a tuple meets follows from arrival times by
binary search; those with a near x are looked up in lists of rows by x, and their y is compared as
the benchmark's predicate is printed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from experiments.families.theta_join.streams import Arrivals, Asked, arrivals, tables_of
from operators.core.integers import fold, mix64, wrapping_add
from operators.core.jit import inlined, kernel
from operators.theta_join.family import EQUAL, OPPOSITE, REACH, REACH_BITS, R, S
from operators.theta_join.predicates import HALF_WIDTH, BenchTables

# Pairs that there is room for at first.
ROOM = 1 << 14


class Expected(NamedTuple):
    """What a run puts out: how many pairs, their digest, in order and in any, and comparisons."""

    pairs: int
    digest: int
    unordered: int
    comparisons: int


class _Lists(NamedTuple):
    """The rows of a stream by the integer that is compared: `begins` of `rows`, ascending.

    `reals` is what else is compared of each, side by side with them.
    """

    begins: np.ndarray
    rows: np.ndarray
    reals: np.ndarray


@inlined
def pair_word(out, words):
    """Return one word of an output: of its key and all of its attributes."""
    word = 0
    for place in range(words):
        word = fold(word, out[place])
    return word


@kernel
def _fold_all(records, words, out):
    digest = 0
    unordered = 0
    for number in range(len(records) // words):
        word = pair_word(records[number * words :], words)
        digest = fold(digest, word)
        unordered = wrapping_add(unordered, mix64(word))
    out[0] = digest
    out[1] = unordered


@kernel
def _find(whole, real, side, low, high, lists, width, room, found):
    """Write (tuple, other's position) of all matches; returns how many there are.

    `whole` and `real` are what is compared of each tuple, `low` to `high` the positions of the
    other stream that it meets, whose rows come again after all of its `lists`.
    """
    begins, rows, reals = lists
    cycle = len(rows)
    count = 0
    for number in range(len(whole)):
        first = count
        for value in range(max(whole[number] - width, 0), whole[number] + width + 1):
            if value + 1 >= len(begins):
                break
            for at in range(begins[value], begins[value + 1]):
                # `y >= b - 10 AND y <= b + 10`, where b is S's.
                b = reals[at] if side == R else real[number]
                y = real[number] if side == R else reals[at]
                near = y >= np.float32(b - np.float32(HALF_WIDTH)) and y <= np.float32(
                    b + np.float32(HALF_WIDTH)
                )
                if not near:
                    continue
                row = rows[at]
                position = row + (max(low[number] - row, 0) + cycle - 1) // cycle * cycle
                while position < high[number]:
                    if count < room:
                        # Insertion: of one tuple's, the earlier position first.
                        place = count
                        while place > first and found[2 * place - 1] > position:
                            found[2 * place] = found[2 * place - 2]
                            found[2 * place + 1] = found[2 * place - 1]
                            place -= 1
                        found[2 * place] = number
                        found[2 * place + 1] = position
                    count += 1
                    position += cycle
    return count


def _lists(values: np.ndarray, reals: np.ndarray) -> _Lists:
    rows = np.argsort(values, kind="stable")
    begins = np.searchsorted(values[rows], np.arange(int(values.max()) + 2))
    return _Lists(begins.astype(np.int64), rows.astype(np.int64), reals[rows])


@lru_cache(maxsize=512)
def expected(asked: Asked, purge: str, predicate: str) -> Expected:
    """Return what a run over these arrivals puts out, what is filled in left out.

    It is kept for the rounds to come by what the arrivals are made of, which may be made again.

    Parameters
    ----------
    asked : Asked
    purge, predicate : str
        As the family's settings.
    """
    came = arrivals(*asked)
    return expected_of(tables_of(asked.folder), came, came.begin, purge, predicate)


def expected_of(
    tables: BenchTables, came: Arrivals, span: int, purge: str, predicate: str
) -> Expected:
    """Return what a run over these rows puts out, see ``expected``."""
    # (rank of the later tuple, rank of the earlier one), of both sides.
    pairs, comparisons = [], 0
    width = 0 if predicate == EQUAL else HALF_WIDTH
    for side in (R, S):
        ranks, low, high = _met(came, side, span, purge)
        comparisons += int((high - low).sum())
        whole, real, other_whole, other_real = (
            (tables.x, tables.y, tables.a, tables.b)
            if side == R
            else (tables.a, tables.b, tables.x, tables.y)
        )
        rows = came.position[ranks] % len(whole)
        lists = _lists(other_whole, other_real)
        room, count = ROOM, ROOM + 1
        while count > room:
            room = max(room, count)
            found = np.zeros(2 * room, dtype=np.int64)
            sought = whole[rows].astype(np.int64), real[rows]
            count = _find(*sought, side, low, high, lists, width, room, found)
        found = found[: 2 * count].reshape(-1, 2)
        others = np.flatnonzero(came.side != side)
        pairs.append(np.column_stack([ranks[found[:, 0]], others[found[:, 1]]]))
    both = np.concatenate(pairs)
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    records = _records(tables, came, both)
    out = np.zeros(2, dtype=np.int64)
    _fold_all(records.ravel(), records.shape[1], out)
    return Expected(len(both), int(out[0]), int(out[1]), comparisons)


def _met(
    came: Arrivals, side: int, span: int, purge: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ranks of a side's tuples, and which positions of the other each one meets."""
    ranks = np.flatnonzero(came.side == side)
    ranks = ranks[ranks >= came.filled]
    others = np.flatnonzero(came.side != side)
    other_time = came.time[others]
    high = np.searchsorted(others, ranks)
    if purge == OPPOSITE:
        last = came.time[ranks]
    else:
        # The other stream's last tuple before this one has purged its window.
        last = np.where(high > 0, other_time[np.maximum(high - 1, 0)], 0)
    low = np.minimum(np.searchsorted(other_time, last - span), high)
    return ranks, low.astype(np.int64), high.astype(np.int64)


def _records(tables: BenchTables, came: Arrivals, pairs: np.ndarray) -> np.ndarray:
    """Return the words of each output: its key, then <ts, x, y, z, a, b, c, d>."""
    later, earlier = pairs[:, 0], pairs[:, 1]
    later_is_r = came.side[later] == R
    r_row = came.position[np.where(later_is_r, later, earlier)] % len(tables.x)
    s_row = came.position[np.where(later_is_r, earlier, later)] % len(tables.a)
    z = tables.z.reshape(-1, 3)[r_row]

    def low_half(values: np.ndarray) -> np.ndarray:
        return values.view(np.uint32).astype(np.int64)

    x, y = low_half(tables.x[r_row]), low_half(tables.y[r_row])
    a, b = low_half(tables.a[s_row]), low_half(tables.b[s_row])
    return np.column_stack(
        [
            (later << REACH_BITS) | (REACH - (later - earlier)),
            came.time[later],
            x | (y << 32),
            z[:, 0],
            z[:, 1],
            z[:, 2] | (a << 32),
            b,
            tables.c[s_row].view(np.int64),
            tables.d[s_row].astype(np.int64),
        ]
    ).astype(np.int64)
