"""The values that an aggregate's columns take from each tuple, one row per column.

Most are columns of the input, which are copied; only computed ones need a kernel.

# ASSUME: under best effort they are computed for late tuples, too, though nothing is added.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from operators.streamcloud.algebra import Aggregate
from operators.streamcloud.generated import Place, Writer
from operators.streamcloud.kernels.stateless import Computing, make_map
from operators.streamcloud.rows import column_place
from operators.streamcloud.schema import DOUBLE


class Arguments(Computing):
    """The common part of aggregates: the values of the columns.

    Attributes
    ----------
    copied : list of (int, int)
        Row of the values, and word of the tuple, for columns that are copied.
    kernel : callable or None
        Computes the other columns, if there are any.
    """

    def __init__(self, node: Aggregate, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        (taken,) = node.inputs
        writer = Writer(node.name, codes, [Place(taken, "words", "doubles", "i")])
        lines: list[str] = []
        self.copied: list[tuple[int, int]] = []
        valued = [each for each in node.columns if each.argument is not None]
        for row, column in enumerate(valued):
            name = column.argument.column
            # A double that is computed from an integer is another word.
            if name is not None and column.argument.type == taken.schema.type_of(name):
                self.copied.append((row, column_place(taken, name)))
                continue
            lines += writer.lines(f"columns.{column.name}", column.argument, row, "False")
            array = "out_doubles" if column.argument.type == DOUBLE else "out"
            lines.append(f"{array}[{row}, o] = value_{row}")
        self._rows, self.kernel = len(valued), None
        if lines:
            head = "fill(words, doubles, i, texts, out, out_doubles, o)"
            writer.function(head, [*lines, "return True"])
            self._texts, self.kernel = writer.constants(), make_map(writer.module().fill)

    def arguments(self, words: np.ndarray) -> np.ndarray:
        """Return the values of a batch, as words: (columns that take one, tuples).

        Raises
        ------
        UsageError
            When an expression fails: operator, tuple and cause.
        """
        values = np.empty((self._rows, words.shape[1]), dtype=np.int64)
        for row, place in self.copied:
            values[row] = words[place]
        if self.kernel is not None:
            self.run(words, values, values.view(np.float64))
        return values
