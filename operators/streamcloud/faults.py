"""The error message for a tuple on which an expression, or a user's function, failed.

A kernel stops at such a tuple and reports only the position. Here the tuple is computed once more,
in plain Python, which raises: so the message has the meaning of the expression
(`operators.streamcloud.terms`), with the values as a user knows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from operators.contract import UsageError
from operators.streamcloud.algebra import SIDES, Aggregate, Filter, Join, Map, Output, Product
from operators.streamcloud.expressions import Computed
from operators.streamcloud.rows import column_place
from operators.streamcloud.schema import DOUBLE, TEXT, listed

Texts = Mapping[int, str]


def columns_of(output: Output, words: np.ndarray, texts: Texts, side: str = "") -> dict[str, Any]:
    """Return the columns of a tuple by the names that expressions use.

    Parameters
    ----------
    output : Output
        The output whose tuple it is.
    words : int64 array (words,)
    texts : mapping of int to str
        By code; an unknown code is shown as such.
    side : str
        "left" or "right" of a join.
    """
    before = f"{side}." if side else ""
    return {
        before + name: value_of_word(kind, int(words[column_place(output, name)]), texts)
        for name, kind in output.schema.columns
    }


def value_of_word(kind: str, word: int, texts: Texts) -> Any:
    """Return the value of a word of a column."""
    if kind == DOUBLE:
        return float(np.array([word], dtype=np.int64).view(np.float64)[0])
    return texts.get(word, f"code {word}") if kind == TEXT else word


def compute(where: str, computed: Computed, row: Mapping[str, Any]) -> Any:
    """Return the value of an expression.

    Raises
    ------
    UsageError
        When it fails: operator, expression, cause and tuple.
    """
    try:
        return computed.evaluate(row)
    except Exception as error:
        what = str(error) if isinstance(error, ArithmeticError | TypeError) else repr(error)
        remedy = ""
        if isinstance(error, ArithmeticError):
            remedy = "; a filter before it can keep such tuples out"
        raise UsageError(
            f'{where}: "{computed.text}": {what}, at the tuple ({shown(row)}){remedy}'
        ) from error


def shown(row: Mapping[str, Any]) -> str:
    """Return a tuple in the form of a message."""
    return listed(f"{name} {value!r}" for name, value in row.items())


def fail_at(node: Map | Filter | Aggregate, words: np.ndarray, texts: Texts) -> None:
    """Raise for the tuple at which an operator of one input failed.

    Raises
    ------
    UsageError
    """
    row = columns_of(node.inputs[0], words, texts)
    if isinstance(node, Filter):
        for number, predicate in enumerate(node.predicates):
            if compute(f"{node.name}.where.{number}", predicate, row):
                break
    else:
        for name, *_, value in node.columns:
            if value is not None:
                compute(f"{node.name}.columns.{name}", value, row)
    _no_fault(node.name, row)


def fail_at_pair(
    node: Product, left: np.ndarray, right: np.ndarray, texts: Texts, must: bool = True
) -> None:
    """Raise for the pair at which a join failed.

    Parameters
    ----------
    node : Product
    left, right : int64 arrays (words,)
    texts : mapping of int to str
    must : bool
        Whether this pair certainly failed.

    Raises
    ------
    UsageError
    """
    row: dict[str, Any] = {}
    for side, output, words in zip(SIDES, node.inputs, (left, right), strict=True):
        row |= columns_of(output, words, texts, side)
    pairs = node.on if isinstance(node, Join) else ()
    matches = all(row[f"left.{mine}"] == row[f"right.{other}"] for mine, other in pairs)
    if matches and node.where is not None:
        matches = compute(f"{node.name}.where", node.where, row)
    if matches:
        for name, value in node.columns:
            compute(f"{node.name}.columns.{name}", value, row)
    if must:
        _no_fault(node.name, row)


def _no_fault(name: str, row: Mapping[str, Any]) -> None:
    raise RuntimeError(
        f"{name}: a kernel failed at the tuple ({shown(row)}), and plain Python does not: what a"
        " function returns may depend on more than the tuple"
    )
