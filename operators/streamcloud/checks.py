"""Checks in the construction of a query's operators (`operators.streamcloud.algebra`).

`where` names operator and key, ``busy.columns.mean``, and begins each message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from operators.contract import UsageError
from operators.streamcloud.expressions import Computed, Scope, expression
from operators.streamcloud.schema import (
    DOUBLE,
    INT64,
    TEXT,
    TIME,
    TRUTH,
    Schema,
    did_you_mean,
    listed,
)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Columns = Mapping[str, Any] | Iterable[tuple[Any, ...]]


def check_name(name: object, kind: str) -> None:
    """Refuse a name that is invalid in the YAML form, or before a point."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(
            f"{name}: the name of this {kind} must be letters, digits, '_' and '-', a letter first"
        )


def entries(where: str, given: Columns) -> Sequence[tuple[Any, ...]]:
    """Return columns as a list of (name, ...), at least one and none twice."""
    found = list(given.items()) if isinstance(given, Mapping) else [tuple(each) for each in given]
    if not found:
        raise UsageError(f"{where}: give at least one column")
    names = [entry[0] for entry in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'{where}: column "{name}" is there twice: call one another')
    return found


def computed(where: str, given: Columns, scope: Scope) -> tuple[tuple[str, Computed], ...]:
    """Return columns with their expressions typed; each has a type that columns may have."""
    found = []
    for column, value in entries(where, given):
        here = f"{where}.{column}"
        typed = expression(here, value, scope)
        if typed.type == TRUTH:
            raise UsageError(
                f'{here}: "{typed.text}" is true or false, and a column is a number or a text:'
                " a filter takes predicates"
            )
        if column == TIME and typed.type != INT64:
            raise UsageError(f'{here}: "{typed.text}" is {typed.type}, and the time is {INT64}')
        found.append((column, typed))
    return tuple(found)


def predicate(where: str, given: Any, scope: Scope) -> Computed:
    """Return an expression or a function that is true or false."""
    typed = expression(where, given, scope)
    if typed.type != TRUTH:
        example = f"{typed.text} != " + ("''" if typed.type == TEXT else "0")
        raise UsageError(
            f'{where}: "{typed.text}" is {typed.type}, and a predicate is true or false:'
            f' compare it, for example "{example}"'
        )
    return typed


def check_key(where: str, column: str, schema: Schema, of: str) -> str:
    """Return the type of a column that is a key of a group or a join."""
    kind = schema.find(where, column, of)
    if kind == DOUBLE:
        raise UsageError(
            f'{where}: column "{column}" of {of} is double, and rounding makes doubles unequal:'
            " go by an int64 or a text; a map before it can make one"
        )
    return kind


def check_own_names(where: str, columns: Sequence[str], group_by: Sequence[str] = ()) -> None:
    """Check that an operator's new columns do not clash with those it has anyway."""
    for column in columns:
        if column == TIME:
            raise UsageError(
                f'{where}: "{TIME}" is there anyway, and the operator gives it: take it away;'
                " a map behind it can give another"
            )
        if column in group_by:
            raise UsageError(
                f'{where}: column "{column}" of group_by is there anyway: call yours another'
            )


def with_time(where: str, columns: Mapping[str, str], time: str) -> dict[str, str]:
    """Return the columns of an input with the time column renamed as in the query."""
    if time not in columns:
        raise UsageError(
            f'{where}: no column "{time}" in its schema ({listed(columns)})'
            f"{did_you_mean(time, columns)}"
        )
    if time != TIME and TIME in columns:
        raise UsageError(
            f'{where}: column "{time}" is the time, which a query calls "{TIME}", and there is'
            f' another column "{TIME}": give that one another name'
        )
    return {TIME if column == time else column: kind for column, kind in columns.items()}
