"""A mapping of baskets: the columns, and the conditions of ``keep`` that select rows.

====================  =============================================================================
``Country: UK``       rows whose text is UK; in a Parquet column of numbers, whose number it is
``Quantity: "> 0"``   rows whose number is above 0; also >=, < and <=, compared exactly
``Country: [NO, UK]`` rows that one of these keeps
====================  =============================================================================

Texts are taken as written in the mapping: NO is Norway. A row without a value is not kept.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats import numbers
from datasets.formats.gather import NULL_LABELS
from datasets.formats.yaml_texts import load_texts
from experiments.replay.remarks import say
from operators.contract import UsageError

# Allowed keys of a mapping, and the roles of its columns.
MAPPED = ("columns", "keep")
ROLES = ("time", "ticket", "item")
# Values that are named when a condition keeps nothing.
SHOWN = 3
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_COMPARISON = re.compile(rf"(>=|<=|>|<)\s*({_NUMBER})")
# Intended as a comparison, but malformed; a text may also begin with one of these.
_NO_COMPARISON = re.compile(r">|(<|<=|=|==|!=|<>|!)\s*[+-]?[0-9]")
_TRUTH = ("true", "false")


class Condition(NamedTuple):
    """The values of a column that a row must have to be kept.

    Attributes
    ----------
    column : str
    wanted : tuple of str
        Alternatives: a text, or a comparison with a number.
    """

    column: str
    wanted: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The condition, for messages."""
        return f"{self.column}: {' or '.join(map(repr, self.wanted))}"


class Baskets(NamedTuple):
    """A mapping.

    Attributes
    ----------
    columns : dict of str to str
        The names of the columns by role: time, ticket, item.
    keep : list of Condition
        Conditions on the rows that count.
    """

    columns: dict[str, str]
    keep: list[Condition]


def read_mapping(path: Path) -> Baskets:
    """Return a mapping: ``columns`` (time, ticket, item) and ``keep`` (see above).

    Raises
    ------
    UsageError
        When it is not such a mapping.
    """
    called = f"--mapping {path}"
    found = load_texts(called, path)
    if not isinstance(found, dict) or set(found) - set(MAPPED) or "columns" not in found:
        has = ", ".join(map(str, found)) if isinstance(found, dict) else str(found or "nothing")
        raise UsageError(
            f"{called} must have columns, and may have keep: nothing else; received {has:.60}"
        )
    columns = found["columns"]
    if not isinstance(columns, dict) or set(columns) != set(ROLES):
        raise UsageError(f"{called}: columns must be {', '.join(ROLES)}, no more or less")
    for role, name in columns.items():
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"{called}: columns: {role} must name a column, received {name!r}")
    if len(set(columns.values())) < len(columns):
        raise UsageError(f"{called}: columns: {', '.join(ROLES)} must be different columns")
    return Baskets(columns, conditions_of(called, found.get("keep")))


def conditions_of(where: str, keep: Any) -> list[Condition]:
    """Return the conditions of ``keep``, as parsed from YAML.

    Parameters
    ----------
    where : str
        The name of the mapping in messages.
    keep : object
        None keeps all rows.

    Raises
    ------
    UsageError
        When a condition makes no sense.
    """
    if keep is None:
        return []
    if not isinstance(keep, dict):
        raise UsageError(f"{where}: keep must have a value, or '> N', for each column")
    found = []
    for name, given in keep.items():
        column = f"{where}: keep {name}"
        wanted = given if isinstance(given, list) else [given]
        if not wanted:
            raise UsageError(f"{column} is an empty list, which keeps no row; name the values")
        found.append(Condition(str(name), tuple(_wanted(column, one) for one in wanted)))
    return found


def _wanted(column: str, given: Any) -> str:
    """Return one wanted value or comparison."""
    how = "give a value, a list of values, or a comparison of numbers such as '> 0' or '<= 100'"
    if given is None or (isinstance(given, str) and given.strip() in NULL_LABELS):
        said = "nothing (null)" if given is None else repr(given)
        raise UsageError(f"{column} is {said}, and rows without a value are never kept; {how}")
    if isinstance(given, (dict, list)):
        raise UsageError(f"{column} has {type(given).__name__} {str(given)[:60]!r}; {how}")
    text = str(given).strip()
    if _NO_COMPARISON.match(text) and not _COMPARISON.fullmatch(text):
        raise UsageError(f"{column} cannot be compared with {text!r:.60}; {how}")
    return text


def kept(
    path: Path, table: pa.Table, kinds: dict[str, pa.DataType], conditions: list[Condition]
) -> np.ndarray:
    """Return a mask of the rows that all conditions keep; report on stderr how many they are.

    Parameters
    ----------
    path : Path
        For messages.
    table : pyarrow table
        The columns as texts.
    kinds : dict of str to pyarrow type
        Types that a Parquet file declares; empty for a text file.
    conditions : list of Condition

    Raises
    ------
    UsageError
        When the values of a column cannot be compared with the wanted one.
    """
    every = np.ones(len(table), dtype=bool)
    if not conditions or not len(table):
        return every
    barren = False
    for condition in conditions:
        given = table.column(condition.column).combine_chunks().cast(pa.string())
        kind = kinds.get(condition.column)
        own = np.zeros(len(table), dtype=bool)
        for wanted in condition.wanted:
            own |= _matching(path, condition.column, given, kind, wanted)
        if not own.any():
            barren = True
            say(
                f"keep {condition.shown} keeps none of {len(table)} rows of {path}, whose"
                f" {condition.column} is {_occurring(given)}"
            )
        every &= own
    if not barren:
        say(f"keep leaves {np.count_nonzero(every)} of {len(table)} rows of {path}")
    return every


def _occurring(given: pa.Array) -> str:
    """Return some values of a column, for a message."""
    values = pc.unique(given).drop_null()
    shown = [repr(one)[:40] for one in values.slice(0, SHOWN).to_pylist()]
    more = f" or one of {len(values) - SHOWN} others" if len(values) > SHOWN else ""
    return f"{', '.join(shown)}{more}" if shown else "null in all of them"


def _matching(
    path: Path, name: str, given: pa.Array, kind: pa.DataType | None, wanted: str
) -> np.ndarray:
    """Return a mask of the rows that have a wanted value."""
    compared = _COMPARISON.fullmatch(wanted)
    if compared is not None:
        return _compared(path, name, given, *compared.groups())
    if kind is not None and _is_number(kind):
        if re.fullmatch(_NUMBER, wanted) is None:
            raise UsageError(
                f"{path}, column {name!r} holds {kind}, and {wanted!r:.60} is no number; give a"
                " number"
            )
        return _compared(path, name, given, "==", wanted)
    if wanted.lower() in _TRUTH:
        given, wanted = pc.utf8_lower(given), wanted.lower()
    return pc.fill_null(pc.equal(given, wanted), False).to_numpy(zero_copy_only=False)


def _is_number(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _compared(path: Path, name: str, given: pa.Array, sign: str, limit: str) -> np.ndarray:
    """Compare the numbers of a column with a limit, exactly."""
    parsed = numbers.parse_decimals(given)
    no_number = np.flatnonzero(parsed.state == numbers.UNPARSABLE)
    if no_number.size:
        value = given[int(no_number[0])].as_py()
        raise UsageError(
            f"{path}, column {name!r} cannot be compared with '{sign} {limit:.60}', since"
            f" {value!r:.60} is no number; give a value, or '> N' for a column of numbers"
        )
    found = np.zeros(len(given), dtype=bool)
    fine = parsed.state == numbers.FINE
    for scale in np.unique(parsed.scale[fine]).tolist():
        rows = fine & (parsed.scale == scale)
        found[rows] = _of_one_scale(parsed.mantissa[rows], sign, limit, scale)
    for row in np.flatnonzero(parsed.state == numbers.TOO_WIDE).tolist():
        found[row] = _of_one_number(Decimal(given[row].as_py()), sign, Decimal(limit))
    return found


def _of_one_scale(mantissa: np.ndarray, sign: str, limit: str, scale: int) -> np.ndarray:
    """Compare mantissa / 10**scale with a number."""
    with localcontext(prec=2_000):
        bound = Decimal(limit).scaleb(scale)
        below, above = math.floor(bound), math.ceil(bound)
    if sign == "==":
        return (mantissa == below) & (below == above)
    if sign == ">":
        return mantissa > below
    if sign == ">=":
        return mantissa >= above
    return mantissa < above if sign == "<" else mantissa <= below


def _of_one_number(value: Decimal, sign: str, limit: Decimal) -> bool:
    order = value.compare(limit)
    return {"==": order == 0, ">": order > 0, ">=": order >= 0, "<": order < 0, "<=": order <= 0}[
        sign
    ]
