"""Expressions over the columns of a tuple, and functions of a user over them.

Python's parser (``ast``) reads the text of an expression, and of Python's syntax only this is
taken: columns, ``x``, or ``left.x`` and ``right.y`` of a join; integers, decimals, texts in quotes;
``+ - * / // %``; comparisons; ``and or not``; parentheses. An expression is typed against the
schemas, once, and is then computed in plain Python (`Expression.evaluate`) or written as a function
for kernels (`operators.streamcloud.kernel_text`). `operators.streamcloud.terms` has the semantics.

The columns of an aggregate are calls of one of a closed list of functions, ``AGGREGATES``.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from operators.contract import UsageError
from operators.core.user_functions import user_function
from operators.streamcloud.schema import (
    DOUBLE,
    INT64,
    TEXT,
    TRUTH,
    TYPES,
    Schema,
    did_you_mean,
    listed,
)
from operators.streamcloud.terms import (
    AND,
    ARITHMETIC,
    COMPARISONS,
    LEAST,
    MOST,
    NEGATIVE,
    NOT,
    OR,
    WIDEN,
    Apply,
    Column,
    Constant,
    Term,
    parts_of,
    value_of,
    within_limits,
)

AGGREGATES = ("count", "sum", "avg", "min", "max", "first")
# Python takes a hundred levels of indentation, and a kernel may need one for each level here.
DEEPEST = 50
LONGEST = 10_000

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.And: AND, ast.Or: OR,
}  # fmt: skip
_NUMBERS = (INT64, DOUBLE)
_LANGUAGE = (
    "an expression has columns, numbers, texts in quotes,"
    f" {' '.join((*ARITHMETIC, *COMPARISONS))}, and, or, not, parentheses"
)
_PYTHON_TYPES = {INT64: int, DOUBLE: float, TEXT: str, TRUTH: bool}


class Scope(NamedTuple):
    """The columns that an expression may name.

    Attributes
    ----------
    schemas : mapping of str to Schema
        By side: "" of an operator with one input, "left" and "right" of a join.
    names : mapping of str to str
        By side, the operator or input whose schema it is.
    """

    schemas: Mapping[str, Schema]
    names: Mapping[str, str]


@dataclass(frozen=True)
class Expression:
    """An expression, typed.

    Attributes
    ----------
    text : str
        As written.
    type : str
        One of ``TYPES``, or ``TRUTH``.
    columns : tuple of str
        The columns it reads, as named in the text, each once.
    term : Term
    """

    text: str
    type: str
    columns: tuple[str, ...]
    term: Term = field(repr=False, compare=False)

    @property
    def column(self) -> str | None:
        """The column, if the expression is nothing but one."""
        return self.term.name if isinstance(self.term, Column) else None

    @property
    def texts(self) -> tuple[str, ...]:
        """The text constants, each once."""
        constants = (each for each in parts_of(self.term) if isinstance(each, Constant))
        return tuple(dict.fromkeys(each.value for each in constants if each.type == TEXT))

    def evaluate(self, row: Mapping[str, Any]) -> Any:
        """Return the value for a tuple, given by column.

        Raises
        ------
        ZeroDivisionError, OverflowError
        """
        return value_of(self.term, row)

    def __str__(self) -> str:
        """Return the text."""
        return self.text


@dataclass(frozen=True)
class Called:
    """A user's function over columns, as an alternative to an expression.

    Attributes
    ----------
    function : callable
        Plain Python that numba compiles, or the result of ``numba.njit``; with a name, in a file.
    columns : tuple of str
        The arguments, in order: ``x``, or ``left.x`` of a join.
    type : str
        Of the result: one of ``TYPES``, or ``TRUTH`` of a predicate.
    """

    function: Callable[..., Any]
    columns: tuple[str, ...]
    type: str

    @property
    def text(self) -> str:
        """The call, as a message shows it."""
        return f"{_plain(self.function).__name__}({', '.join(self.columns)})"

    @property
    def column(self) -> None:
        """None: it is not a plain column."""
        return None

    def evaluate(self, row: Mapping[str, Any]) -> Any:
        """Return the value for a tuple, given by column.

        Raises
        ------
        TypeError, OverflowError
            When the result is not of the declared type. Errors of the function itself are passed
            on.
        """
        value = _plain(self.function)(*(row[column] for column in self.columns))
        value = value.item() if hasattr(value, "item") else value
        if type(value) is not _PYTHON_TYPES[self.type]:
            raise TypeError(f"returned {value!r}, which is no {self.type}")
        return within_limits(value, self.type) if self.type in _NUMBERS else value

    def __str__(self) -> str:
        """Return the call."""
        return self.text


Computed = Expression | Called


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return getattr(function, "py_func", function)


def expression(where: str, given: Any, scope: Scope) -> Computed:
    """Return an expression, or a user's function, typed against the columns.

    Parameters
    ----------
    where : str
        Operator and key, for messages.
    given : str, int, float, Expression or Called
        A text, or an expression that was typed before, perhaps against other schemas.
    scope : Scope

    Raises
    ------
    UsageError
        When it cannot be read, names an unknown column, or combines types that do not fit.
    """
    if isinstance(given, Called):
        return _checked_call(where, given, scope)
    if isinstance(given, Expression):
        given = given.text
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise UsageError(f"{where}: give an expression or a Called function, received {given!r}")
    text = " ".join(str(given).strip().splitlines())
    term = _Reader(where, text, scope).read(_parsed(where, text), 0)
    names = (each.name for each in parts_of(term) if isinstance(each, Column))
    return Expression(text, term.type, tuple(dict.fromkeys(names)), term)


def aggregate_column(
    where: str, entry: tuple[Any, ...], scope: Scope
) -> tuple[str, Computed | None]:
    """Return function and argument of an aggregate's column.

    Parameters
    ----------
    where : str
    entry : (name, text) or (name, function, argument)
        ``("mean", "avg(minutes)")`` or ``("mean", "avg", "minutes")``.
    scope : Scope

    Raises
    ------
    UsageError
        When it does not call one of ``AGGREGATES``, or the argument does not fit.
    """
    if len(entry) == 2:
        function, argument = _called_function(where, str(entry[1]).strip())
    else:
        function, argument = entry[1:]
    if function not in AGGREGATES:
        raise UsageError(
            f"{where}: unknown function {function}(); there are {_aggregates()}"
            f"{did_you_mean(str(function), AGGREGATES)}"
        )
    if function == "count":
        if argument is not None:
            raise UsageError(f"{where}: count() counts tuples and takes nothing: a filter before"
                             " the aggregate takes those to count")  # fmt: skip
        return function, None
    if argument is None:
        raise UsageError(f"{where}: {function}() takes one column or expression")
    typed = expression(where, argument, scope)
    takes = _NUMBERS if function in ("sum", "avg") else TYPES
    if typed.type not in takes:
        raise UsageError(f'{where}: {function}() takes {" or ".join(takes)}, and "{typed.text}" is'
                         f" {typed.type}")  # fmt: skip
    return function, typed


def _called_function(where: str, text: str) -> tuple[str, str | None]:
    node = _parsed(where, text)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise UsageError(
            f'{where}: "{text}" is not one function of an aggregate; there are {_aggregates()};'
            " compute with their results in a map behind the aggregate"
        )
    if node.keywords or len(node.args) > 1:
        raise UsageError(f'{where}: "{text}": {node.func.id}() takes one column or expression')
    arguments = [ast.get_source_segment(text, each) for each in node.args]
    return node.func.id, arguments[0] if arguments else None


def _aggregates() -> str:
    return listed(f"{name}({'' if name == 'count' else 'x'})" for name in AGGREGATES)


def _checked_call(where: str, given: Called, scope: Scope) -> Called:
    user_function(f"{where}: a function", given.function)
    if given.type not in (*TYPES, TRUTH):
        raise UsageError(
            f"{where}: {given.text} is declared to return {given.type!r}; there are"
            f" {listed((*TYPES, TRUTH))}"
        )
    for column in given.columns:
        side, _, name = column.rpartition(".")
        _column(where, side, name, scope)
    return replace(given, columns=tuple(given.columns))


def _column(where: str, side: str, name: str, scope: Scope) -> Column:
    """Return the column of a side."""
    if side not in scope.schemas:
        if "" in scope.schemas:
            raise UsageError(f'{where}: "{side}.{name}": only the columns of a join have a side:'
                             f' write "{name}"')  # fmt: skip
        if side:
            raise UsageError(
                f'{where}: "{side}.{name}": the sides are {listed(scope.schemas)}'
                f"{did_you_mean(side, scope.schemas)}"
            )
        having = [f"{each}.{name}" for each, of in scope.schemas.items() if name in of.names]
        if having:
            raise UsageError(f'{where}: "{name}" is of which side? Write {" or ".join(having)}')
        known = [f"{each}.{column}" for each, of in scope.schemas.items() for column in of.names]
        ends = {each.partition(".")[2]: each for each in known}
        near = did_you_mean(name, ends)
        raise UsageError(f'{where}: no column "{name}" on either side ({listed(known)}){near}')
    full = f"{side}.{name}" if side else name
    return Column(full, scope.schemas[side].find(where, name, scope.names[side]))


# --- reading --------------------------------------------------------------------------------------


def _parsed(where: str, text: str) -> ast.expr:
    """Return the result of Python's parser for a text."""
    if len(text) > LONGEST:
        raise UsageError(f"{where}: has {len(text)} characters, and the limit is {LONGEST}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a text that Python would only warn of
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        at = f"at character {error.offset}" if error.offset else "at its end"
        raise UsageError(f'{where}: "{_shown(text)}" cannot be read {at}: {error.msg}') from None
    except (ValueError, MemoryError, RecursionError, Warning) as error:
        raise UsageError(f'{where}: "{_shown(text)}" cannot be read: {error}') from None


def _shown(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]} ..."


class _Reader:
    """Makes terms of a parsed text; nodes outside the language are refused."""

    def __init__(self, where: str, text: str, scope: Scope) -> None:
        self.where, self.text, self.scope = where, text, scope

    def read(self, node: ast.expr, depth: int) -> Term:
        """Return the term of a node."""
        if depth > DEEPEST:
            raise self._error(f"is more than {DEEPEST} levels deep: compute a part in a map before")
        if isinstance(node, ast.Name):
            return _column(self.where, "", node.id, self.scope)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return _column(self.where, node.value.id, node.attr, self.scope)
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node, depth + 1)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            both = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
            return self._arithmetic(_OPERATORS[type(node.op)], *both)
        if isinstance(node, ast.BoolOp):
            operands = [self.read(each, depth + 1) for each in node.values]
            return self._truth(_OPERATORS[type(node.op)], *operands)
        if isinstance(node, ast.Compare):
            return self._comparison(node, depth + 1)
        if isinstance(node, ast.Call):
            raise self._error("calls a function: count() and the like stand alone in the columns of"
                              " an aggregate, and a function of your own is a Called")  # fmt: skip
        raise self._error(f'has "{self._segment(node)}" in it: {_LANGUAGE}')

    def _segment(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or type(node).__name__

    def _error(self, reason: str) -> UsageError:
        return UsageError(f'{self.where}: "{_shown(self.text)}" {reason}')

    def _constant(self, value: Any) -> Constant:
        kind = {int: INT64, float: DOUBLE, str: TEXT}.get(type(value))
        if kind is None:
            raise self._error(f"has {value!r} in it: {_LANGUAGE}")
        if kind == TEXT:
            if not value.isascii() and value != value.encode("utf-8", "replace").decode("utf-8"):
                raise self._error("has a text in it that is no UTF-8")
            return Constant(value, kind)
        try:
            return Constant(within_limits(value, kind), kind)
        except OverflowError:
            limits = f"{LEAST} to {MOST}" if kind == INT64 else "what a double can hold"
            raise self._error(f"has {value} in it, and numbers are {limits}") from None

    def _unary(self, node: ast.UnaryOp, depth: int) -> Term:
        if isinstance(node.op, ast.Not):
            return self._truth(NOT, self.read(node.operand, depth))
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise self._error(f'has "{self._segment(node)}" in it: {_LANGUAGE}')
        sign = -1 if isinstance(node.op, ast.USub) else 1
        number = getattr(node.operand, "value", None)
        if type(number) in (int, float):  # -2**63 is a number, and 2**63 is none
            return self._constant(sign * number)
        operand = self.read(node.operand, depth)
        if operand.type not in _NUMBERS:
            raise self._error(f"has a sign before a {operand.type}, and numbers have signs")
        return Apply(NEGATIVE, (operand,), operand.type) if sign < 0 else operand

    def _arithmetic(self, operation: str, left: Term, right: Term) -> Term:
        for each in (left, right):
            if each.type not in _NUMBERS:
                raise self._error(f"has {operation} with a {each.type}, and takes numbers there")
        if operation == "/" or left.type != right.type:
            left, right = _widened(left), _widened(right)
        return Apply(operation, (left, right), left.type)

    def _comparison(self, node: ast.Compare, depth: int) -> Term:
        """Return a comparison; a < b < c is a < b and b < c."""
        terms = [self.read(each, depth) for each in (node.left, *node.comparators)]
        pairs = []
        for place, each in enumerate(node.ops):
            operation = _OPERATORS.get(type(each))
            if operation is None:
                raise self._error(f'has "{self._segment(node)}" in it: {_LANGUAGE}')
            left, right = terms[place], terms[place + 1]
            if left.type != right.type and {left.type, right.type} == set(_NUMBERS):
                left, right = _widened(left), _widened(right)
            if left.type != right.type or left.type == TRUTH:
                raise self._error(f"compares a {left.type} with a {right.type}: numbers compare"
                                  " with numbers, and texts with texts")  # fmt: skip
            pairs.append(Apply(operation, (left, right), TRUTH))
        return pairs[0] if len(pairs) == 1 else Apply(AND, tuple(pairs), TRUTH)

    def _truth(self, operation: str, *operands: Term) -> Term:
        for each in operands:
            if each.type != TRUTH:
                raise self._error(f'has "{operation}" with a {each.type}: compare it first,'
                                  " for example with != 0")  # fmt: skip
        return Apply(operation, operands, TRUTH)


def _widened(term: Term) -> Term:
    """Return a term as a double."""
    if term.type == DOUBLE:
        return term
    if isinstance(term, Constant):
        return Constant(float(term.value), DOUBLE)
    return Apply(WIDEN, (term,), DOUBLE)
