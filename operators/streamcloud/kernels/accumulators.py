"""What an aggregate keeps of a group, and how it becomes a row: exact whatever the order.

A *cell* is a row of words::

    group columns | tuples | words of the first column | words of the second | ...

=========================  =======================================================================
function                   words of a cell
=========================  =======================================================================
count                      none: it is the number of tuples
sum, avg of integers       two: the sum of the low 32 bits, and that of the high parts
sum, avg of doubles        one that is 0 between two tuples, and the 66 of an exact sum
min, max, first            one: the value
=========================  =======================================================================

Cells of one group can be merged, the earlier one first. Sums are rounded, and divided, once, when
they are put out (`operators.streamcloud.exact`). A sum's words cannot overflow below 2**30 tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

import numpy as np

from operators.contract import UsageError
from operators.streamcloud.algebra import Aggregate, AggregateColumn
from operators.streamcloud.exact import LIMBS, rounded
from operators.streamcloud.faults import Texts, value_of_word
from operators.streamcloud.generated import Place, Writer, hash_text
from operators.streamcloud.rows import words_of
from operators.streamcloud.schema import DOUBLE
from operators.streamcloud.terms import within_limits

_LOW_BITS = 32
_MASK = (1 << _LOW_BITS) - 1
_HIGH_LIMIT = 1 << (_LOW_BITS - 1)
SUMS = ("sum", "avg")


class Cells:
    """The layout of an aggregate's cells, and the functions that work on them.

    Attributes
    ----------
    groups : int
        Columns of the group; the number of tuples is the word behind them.
    places : tuple of int
        The first word of each column.
    width : int
        Words of a cell.
    """

    def __init__(self, node: Aggregate) -> None:
        self.node = node
        self.groups = len(node.group_by)
        places, at = [], self.groups + 1
        for column in node.columns:
            places.append(at)
            at += _size(column)
        self.places, self.width = tuple(places), at

    def module(self, codes: Mapping[str, int], entries: bool) -> ModuleType:
        """Return the functions.

        ``group_hash(words, i)``, ``same_group(words, i, cells, c)``, ``put_group(words, i, cells,
        c)`` of a tuple; ``cell_hash(cells, c)``, ``same_cell(cells, a, out, b)`` and
        ``merge(cells, doubles, a, out, out_doubles, b)`` of cells, whose tuples may be none;
        ``add(words, doubles, i, cells, cells_doubles, c)``, False where an expression fails. With
        `entries` in its place ``take(words, doubles, i, entries, entries_doubles, e)``, which
        stores the values of a tuple as words, and ``add_entry(entries, entries_doubles, e, cells,
        cells_doubles, c)``.
        """
        node = self.node
        place = Place(node.inputs[0], "words", "doubles", "i")
        writer = Writer(node.name, codes, [place])
        words = [place.word(name) for name in node.group_by]
        writer.function("group_hash(words, i)", [f"return {hash_text(words)}"])
        same = [f"{word} == cells[c, {at}]" for at, word in enumerate(words)]
        writer.function(
            "same_group(words, i, cells, c)", [f"return {' and '.join(same) or 'True'}"]
        )
        writer.function(
            "put_group(words, i, cells, c)",
            [f"cells[c, {at}] = {word}" for at, word in enumerate(words)] or ["pass"],
        )
        of_cell = [f"int(cells[c, {at}])" for at in range(self.groups)]
        writer.function("cell_hash(cells, c)", [f"return {hash_text(of_cell)}"])
        same = [f"cells[a, {at}] == out[b, {at}]" for at in range(self.groups)]
        writer.function("same_cell(cells, a, out, b)", [f"return {' and '.join(same) or 'True'}"])
        writer.function("merge(cells, doubles, a, out, out_doubles, b)", self._merging())
        computing = []
        for number, column in enumerate(node.columns):
            if column.argument is not None:
                computing += writer.lines(
                    f"columns.{column.name}", column.argument, number, "False"
                )
        if not entries:
            writer.function(
                "add(words, doubles, i, cells, cells_doubles, c)",
                [*computing, *self._adding(), "return True"],
            )
            return writer.module()
        arguments = [(n, c) for n, c in enumerate(node.columns) if c.argument is not None]
        writer.function(
            "take(words, doubles, i, entries, entries_doubles, e)",
            [
                *computing,
                *(f"entries{_doubles(c)}[e, {n}] = value_{n}" for n, c in arguments),
                "return True",
            ],
        )
        reading = [
            f"value_{n} = {'float' if _doubles(c) else 'int'}(entries{_doubles(c)}[e, {n}])"
            for n, c in arguments
        ]
        writer.function(
            "add_entry(entries, entries_doubles, e, cells, cells_doubles, c)",
            [*reading, *self._adding()],
        )
        return writer.module()

    def _adding(self) -> list[str]:
        """Return the lines that add ``value_0``, ``value_1``, ... to cell c."""
        lines = [f"fresh = cells[c, {self.groups}] == 0"]
        for number, (column, at) in enumerate(zip(self.node.columns, self.places, strict=True)):
            value, cell = f"value_{number}", f"cells{_doubles(column)}[c, {at}]"
            if column.function in SUMS and _doubles(column):
                lines += [
                    f"{cell} = {value}",
                    f"add_exact(cells, c, {at + 1}, cells[c, {at}])",
                    f"cells[c, {at}] = 0",
                ]
            elif column.function in SUMS:
                lines += [
                    f"cells[c, {at}] += {value} & {_MASK}",
                    f"cells[c, {at + 1}] += {value} >> {_LOW_BITS}",
                ]
            elif column.function != "count":
                better = _better(column, value, cell)
                lines += [f"if fresh{better}:", f"    {cell} = {value}"]
        return [*lines, f"cells[c, {self.groups}] += 1"]

    def _merging(self) -> list[str]:
        """Return the lines that add cell a of ``cells`` to cell b of ``out``."""
        lines = [
            f"fresh = out[b, {self.groups}] == 0",
            f"out[b, {self.groups}] += cells[a, {self.groups}]",
        ]
        for column, at in zip(self.node.columns, self.places, strict=True):
            if column.function in SUMS and _doubles(column):
                lines.append(f"merge_exact(cells, a, out, b, {at + 1})")
            elif column.function in SUMS:
                lines += [f"out[b, {each}] += cells[a, {each}]" for each in (at, at + 1)]
            elif column.function != "count":
                kind = _doubles(column)
                mine, other = f"{kind[1:] or 'cells'}[a, {at}]", f"out{kind}[b, {at}]"
                better = _better(column, mine, other)
                lines += [f"if fresh{better}:", f"    {other} = {mine}"]
        return lines

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
        (made,) = self.node.outputs
        out = np.empty((words_of(made), len(cells)), dtype=np.int64)
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
                    sums[row] = rounded(cells[row, at + 1 : at + 1 + LIMBS].tolist())
                except OverflowError as error:
                    raise self._overflow(column, times[row], cells[row], texts, error) from error
        else:
            carried = (cells[:, at] >> _LOW_BITS) + cells[:, at + 1]
            low = cells[:, at] & _MASK
            sums = (carried << _LOW_BITS) | low
            wide = np.flatnonzero((carried < -_HIGH_LIMIT) | (carried >= _HIGH_LIMIT)).tolist()
            totals = {row: (int(carried[row]) << _LOW_BITS) + int(low[row]) for row in wide}
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


def _doubles(column: AggregateColumn) -> str:
    """Return the end of the name of the array in which a column's values are."""
    of_doubles = column.argument is not None and column.argument.type == DOUBLE
    return "_doubles" if of_doubles else ""


def _better(column: AggregateColumn, value: str, kept: str) -> str:
    """Return the end of a condition by which a value takes the place of what is kept."""
    signs = {"min": "<", "max": ">"}
    return f" or {value} {signs[column.function]} {kept}" if column.function in signs else ""


def _size(column: AggregateColumn) -> int:
    if column.function == "count":
        return 0
    if column.function in SUMS:
        return 1 + LIMBS if _doubles(column) else 2
    return 1
