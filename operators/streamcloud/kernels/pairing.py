"""The common part of joins and products: both sides in one order, and windows to search.

::

    left   ..d  b  a  -+    the earlier of the two, left at equal times, meets the near tuples of
                       +->  the opposite window, in the order in which they came, and then enters
    right  ..   c     -+    the window of the same side

A tuple purges tuples that are too old for it from the *opposite* window. If both sides come in
order, no purged tuple is needed any more. Under best effort a tuple that comes behind a later one
of the same side may find that the partner is gone: that pair is lost (the paper's (1, B)).

    arrival 1@2, 2@5, D@6, B@3, size 3:  D purges tuples before 3, so 1; B meets 2 alone

A step consists of phases, each a kernel: all tuples enter their windows, and a record of candidates
is made for each (`operators.streamcloud.kernels.probing`); pairs are found, as the positions of two
tuples; the query's columns and the order keys of the pairs are put out. If there is no room for
more pairs, the existing ones are put out, and the search continues from there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from operators.core.jit import inlined, kernel
from operators.streamcloud.algebra import SIDES, SMALLER, Product
from operators.streamcloud.faults import fail_at_pair
from operators.streamcloud.generated import Place, Writer, stored
from operators.streamcloud.kernels.operator import Operator, calls_functions
from operators.streamcloud.kernels.probing import (
    AT,
    COMPARED,
    COUNT,
    CURSOR,
    DONE,
    FAULT,
    FOUND,
    IN_ORDER,
    LATE,
    LATER,
    LEFT_AT,
    LEFT_END,
    MADE,
    NEXT,
    NO_ROOM,
    PAIR,
    RECORD,
    RIGHT_AT,
    RIGHT_END,
    SPAN,
    enter_all,
    write_keys,
)
from operators.streamcloud.kernels.reorder import Reorder
from operators.streamcloud.kernels.stores import LAST, Window
from operators.streamcloud.order import key_width
from operators.streamcloud.rows import END, column_place, joined, words_of
from operators.streamcloud.saved import Log, Saved
from operators.streamcloud.windows import CountWindow

# Larger than any distance in time, and than any number of tuples.
UNLIMITED = 1 << 62
# Pairs that are found before they are put out.
_LEAST_PAIRS = 1 << 13


@inlined
def _always(left, left_doubles, i, right, right_doubles, j, texts):
    return 1


@cache
def make_put_out(matches: Callable | None, fill: Callable) -> Callable:
    """Return the kernel that computes the columns of pairs.

    Parameters
    ----------
    matches : callable or None
        Whether a left and a right tuple match, -1 on a fault; None if all match.
    fill : callable
        Computes the columns of the pair; False on a fault.
    """
    matches = matches or _always

    @kernel
    def put_out(left, right, texts, pairs, out, out_doubles, run):
        """Put out the pairs that match, and compact these; or stop at ``run[NEXT]``."""
        for number in range(run[FOUND]):
            run[NEXT] = number
            i, j = pairs[LEFT_AT, number], pairs[RIGHT_AT, number]
            found = matches(left.words, left.doubles, i, right.words, right.doubles, j, texts)
            if found < 0:
                return FAULT
            if found > 0:
                put = run[MADE]
                if not fill(
                    left.words, left.doubles, i, right.words, right.doubles, j, texts, out,
                    out_doubles, put,
                ):  # fmt: skip
                    return FAULT
                pairs[LATER, put] = pairs[LATER, number]
                pairs[LEFT_AT, put] = i
                pairs[RIGHT_AT, put] = j
                run[MADE] = put + 1
        return DONE

    return put_out


class Pairing(Operator):
    """A join or a product; they differ in the search of the opposite window."""

    def __init__(self, node: Product, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        (made,) = node.outputs
        self._words = words_of(made)
        self._widths = [key_width(taken) for taken in node.inputs]
        self._smaller = node.time == SMALLER
        self.places = [
            np.array(
                [column_place(taken, pair[side]) for pair in getattr(node, "on", ())], np.int64
            )
            for side, taken in enumerate(node.inputs)
        ]
        self._put_out = self._written()
        self.windows = [
            Window(words_of(taken), places)
            for taken, places in zip(node.inputs, self.places, strict=True)
        ]
        self.run = np.zeros(12, dtype=np.int64)
        counts = isinstance(node.window, CountWindow)
        self.run[SPAN] = UNLIMITED if counts else node.window.size
        self.run[COUNT] = node.window.size if counts else UNLIMITED
        self.run[IN_ORDER] = in_order
        self.pairs = np.zeros((PAIR, _LEAST_PAIRS), dtype=np.int64)
        self._reorder = Reorder(self._words, key_width(made)) if self._smaller else None
        self._floor = 0

    @abstractmethod
    def search(self, records: np.ndarray) -> int:
        """Find pairs from the position in ``run`` on: ``DONE``, or ``NO_ROOM`` for more of them.

        Raises
        ------
        UsageError
            When an expression fails: operator, tuple and cause.
        """

    def writer(self, places: list[Place]) -> Writer:
        """Return a writer of a module for this operator."""
        return Writer(self.node.name, self.codes, places)

    def _written(self) -> Callable:
        node, (made,) = self.node, self.node.outputs
        writer = self.writer(
            [
                Place(output, side, f"{side}_doubles", index, side)
                for output, side, index in zip(node.inputs, SIDES, "ij", strict=True)
            ]
        )
        pair = "left, left_doubles, i, right, right_doubles, j, texts"
        lines = []
        for number, (name, value) in enumerate(node.columns):
            lines += writer.lines(f"columns.{name}", value, number, "False")
            lines.append(stored(made, name, number))
        writer.function(f"fill({pair}, out, out_doubles, o)", [*lines, "return True"])
        tested = node.where is not None and self.tests_found
        if tested:
            lines = [*writer.lines("where", node.where, 0, "-1"), "return 1 if value_0 else 0"]
            writer.function(f"matches({pair})", lines)
        self._constants, module = writer.constants(), writer.module()
        return make_put_out(module.matches if tested else None, module.fill)

    def process(self, batches: list[np.ndarray], floor: int) -> tuple[list[np.ndarray], int]:
        """See `Operator`."""
        for window, batch in zip(self.windows, batches, strict=True):
            window.lay(batch)
        ends = [
            int(window.store.ends[LAST]) + batch.shape[1]
            for window, batch in zip(self.windows, batches, strict=True)
        ]
        run = self.run
        run[[AT, CURSOR, COMPARED, LATE]] = 0
        run[[LEFT_END, RIGHT_END]] = ends
        records = np.empty((RECORD, sum(each.shape[1] for each in batches)), dtype=np.int64)
        left, right = (window.store for window in self.windows)
        enter_all(left, right, *self.places, run, records)
        pieces = []
        status = NO_ROOM
        while status == NO_ROOM:
            run[FOUND] = 0
            status = self.search(records)
            pieces.append(self.found())
            if status == NO_ROOM and run[FOUND] == 0:
                self.pairs = np.zeros((PAIR, 2 * self.pairs.shape[1]), dtype=np.int64)
        self.comparisons += int(run[COMPARED])
        self.late += int(run[LATE])
        self._floor = floor
        pairs, own = joined(pieces, self._words), self._own_floor(floor)
        return [pairs if self._reorder is None else self._reorder.put(pairs, own)], own

    def found(self) -> np.ndarray:
        """Return the output rows of the pairs that were found; raise as ``search`` does."""
        run, (left, right) = self.run, (window.store for window in self.windows)
        run[[NEXT, MADE]] = 0
        out = np.empty((self._words, int(run[FOUND])), dtype=np.int64)
        try:
            status = self._put_out(
                left, right, self._constants, self.pairs, out, out.view(np.float64), run
            )
        except Exception as error:
            if not calls_functions(self.node) or not run[FOUND]:
                raise
            self.fail_at(*self.pairs[[LEFT_AT, RIGHT_AT], run[NEXT]].tolist())
            raise AssertionError from error  # it has raised
        if status == FAULT:
            self.fail_at(*self.pairs[[LEFT_AT, RIGHT_AT], run[NEXT]].tolist())
        made = int(run[MADE])
        write_keys(left, right, self.pairs, made, *self._widths, self._smaller, out)
        return out[:, :made]

    def fail_at(self, left: int, right: int, must: bool = True) -> None:
        """Raise for the pair of two positions."""
        words = [
            window.store.words[:, place]
            for window, place in zip(self.windows, (left, right), strict=True)
        ]
        fail_at_pair(self.node, *words, self.texts, must=must)

    def _own_floor(self, floor: int) -> int:
        if floor == END or self._reorder is None:
            return floor
        if not isinstance(self.node.window, CountWindow):
            return max(0, floor - self.node.window.size)
        # The partner of a future pair is one of these, or comes with it.
        return min(floor, *(int(each.live[0].min(initial=floor)) for each in self.windows))

    def save(self) -> list[np.ndarray | Log]:
        """See `Operator`."""
        before = self._floor - int(self.run[SPAN])
        saved = [each for window in self.windows for each in window.save(before)]
        return saved if self._reorder is None else [*saved, self._reorder.save()]

    def load(self, saved: Saved) -> None:
        """See `Operator`."""
        self.windows[0].load(saved[:2])
        self.windows[1].load(saved[2:4])
        if self._reorder is not None:
            self._reorder.load(saved[4])
