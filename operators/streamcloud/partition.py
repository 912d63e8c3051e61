"""How the input of a subquery is split over instances: the destinations of a tuple.

Source: "StreamCloud: A Large Scale Data Streaming System", sections III-C and III-D, and lines 1 to
23 of its Fig. 3.

================  ======================  ========================================================
partition         before                  a tuple goes to
================  ======================  ========================================================
``RoundRobin``    stateless operators     one instance: the next one in turn, by the position
``Hash``          equijoin, aggregate     one instance: by the hash of the columns that must agree
``Grid``          Cartesian product       one row of instances, or one column of them
================  ======================  ========================================================

A product must see each pair of a left and a right tuple once. The instances form a grid: left
tuples go along a row and right tuples down a column, and each row crosses each column once::

    Grid of 2 x 3              right tuples:  column 0   column 1   column 2
                                                 |          |          |
    left tuples:  row 0  ------------------>     0          1          2
                  row 1  ------------------>     3          4          5

A destination is computed from one word: the *position* of the tuple in the sender's output, the
hash of some *columns*, or the hash of the *order key*, which no two tuples share. None of them
depends on the clock or on the process that computes it, so that a tuple that is sent again has the
same destination.

# ASSUME: the paper has sqrt(N) rows and columns and does not say what holds for another N. Here the
# grid is the pair of divisors of N that lies closest to a square, rows <= columns. A prime N gives
# one row: every instance has all left tuples, and a share of the right ones. That is still right,
# and costs the most copies; `copies` says how many.
# ASSUME: "a hash of the tuple" is the hash of the order key. A hash of the values would send equal
# tuples to one row, however many there are.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from operators.contract import UsageError
from operators.core.integers import fold, mix64, shift_right
from operators.core.jit import inlined

LEFT, RIGHT = 0, 1

# The word from which a destination is computed.
OF_POSITION, OF_COLUMNS, OF_KEY = "position", "columns", "key"

_WORD_BYTES = 8


@inlined
def hashed_with(hashed, word):
    """Return the hash of some words and one more; the hash of none is 0."""
    return mix64(fold(hashed, word))


@inlined
def by_turn(position, instances):
    """Return the instance whose turn it is."""
    return position % instances


@inlined
def by_hash(hashed, instances):
    """Return the instance that has all tuples of this hash: 0 for the hash of no columns."""
    return shift_right(hashed, 1) % instances  # without the sign


@inlined
def by_grid(hashed, rows, columns, side, copy):
    """Return the instance that gets the copy of this number: Fig. 3, lines 15 to 22."""
    if side == LEFT:
        return by_hash(hashed, rows) * columns + copy
    return by_hash(hashed, columns) + copy * columns


def words_of(value: int | float | str) -> tuple[int, ...]:
    """Return the words of a column's value, equal for equal values of one type.

    An integer is one word, a double is one word of bits (both zeros are one), and a text is the
    length and the words of the UTF-8 bytes.

    Examples
    --------
    >>> words_of(7), words_of(-0.0), words_of("ab")
    ((7,), (0,), (2, 25185))
    """
    if isinstance(value, str):
        text = value.encode()
        padded = text + bytes(-len(text) % _WORD_BYTES)
        return (len(text), *struct.unpack(f"<{len(padded) // _WORD_BYTES}q", padded))
    if isinstance(value, float):
        return struct.unpack("<q", struct.pack("<d", value + 0.0))
    return (int(value),)


def hash_of(values: Iterable[int | float | str]) -> int:
    """Return the hash of the values of some columns, as int64: the same in every process.

    Examples
    --------
    >>> hash_of([]), hash_of([1, 2]) == hash_of([2, 1])
    (0, False)
    """
    return reduce(hashed_with, (word for value in values for word in words_of(value)), 0)


@dataclass(frozen=True)
class RoundRobin:
    """Tuples in turn, for operators without a state: any instance may have any tuple."""

    made_from: ClassVar[str] = OF_POSITION

    def copies(self, instances: int) -> int:
        """Return the number of instances that each tuple goes to."""
        return 1

    def destinations(self, word: int, instances: int) -> tuple[int, ...]:
        """Return the instances that get the tuple at a position.

        Examples
        --------
        >>> [RoundRobin().destinations(position, 2) for position in range(3)]
        [(0,), (1,), (0,)]
        """
        return (by_turn(word, instances),)


@dataclass(frozen=True)
class Hash:
    """Tuples that agree in some columns go together, for equijoins and aggregates.

    Attributes
    ----------
    columns : tuple of str
        In this order: the two sides of a join hash the compared values as one sequence. Without
        columns everything belongs together, and goes to instance 0.
    """

    made_from: ClassVar[str] = OF_COLUMNS
    columns: tuple[str, ...]

    def copies(self, instances: int) -> int:
        """Return the number of instances that each tuple goes to."""
        return 1

    def destinations(self, word: int, instances: int) -> tuple[int, ...]:
        """Return the instance that gets the tuples of a hash."""
        return (by_hash(word, instances),)


@dataclass(frozen=True)
class Grid:
    """Tuples along a row or down a column of instances, for Cartesian products.

    Attributes
    ----------
    rows, columns : int
        There are ``rows * columns`` instances; that in row r and column c is ``r * columns + c``.
    side : int
        ``LEFT`` if tuples go along a row, ``RIGHT`` if they go down a column.
    """

    made_from: ClassVar[str] = OF_KEY
    rows: int
    columns: int
    side: int

    def __post_init__(self) -> None:
        """Refuse an invalid grid."""
        if min(self.rows, self.columns) < 1 or self.side not in (LEFT, RIGHT):
            raise UsageError(
                f"a grid has at least one row and one column and a side 0 or 1, received {self}"
            )

    @classmethod
    def of(cls, instances: int, side: int) -> Grid:
        """Return the grid of so many instances that is closest to a square.

        Examples
        --------
        >>> Grid.of(12, LEFT), Grid.of(7, LEFT)
        (Grid(rows=3, columns=4, side=0), Grid(rows=1, columns=7, side=0))
        """
        rows = next(each for each in range(math.isqrt(instances), 0, -1) if instances % each == 0)
        return cls(rows, instances // rows, side)

    @property
    def parts(self) -> int:
        """The number of parts of this side's tuples: the rows, or the columns."""
        return self.rows if self.side == LEFT else self.columns

    def copies(self, instances: int) -> int:
        """Return the number of instances that each tuple goes to."""
        return instances // self.parts

    def destinations(self, word: int, instances: int) -> tuple[int, ...]:
        """Return the row or column of instances that gets the tuple of a hash.

        Raises
        ------
        UsageError
            When the grid was made for another number of instances.
        """
        if instances != self.rows * self.columns:
            raise UsageError(
                f"a grid of {self.rows} x {self.columns} has {self.rows * self.columns} instances,"
                f" received {instances}"
            )
        return tuple(
            by_grid(word, self.rows, self.columns, self.side, copy)
            for copy in range(self.copies(instances))
        )


Partition = RoundRobin | Hash | Grid
