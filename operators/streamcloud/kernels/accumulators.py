"""The cells of an aggregate, one per group, and their conversion to rows: exact in any order.

A *cell* is a row of words::

    group columns | tuples | words of the first column | words of the second | ...

=========================  =======================================================================
function                   words of a cell
=========================  =======================================================================
count                      none: it is the number of tuples
sum, avg of integers       two: the sum of the low 32 bits, and that of the high parts
sum, avg of doubles        the 66 of an exact sum
min, max, first            one: the value
=========================  =======================================================================

Cells of one group can be merged, the earlier one first. Sums are rounded, and divided, once, when
they are put out (`operators.streamcloud.exact`). A sum's words cannot overflow below 2**30 tuples.

The operation of a column on a value is a number, so that one kernel serves all aggregates.
"""

from __future__ import annotations

import numpy as np

from operators.contract import UsageError
from operators.core.jit import inlined
from operators.streamcloud.algebra import Aggregate, AggregateColumn
from operators.streamcloud.exact import LIMBS, add_exact, merge_exact, rounded
from operators.streamcloud.faults import Texts, value_of_word
from operators.streamcloud.rows import column_place, words_of
from operators.streamcloud.schema import DOUBLE
from operators.streamcloud.terms import within_limits

LOW_BITS = 32
MASK = (1 << LOW_BITS) - 1
SUMS = ("sum", "avg")

# The operation of a column on a value; sums also with integers, the others also with doubles.
SUM, SUM_DOUBLES, LEAST, LEAST_DOUBLE, MOST, MOST_DOUBLE, FIRST_VALUE = range(7)
_OPERATIONS = {"sum": SUM, "avg": SUM, "min": LEAST, "max": MOST, "first": FIRST_VALUE}
# Words of a column's line in `Cells.columns`: the operation, the index of the value, and the first
# word of the column in a cell.
OPERATION, VALUE, PLACE = range(3)


@inlined
def add_value(operation, values, doubles, row, i, cells, cells_doubles, c, at, fresh):
    """Add a value to a column of a cell; `fresh` says that the cell has none yet."""
    if operation == SUM:
        cells[c, at] += values[row, i] & MASK
        cells[c, at + 1] += values[row, i] >> LOW_BITS
    elif operation == SUM_DOUBLES:
        add_exact(cells, c, at, values[row, i])
    elif operation == LEAST:
        cells[c, at] = min(cells[c, at], values[row, i])
    elif operation == MOST:
        cells[c, at] = max(cells[c, at], values[row, i])
    elif operation == LEAST_DOUBLE:
        # The first of equal ones, as zeros have signs.
        if fresh or doubles[row, i] < cells_doubles[c, at]:
            cells_doubles[c, at] = doubles[row, i]
    elif operation == MOST_DOUBLE:
        if fresh or doubles[row, i] > cells_doubles[c, at]:
            cells_doubles[c, at] = doubles[row, i]
    elif fresh:
        cells[c, at] = values[row, i]


@inlined
def merge_cells(columns, count, cells, cells_doubles, a, out, out_doubles, b):
    """Add cell a of `cells` to cell b of `out`; word `count` of both is the number of tuples."""
    fresh = out[b, count] == 0
    out[b, count] += cells[a, count]
    for number in range(columns.shape[0]):
        operation, at = columns[number, OPERATION], columns[number, PLACE]
        if operation == SUM:
            out[b, at] += cells[a, at]
            out[b, at + 1] += cells[a, at + 1]
        elif operation == SUM_DOUBLES:
            merge_exact(cells, a, out, b, at)
        else:
            # Here the other cell is in the role of a value.
            add_cell(operation, cells, cells_doubles, a, out, out_doubles, b, at, fresh)


@inlined
def add_cell(operation, cells, cells_doubles, a, out, out_doubles, b, at, fresh):
    """Merge a column of a cell that is no sum into that of another cell."""
    if fresh or operation == LEAST and cells[a, at] < out[b, at]:
        out[b, at] = cells[a, at]
    elif operation == MOST and cells[a, at] > out[b, at]:
        out[b, at] = cells[a, at]
    elif operation == LEAST_DOUBLE and cells_doubles[a, at] < out_doubles[b, at]:
        out[b, at] = cells[a, at]
    elif operation == MOST_DOUBLE and cells_doubles[a, at] > out_doubles[b, at]:
        out[b, at] = cells[a, at]


class Cells:
    """The layout of an aggregate's cells.

    Attributes
    ----------
    groups : int
        Columns of the group; the number of tuples is the word behind them.
    keys : int64 array (groups,)
        The word of a tuple that has each of them.
    places : tuple of int
        The first word of each column.
    width : int
        Words of a cell.
    columns : int64 array (columns with a value, 3)
        The operations on values, as described above.
    blank : int64 array (width,)
        A cell without tuples, but for its group.
    """

    def __init__(self, node: Aggregate) -> None:
        self.node = node
        self.groups = len(node.group_by)
        self.keys = np.array(
            [column_place(node.inputs[0], name) for name in node.group_by], dtype=np.int64
        )
        places, lines, at = [], [], self.groups + 1
        for column in node.columns:
            places.append(at)
            if column.argument is not None:
                lines.append([_operation(column), len(lines), at])
            at += _size(column)
        self.places, self.width = tuple(places), at
        self.columns = np.array(lines, dtype=np.int64).reshape(len(lines), 3)
        (made,) = node.outputs
        self._words = words_of(made)
        self.blank = np.zeros(self.width, dtype=np.int64)
        limits = np.iinfo(np.int64)
        for operation, _, place in lines:
            self.blank[place] = {LEAST: limits.max, MOST: limits.min}.get(operation, 0)

    def rows(self, keys: np.ndarray, cells: np.ndarray, texts: Texts) -> np.ndarray:
        """Return the batch of finished cells.

        Parameters
        ----------
        keys : int64 array (words, cells)
            The order keys; word 0 is the time.
        cells : int64 array (cells, width)
        texts : mapping of int to str

        Raises
        ------
        UsageError
            When a sum does not fit its type: operator, column, window and group.
        """
        out = np.empty((self._words, len(cells)), dtype=np.int64)
        width = len(keys)
        out[:width] = keys
        out[width : width + self.groups] = cells[:, : self.groups].T
        for number, column in enumerate(self.node.columns):
            words = self._finished(number, column, keys[0], cells, texts)
            out[width + self.groups + number] = words
        return out

    def _finished(
        self, number: int, column: AggregateColumn, times: np.ndarray, cells: np.ndarray,
        texts: Texts,
    ) -> np.ndarray:  # fmt: skip
        """Return the words of a column."""
        at, count = self.places[number], cells[:, self.groups]
        if column.function == "count":
            return count
        if column.function not in SUMS:
            return cells[:, at]
        if _doubles(column):
            sums = np.empty(len(cells), dtype=np.float64)
            for row in range(len(cells)):
                try:
                    sums[row] = rounded(cells[row, at : at + LIMBS].tolist())
                except OverflowError as error:
                    raise self._overflow(column, times[row], cells[row], texts, error) from error
        else:
            carried = (cells[:, at] >> LOW_BITS) + cells[:, at + 1]
            low = cells[:, at] & MASK
            sums = (carried << LOW_BITS) | low
            wide, totals = np.flatnonzero(sums >> LOW_BITS != carried), {}
            for row in wide.tolist():
                totals[row] = (int(carried[row]) << LOW_BITS) + int(low[row])
            if column.function == "sum":
                for row, total in totals.items():
                    try:
                        within_limits(total, column.type)
                    except OverflowError as error:
                        raise self._overflow(
                            column, times[row], cells[row], texts, error
                        ) from error
                return sums
            sums = sums.astype(np.float64)
            if totals:
                sums[wide] = [float(total) for total in totals.values()]
        found = sums / count if column.function == "avg" else sums
        return np.ascontiguousarray(found, dtype=np.float64).view(np.int64)

    def _overflow(
        self, column: AggregateColumn, time: int, cell: np.ndarray, texts: Texts, error: Exception
    ) -> UsageError:
        schema = self.node.inputs[0].schema
        group = tuple(
            value_of_word(schema.type_of(name), int(word), texts)
            for name, word in zip(self.node.group_by, cell, strict=False)
        )
        return UsageError(
            f"{self.node.name}.columns.{column.name}: {column.function}() of the window at {time},"
            f" group {group}: {error}"
        )


def _doubles(column: AggregateColumn) -> bool:
    return column.argument is not None and column.argument.type == DOUBLE


def _operation(column: AggregateColumn) -> int:
    operation = _OPERATIONS[column.function]
    # The number behind is the same operation on doubles; `first` treats both as a word.
    return operation + (_doubles(column) and operation != FIRST_VALUE)


def _size(column: AggregateColumn) -> int:
    if column.function == "count":
        return 0
    if column.function in SUMS:
        return LIMBS if _doubles(column) else 2
    return 1
