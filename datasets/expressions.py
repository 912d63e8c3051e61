"""What the generators share: their form, random numbers out of row ids, and tables of constants.

A generated row may depend on the seed and on its own id, and on nothing else: then every number
of partitions and every cluster gives the same rows. Spark's `rand(seed)` does not have this
property (it depends on the partition), so every random number here is a 64-bit hash of
(seed, purpose, row id). Doubles are only added, multiplied, compared and rounded down; powers and
logarithms are taken beforehand, in tables of integers, so that the last bit does not depend on
the Java runtime. Two functions may be taken of a double all the same: `sqrt`, which is correctly
rounded everywhere, and `ln`, which Spark takes from Java's `StrictMath`.
`tests/datasets/test_generate.py` compares digests over partitions and cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ALIAS_BITS = 40
"""Resolution of a drawn probability: 2**-40, far below one row in any set we make."""


@dataclass(frozen=True)
class TableRows:
    """The rows of one generated table as functions of the row id.

    Columns are added in steps, each using the ones before. A single expression for a column would
    repeat what it uses several times: one such tree took Spark minutes to plan.

    Attributes
    ----------
    ids
        From the rows asked for to the number of ids to go through; ids are 0, 1, 2, ...
    completed
        (frame, seed) to one with all columns that the table declares; the frame has `id`, what
        `timed` kept, and the table's row number where it declares one.
    timed
        (frame with `id`, seed, ids) to a frame with the table's time column, `id` and the columns
        worth keeping over the sort; ids without a row are dropped. None for a table without time,
        which has a row for each id.
    """

    ids: Callable[[int], int]
    completed: Callable[[DataFrame, int], DataFrame]
    timed: Callable[[DataFrame, int, int], DataFrame] | None = None


@dataclass(frozen=True)
class Generator:
    """How a dataset is generated; a `generate.py` beside its `tables.py` ends with one.

    Attributes
    ----------
    tables
        By name, the rows of each table that the dataset declares.
    parameters
        (rows asked for) to everything that shapes the data, by name.
    """

    tables: Mapping[str, TableRows]
    parameters: Callable[[int], dict[str, Any]]


def hashed(seed: int, purpose: str, *ids: Column) -> Column:
    """Give 64 random bits (bigint) for a purpose and one or more ids."""
    return F.xxhash64(F.lit(seed).cast("bigint"), F.lit(purpose), *ids)


def bits(word: Column, first: int, count: int) -> Column:
    """Cut `count` bits out of a 64-bit word, from bit `first` on: a bigint in [0, 2**count)."""
    return F.shiftrightunsigned(word, first).bitwiseAND(F.lit((1 << count) - 1).cast("bigint"))


def uniform(seed: int, purpose: str, *ids: Column) -> Column:
    """Give a random double in [0, 1), of 53 bits."""
    return bits(hashed(seed, purpose, *ids), 11, 53) * F.lit(2.0**-53)


def below(seed: int, purpose: str, limit: int, *ids: Column) -> Column:
    """Give a random bigint in [0, limit)."""
    return F.floor(uniform(seed, purpose, *ids) * F.lit(float(limit)))


def happens(seed: int, purpose: str, share: float, *ids: Column) -> Column:
    """Say yes for the given share of ids."""
    return uniform(seed, purpose, *ids) < F.lit(share)


def quotient(value: Column, divisor: int) -> Column:
    """Divide and round down; exact below 2**53."""
    return F.floor(value / F.lit(divisor))


def numbers(values: Sequence[int] | np.ndarray) -> Column:
    """Make an array of bigint constants."""
    # One string cast once when the plan is optimised: an expression per element would make a
    # plan of tens of thousands of nodes.
    text = ",".join(str(int(value)) for value in values)
    return F.split(F.lit(text), ",").cast("array<bigint>")


def texts(values: Sequence[str]) -> Column:
    """Make an array of string constants, none of which may hold the unit separator U+001F."""
    return F.split(F.lit("\x1f".join(values)), "\x1f")


def pick(table: Column, index: Column) -> Column:
    """Take the element of an array at a place counted from 0."""
    return F.element_at(table, (index + F.lit(1)).cast("int"))


def draw(seed: int, purpose: str, weights: np.ndarray, labels: np.ndarray, *ids: Column) -> Column:
    """Draw labels with given weights, by the alias method.

    Parameters
    ----------
    seed, purpose
        As for `hashed`.
    weights : ndarray of float64, (n,)
        Not negative; they need not add up to one.
    labels : ndarray of int64, (n,)
    ids
        The columns the draw depends on.

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
        `threshold`, int64 (n,): the place keeps a coin of `ALIAS_BITS` bits below this;
        `alias`, int64 (n,): the place that gets it otherwise.
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
    # What is left over differs from 1 by rounding only and keeps its whole place.
    scaled[small + large] = 1.0
    return np.rint(scaled * (1 << ALIAS_BITS)).astype(np.int64), alias
