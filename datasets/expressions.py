"""Shared parts of generators: their declaration, random numbers from row ids, and constant tables.

A generated row depends only on the seed and the row id, so that the rows are the same for every
number of partitions and on every cluster. Spark's `rand(seed)` does not have this property (it
depends on the partition), so every random number here is a 64-bit hash of (seed, purpose, row id).
Doubles are only added, multiplied, compared and rounded down; powers and logarithms are
precomputed, in tables of integers, so that the last bit does not depend on the Java runtime. Two
functions of a double are allowed nevertheless: `sqrt`, which is correctly rounded everywhere, and
`ln`, which Spark takes from Java's `StrictMath`. `tests/datasets/test_generate.py` compares digests
over partitions and cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ALIAS_BITS = 40
"""Resolution of a drawn probability: 2**-40, far below one row in every generated set."""


@dataclass(frozen=True)
class TableRows:
    """The rows of one generated table as functions of the row id.

    Columns are added in steps, each using the previous ones. A single expression per column would
    repeat shared subexpressions: one such tree took Spark minutes to plan.

    Attributes
    ----------
    ids
        Maps the requested rows to the number of candidate ids; ids are 0, 1, 2, ...
    completed
        (frame, seed) to a frame with all columns that the table declares; the input frame has `id`,
        the columns kept by `timed`, and the table's row number if it declares one.
    timed
        (frame with `id`, seed, ids) to a frame with the table's time column, `id` and the columns
        worth keeping through the sort; ids without a row are dropped. None for a table without
        time, which has a row for each id.
    """

    ids: Callable[[int], int]
    completed: Callable[[DataFrame, int], DataFrame]
    timed: Callable[[DataFrame, int, int], DataFrame] | None = None


@dataclass(frozen=True)
class Generator:
    """The generator of a dataset; the `generate.py` next to `tables.py` ends with one.

    Attributes
    ----------
    tables
        The rows of each declared table, by name.
    parameters
        (requested rows) to all parameters that shape the data, by name.
    """

    tables: Mapping[str, TableRows]
    parameters: Callable[[int], dict[str, Any]]


def hashed(seed: int, purpose: str, *ids: Column) -> Column:
    """Return 64 random bits (bigint) for a purpose and one or more ids."""
    return F.xxhash64(F.lit(seed).cast("bigint"), F.lit(purpose), *ids)


def bits(word: Column, first: int, count: int) -> Column:
    """Extract `count` bits of a 64-bit word, from bit `first` on: a bigint in [0, 2**count)."""
    return F.shiftrightunsigned(word, first).bitwiseAND(F.lit((1 << count) - 1).cast("bigint"))


def uniform(seed: int, purpose: str, *ids: Column) -> Column:
    """Return a random double in [0, 1), of 53 bits."""
    return bits(hashed(seed, purpose, *ids), 11, 53) * F.lit(2.0**-53)


def below(seed: int, purpose: str, limit: int, *ids: Column) -> Column:
    """Return a random bigint in [0, limit)."""
    return F.floor(uniform(seed, purpose, *ids) * F.lit(float(limit)))


def happens(seed: int, purpose: str, share: float, *ids: Column) -> Column:
    """Return true for the given share of ids."""
    return uniform(seed, purpose, *ids) < F.lit(share)


def quotient(value: Column, divisor: int) -> Column:
    """Divide and round down; exact below 2**53."""
    return F.floor(value / F.lit(divisor))


def numbers(values: Sequence[int] | np.ndarray) -> Column:
    """Make an array of bigint constants."""
    # One string, cast once when the plan is optimised: an expression per element would make a plan
    # of tens of thousands of nodes.
    text = ",".join(str(int(value)) for value in values)
    return F.split(F.lit(text), ",").cast("array<bigint>")


def texts(values: Sequence[str]) -> Column:
    """Make an array of string constants; none may contain the unit separator U+001F."""
    return F.split(F.lit("\x1f".join(values)), "\x1f")


def pick(table: Column, index: Column) -> Column:
    """Return the element of an array at a zero-based index."""
    return F.element_at(table, (index + F.lit(1)).cast("int"))


def draw(seed: int, purpose: str, weights: np.ndarray, labels: np.ndarray, *ids: Column) -> Column:
    """Draw labels with given weights, by the alias method.

    Parameters
    ----------
    seed, purpose
        As for `hashed`.
    weights : ndarray of float64, (n,)
        Non-negative; they need not add up to one.
    labels : ndarray of int64, (n,)
    ids
        The columns that the draw depends on.

    Returns
    -------
    Column
        bigint, one of `labels`.
    """
    threshold, alias = alias_table(weights)
    place = below(seed, purpose + " place", len(weights), *ids)
    coin = bits(hashed(seed, purpose + " coin", *ids), 0, ALIAS_BITS)
    kept = coin < pick(numbers(threshold), place)
    return F.when(kept, pick(numbers(labels), place)).otherwise(pick(numbers(labels[alias]), place))


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build Walker's alias table (M. D. Vose, 1991, IEEE TSE 17(9)).

    Parameters
    ----------
    weights : ndarray of float64, (n,)

    Returns
    -------
    tuple of ndarray
        `threshold`, int64 (n,): an entry keeps a coin of `ALIAS_BITS` bits below this; `alias`,
        int64 (n,): the entry that gets the coin otherwise.
    """
    count = len(weights)
    scaled = np.asarray(weights, dtype=np.float64) * (count / float(np.sum(weights)))
    alias = np.arange(count)
    small = [place for place in range(count) if scaled[place] < 1.0]
    large = [place for place in range(count) if scaled[place] >= 1.0]
    while small and large:
        poor, rich = small.pop(), large[-1]
        alias[poor] = rich
        scaled[rich] -= 1.0 - scaled[poor]
        if scaled[rich] < 1.0:
            small.append(large.pop())
    # The remaining entries differ from 1 by rounding only and keep every coin.
    scaled[small + large] = 1.0
    return np.rint(scaled * (1 << ALIAS_BITS)).astype(np.int64), alias
