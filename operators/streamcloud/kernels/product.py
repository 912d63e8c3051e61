"""Cartesian product: each tuple meets all near ones, and the predicate decides which pairs match.

The window is column-major, so that a scan reads only the columns of the predicate. The scan goes
block by block: first the predicate of each tuple of a block, without branches, so that it is
vectorized, then, if any of them has matched, the search for the matching ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from operators.core.jit import inlined, kernel
from operators.streamcloud.algebra import SIDES, Join, Product
from operators.streamcloud.expressions import Computed, Expression
from operators.streamcloud.generated import Fixed, Flat
from operators.streamcloud.kernels.operator import calls_functions
from operators.streamcloud.kernels.pairing import Pairing
from operators.streamcloud.kernels.probing import (
    AT,
    COMPARED,
    CURSOR,
    DONE,
    FAULT,
    FOUND,
    FROM,
    IN_ORDER,
    LATER,
    LEFT_AT,
    NO_ROOM,
    OLDEST,
    PLACE,
    RIGHT_AT,
    SIDE,
    SPAN,
    START,
)
from operators.streamcloud.terms import ARITHMETIC, NEGATIVE, Apply, parts_of

# Tuples of the window whose predicates are computed before the search for matches.
BLOCK = 256
# Flags of a pair; ``FAILS`` replaces ``UNSURE`` when that is settled.
MATCHES, UNSURE = 1, 2
FAILS = UNSURE


@inlined
def keep_near(own, other, number, begin, count, run, records, found):
    """Clear the flags of tuples that are not near: under best effort a window is not sorted."""
    ts, seen = own.words[0, records[PLACE, number]], 0
    for j in range(count):
        time = other.words[0, begin + j]
        if time < records[OLDEST, number] or abs(ts - time) > run[SPAN]:
            found[j] = 0
        else:
            run[COMPARED] += 1
        seen |= found[j]
    return seen


@inlined
def take_found(begin, count, number, run, records, found, pairs):
    """Record the pairs of a block up to one that fails, and return whether there is one."""
    side, at = records[SIDE, number], records[PLACE, number]
    first = made = run[FOUND]
    fails = 0
    for j in range(count):
        fails |= found[j] & FAILS
        if fails:
            run[CURSOR] = begin + j
            break
        pairs[RIGHT_AT - side, made] = begin + j
        made += found[j] & MATCHES
    for put in range(first, made):
        pairs[LATER, put] = side
        pairs[LEFT_AT + side, put] = at
    run[FOUND] = made
    return fails


@inlined
def never_unsure(left, i, right, j, texts):
    """Stand in for ``exact`` if nothing is unsure."""
    return 0


@cache
def make_scan(
    fix_left: Callable, quick_left: Callable, fix_right: Callable, quick_right: Callable,
    exact: Callable | None,
) -> Callable:  # fmt: skip
    """Return the kernel that finds the pairs of a product.

    Parameters
    ----------
    fix_left, fix_right : callable
        Returns the values of a tuple of that side.
    quick_left, quick_right : callable
        Of these values, and of a tuple of the other side: ``MATCHES`` or 0, with ``UNSURE`` if the
        predicate may fail.
    exact : callable or None
        1 or 0, or -1 on a fault; None if nothing is unsure.
    """
    exact = exact or never_unsure

    @inlined
    def settle(left, right, number, begin, count, texts, records, found):
        """Evaluate unsure predicates once more, exactly."""
        side, at = records[SIDE, number], records[PLACE, number]
        for j in range(count):
            if found[j] & UNSURE:
                i = at if side == 0 else begin + j
                certain = exact(left, i, right, begin + j if side == 0 else at, texts)
                found[j] = certain if certain >= 0 else FAILS

    @kernel
    def scan(left, right, texts, run, records, pairs, found):
        """Find the pairs of all tuples, or stop: ``NO_ROOM`` or ``FAULT``."""
        for number in range(run[AT], records.shape[1]):
            run[AT] = number
            at, last = records[PLACE, number], records[START, number]
            begin = max(run[CURSOR], records[FROM, number])
            while begin < last:
                count = min(BLOCK, last - begin)
                run[CURSOR] = begin
                if run[FOUND] + count > pairs.shape[1]:
                    return NO_ROOM
                seen = 0
                if records[SIDE, number] == 0:
                    fixed = fix_left(left, at)
                    for j in range(count):
                        found[j] = quick_left(fixed, right, begin + j, texts)
                        seen |= found[j]
                    if not run[IN_ORDER]:
                        seen = keep_near(left, right, number, begin, count, run, records, found)
                else:
                    other_fixed = fix_right(right, at)
                    for j in range(count):
                        found[j] = quick_right(other_fixed, left, begin + j, texts)
                        seen |= found[j]
                    if not run[IN_ORDER]:
                        seen = keep_near(right, left, number, begin, count, run, records, found)
                if run[IN_ORDER]:
                    run[COMPARED] += count
                if seen & UNSURE:
                    settle(left, right, number, begin, count, texts, records, found)
                if seen and take_found(begin, count, number, run, records, found, pairs):
                    return FAULT
                begin += count
            run[CURSOR] = 0
        run[AT] = records.shape[1]
        return DONE

    return scan


class ProductOperator(Pairing):
    """A product."""

    tests_found = False

    def __init__(self, node: Product, codes: Mapping[str, int], in_order: bool) -> None:
        super().__init__(node, codes, in_order)
        flat = [
            Flat(output, side, index, side)
            for output, side, index in zip(node.inputs, SIDES, "ij", strict=True)
        ]
        functions = [*self._quick(flat, 0), *self._quick(flat, 1)]
        writer, exact = self.writer(flat), None
        if _may_fail(node.where):
            lines = [*writer.lines("where", node.where, 0, "-1"), "return 1 if value_0 else 0"]
            writer.function("exact(left, i, right, j, texts)", lines)
            exact = writer.module().exact
        self._scan = make_scan(*functions, exact)
        self._block = np.zeros(BLOCK, dtype=np.int64)

    def _quick(self, flat: list[Flat], side: int) -> tuple[Callable, Callable]:
        """Return the function that fixes a tuple of a side, and the one that compares it."""
        fixed = Fixed(flat[side])
        writer = self.writer([fixed, flat[1 - side]])
        lines = [f"return {MATCHES}"]
        if self.node.where is not None:
            lines = [
                f"value, unsure = {writer.without_branches('where', self.node.where)}",
                "return int(value) | unsure << 1",
            ]
        own, other = SIDES[side], SIDES[1 - side]
        writer.function(f"fix({own}, {'ij'[side]})", [f"return {fixed.values}"])
        writer.function(f"quick(fixed, {other}, {'ji'[side]}, texts)", lines)
        module = writer.module()
        # The same for both sides: texts are numbered through the predicate.
        self._texts_of_scan = writer.constants()
        return module.fix, module.quick

    def search(self, records: np.ndarray) -> int:
        """See `Pairing`."""
        left, right = (window.store for window in self.windows)
        try:
            status = self._scan(
                left, right, self._texts_of_scan, self.run, records, self.pairs, self._block
            )
        except Exception as error:
            if not calls_functions(self.node) or not records.shape[1]:
                raise
            self._fail(records)
            raise AssertionError from error  # it has raised
        if status == FAULT:
            self._fail(records)
        return status

    def _fail(self, records: np.ndarray) -> None:
        """Raise for the first pair that fails: one that was found, else the one of the scan."""
        self.found()
        record = records[:, self.run[AT]].tolist()
        for place in range(int(self.run[CURSOR]), record[START]):
            pair = (record[PLACE], place) if record[SIDE] == 0 else (place, record[PLACE])
            self.fail_at(*pair, must=False)
        raise RuntimeError(f"{self.node.name}: a function failed for no pair of the window")


def compared_by_pairs(join: Join) -> Product:
    """Return the product that finds a join's pairs: the predicate begins with the equalities."""
    equal = [f"left.{mine} == right.{other}" for mine, other in join.on]
    where = [] if join.where is None else [f"({join.where.text})"]
    return Product(
        join.name, join.inputs, join.window, join.columns, " and ".join([*equal, *where]), join.time
    )


def _may_fail(where: Computed | None) -> bool:
    """Return whether a predicate has arithmetic; a function raises instead."""
    return isinstance(where, Expression) and any(
        isinstance(each, Apply) and (each.operation in ARITHMETIC or each.operation == NEGATIVE)
        for each in parts_of(where.term)
    )
