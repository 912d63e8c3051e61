"""The oracle of a theta join: the expected pairs, computed unlike the operators compute them.

No window slides here. A binary search over arrival times finds the tuples of the other stream that
a tuple meets; those with a near x are looked up in lists of rows by x, and their y is compared as
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

# Initial room for pairs per tuple; usual settings produce fewer.
ROOM = 1
# Tuples processed per batch: each needs some hundred bytes of intermediate arrays, and a run of ten
# minutes has sixty million.
AT_ONCE = 1 << 20


class Expected(NamedTuple):
    """The expected output: number of pairs, ordered and unordered digest, and comparisons."""

    pairs: int
    digest: int
    unordered: int
    comparisons: int


class _Lists(NamedTuple):
    """The rows of a stream grouped by the compared integer: `begins` index into `rows`, ascending.

    `reals` is the compared real number of each row, parallel to `rows`.
    """

    begins: np.ndarray
    rows: np.ndarray
    reals: np.ndarray


@inlined
def pair_word(out, words):
    """Return a word that hashes an output: the key and all attributes."""
    word = 0
    for place in range(words):
        word = fold(word, out[place])
    return word


@kernel
def _fold_all(records, words, out):
    """Fold more records into the digests in `out`, ordered and unordered."""
    digest = out[0]
    unordered = out[1]
    for number in range(len(records) // words):
        word = pair_word(records[number * words :], words)
        digest = fold(digest, word)
        unordered = wrapping_add(unordered, mix64(word))
    out[0] = digest
    out[1] = unordered


@kernel
def _find(whole, real, side, low, high, lists, width, room, found):
    """Write (tuple, other's position) of all matches; return how many there are.

    `whole` and `real` are the compared integer and real of each tuple, `low` to `high` the
    positions of the other stream that the tuple meets. That stream repeats the rows of `lists`.
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
                        # Insertion sort: within one tuple, the earlier position first.
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
    """Return the expected output of a run over these arrivals, without the filled-in tuples.

    The result is cached for later rounds, keyed by the arguments from which arrivals are made.

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
    """Return the expected output of a run over these rows; see ``expected``."""
    width = 0 if predicate == EQUAL else HALF_WIDTH
    sides = [_side_of(tables, came, side) for side in (R, S)]
    out, count, comparisons = np.zeros(2, dtype=np.int64), 0, 0
    for begin in range(came.filled, len(came.time), AT_ONCE):
        ranks = slice(begin, begin + AT_ONCE)
        found = [_pairs_of(each, came, ranks, span, purge, width) for each in sides]
        comparisons += sum(compared for _, compared in found)
        both = np.concatenate([pairs for pairs, _ in found])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        records = _records(tables, came, both)
        _fold_all(records.ravel(), records.shape[1], out)
        count += len(both)
    return Expected(count, int(out[0]), int(out[1]), comparisons)


class _Side(NamedTuple):
    """A stream's compared columns, and the other stream by rank, by time and by rows."""

    side: int
    whole: np.ndarray
    real: np.ndarray
    others: np.ndarray
    other_time: np.ndarray
    lists: _Lists


def _side_of(tables: BenchTables, came: Arrivals, side: int) -> _Side:
    own, other = (tables.x, tables.y), (tables.a, tables.b)
    if side == S:
        own, other = other, own
    others = np.flatnonzero(came.side != side)
    return _Side(side, *own, others, came.time[others], _lists(*other))


def _pairs_of(
    own: _Side, came: Arrivals, ranks: slice, span: int, purge: str, width: int
) -> tuple[np.ndarray, int]:
    """Return pairs (rank of the later tuple, of the earlier one) and the number of comparisons.

    The later tuples are those of one side among `ranks`.
    """
    later, low, high = _met(own, came, ranks, span, purge)
    rows = came.position[later] % len(own.whole)
    sought = own.whole[rows].astype(np.int64), own.real[rows]
    room, count = 0, 1 + ROOM * len(later)
    while count > room:
        room = count
        found = np.zeros(2 * room, dtype=np.int64)
        count = _find(*sought, own.side, low, high, own.lists, width, room, found)
    found = found[: 2 * count].reshape(-1, 2)
    pairs = np.column_stack([later[found[:, 0]], own.others[found[:, 1]]])
    return pairs, int((high - low).sum())


def _met(
    own: _Side, came: Arrivals, ranks: slice, span: int, purge: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ranks that belong to a side, and the other side's positions that each meets."""
    later = np.flatnonzero(came.side[ranks] == own.side) + ranks.start
    high = np.searchsorted(own.others, later)
    if purge == OPPOSITE:
        last = came.time[later]
    else:
        # The other stream's last tuple before this one has purged this side's window.
        last = np.where(high > 0, own.other_time[np.maximum(high - 1, 0)], 0)
    low = np.minimum(np.searchsorted(own.other_time, last - span), high)
    return later, low.astype(np.int64), high.astype(np.int64)


def _records(tables: BenchTables, came: Arrivals, pairs: np.ndarray) -> np.ndarray:
    """Return the words of each output: the key, then <ts, x, y, z, a, b, c, d>."""
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
