"""The terms of an expression, typed, and their values in plain Python.

Integers have 64 bits; an integer operand is widened to a double if the other is one, also for
``/``. So a value is the same wherever it is computed. ``//`` and ``%`` round down as Python does. A
result that 64 bits, or a finite double, cannot hold is an overflow, so that neither infinity nor
NaN ever flows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from operators.streamcloud.schema import INT64

LEAST, MOST = -(1 << 63), (1 << 63) - 1
ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
DIVISIONS = ("/", "//", "%")
COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Of one operand; of any number; a 64-bit integer to a double.
NEGATIVE, NOT, AND, OR, WIDEN = "negative", "not", "and", "or", "widen"


class Constant(NamedTuple):
    """A number or a text in the expression."""

    value: int | float | str
    type: str


class Column(NamedTuple):
    """The value of a column: ``x``, or ``left.x`` of a join."""

    name: str
    type: str


class Apply(NamedTuple):
    """An operation on other terms, which have one type."""

    operation: str
    operands: tuple[Term, ...]
    type: str


Term = Constant | Column | Apply


def value_of(term: Term, row: Mapping[str, Any]) -> Any:
    """Return the value of a term for a tuple.

    Parameters
    ----------
    term : Term
    row : mapping of str to value
        By column.

    Raises
    ------
    ZeroDivisionError, OverflowError
    """
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Column):
        return row[term.name]
    # Short-circuit: operands behind the deciding one are not computed, and cannot fail.
    if term.operation == AND:
        return all(value_of(each, row) for each in term.operands)
    if term.operation == OR:
        return any(value_of(each, row) for each in term.operands)
    values = [value_of(each, row) for each in term.operands]
    if term.operation in COMPARISONS:
        return COMPARISONS[term.operation](*values)
    if term.operation == NOT:
        return not values[0]
    if term.operation == WIDEN:
        return float(values[0])
    if term.operation == NEGATIVE:
        return within_limits(-values[0], term.type)
    if term.operation in DIVISIONS and values[1] == 0:
        raise ZeroDivisionError("division by zero")
    return within_limits(ARITHMETIC[term.operation](*values), term.type)


def within_limits(value: Any, kind: str) -> Any:
    """Return a number if the type can hold it.

    Raises
    ------
    OverflowError
    """
    if kind == INT64 and not LEAST <= value <= MOST:
        raise OverflowError(f"overflow of 64 bits: {value}")
    if kind != INT64 and not math.isfinite(value):
        raise OverflowError(f"overflow of a double: {value}")
    return value


def parts_of(term: Term) -> Iterator[Term]:
    """Yield a term and all terms in it, from left to right."""
    yield term
    for each in term.operands if isinstance(term, Apply) else ():
        yield from parts_of(each)
