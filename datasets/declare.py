"""Declarations of datasets: named tables of typed columns, and the role that figures ask for.

This module defines the classes; a dataset's declaration is in `datasets/<name>/tables.py`, and the
functions that generate the rows are in `datasets/<name>/generate.py`. Neither this module nor the
declarations import Spark, so that planning, reading and listing do not wait for it.

A *table* names the columns that are the time, the key and the payload. A table with all three can
be fed to operators as a keyed stream (`datasets.read.load`); any table can be read as columns
(`datasets.read.read_table`). A *role* is the kind of data that a figure needs, for example meter
readings: all datasets of a role have the same tables, with the same columns for time, key and
payload (`datasets.catalog` checks this).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from operators.contract import UsageError

TICKS_A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""The units of time, with their ticks per second."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""The pattern of table names, with which their files begin."""

# The required type of the column for each purpose; empty if several are allowed.
PURPOSES = {"time": "int64", "row": "int64", "key": "", "value": "int64", "text": "string"}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    type : str
        An Arrow type name: int64, int32, float64, bool, string, ...
    unit : str
        "1" for a dimensionless number, empty if unknown.
    meaning : str
        One clause.
    nullable : bool
        Whether values may be missing.

    Raises
    ------
    UsageError
        If Arrow does not know the type.
    """

    name: str
    type: str
    unit: str
    meaning: str
    nullable: bool = False

    def __post_init__(self) -> None:
        """Refuse a type that Arrow does not know."""
        try:
            pa.type_for_alias(self.type)
        except (TypeError, ValueError):
            raise UsageError(
                f"column {self.name!r} has type {self.type!r}, which Arrow does not know; give"
                " int64, int32, float64, bool or string, for example"
            ) from None

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type object."""
        return pa.type_for_alias(self.type)


@dataclass(frozen=True)
class Table:
    """One table, and the columns that have a purpose.

    Attributes
    ----------
    name : str
    columns : tuple of Column
        In storage order.
    time : str or None
        The int64 column by which the rows are sorted; a table without time (items, pages) is sorted
        by row id.
    time_unit : str or None
        s, ms or us since 1970 UTC; None for a table without time.
    row : str or None
        The int64 column that numbers the rows in order, from 0.
    key : str or None
        The integer or string column that queries group by.
    value, text : str or None
        The payload, at most one of the two: an int64 column in fixed point, or a string.

    Raises
    ------
    UsageError
        If names repeat, or a column with a purpose is missing, nullable or of another type.
    """

    name: str
    columns: tuple[Column, ...]
    time: str | None = None
    time_unit: str | None = None
    row: str | None = None
    key: str | None = None
    value: str | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        """Refuse an inconsistent table."""
        there = {column.name: column for column in self.columns}
        if not NAME.fullmatch(self.name) or not there or len(there) < len(self.columns):
            names = ", ".join(column.name for column in self.columns) or "none"
            raise UsageError(
                f"table {self.name!r} has columns {names}; give a name of letters, digits, _ and -,"
                " and each column once"
            )
        for purpose in PURPOSES:
            named = getattr(self, purpose)
            if named is not None and named not in there:
                raise UsageError(
                    f"table {self.name}: its {purpose} is {named!r}, which is none of its columns"
                    f" {', '.join(there)}; name one of these"
                )
            if named is not None:
                self._check_purpose(purpose, there[named])
        if (self.time is None) != (self.time_unit is None) or (
            self.time is not None and self.time_unit not in TICKS_A_SECOND
        ):
            raise UsageError(
                f"table {self.name} has time {self.time!r} in time unit {self.time_unit!r}; known"
                f" are {', '.join(TICKS_A_SECOND)}, and a table without time has no unit"
            )
        if self.value is not None and self.text is not None:
            raise UsageError(
                f"table {self.name} has a value {self.value!r} and a text {self.text!r}; one of"
                " them is the payload, leave the other a column"
            )

    def _check_purpose(self, purpose: str, column: Column) -> None:
        """Refuse a column that is nullable or whose type does not suit the purpose."""
        needed, kind = PURPOSES[purpose], column.arrow_type
        fits = column.type == needed if needed else pa.types.is_integer(kind) or kind == pa.string()
        if not fits or column.nullable:
            null = " and may be null" if column.nullable else ""
            raise UsageError(
                f"table {self.name}: its {purpose}, {column.name!r}, is {column.type}{null};"
                f" {needed or 'an integer or string'} without nulls is needed"
            )

    @property
    def payload(self) -> str | None:
        """The kind of the payload: "value", "text" or None."""
        return "value" if self.value is not None else "text" if self.text is not None else None

    @property
    def is_keyed_stream(self) -> bool:
        """Whether there are a time, a key and a payload, so that the table can feed operators."""
        return None not in (self.time, self.key, self.payload)


@dataclass(frozen=True)
class DatasetDeclaration:
    """One dataset: the role, the tables, and the sizes to generate.

    Attributes
    ----------
    name : str
        The name of the dataset's folder.
    role : str
        The kind of data that figures ask for; any word.
    title : str
        Title in figures and lists.
    tables : tuple of Table
        The first one is the main table, whose rows count as those of the dataset.
    rows : mapping of str to int
        Number of rows to generate, by size (quick, laptop, paper); see `rows_of`.
    query_time_unit : int or None
        Ticks of the main table's time in one unit of the queries' windows; None if no windowed
        query runs on the dataset.
    decimals : int or None
        The main table's value is the real one times 10 to this power; None without a value.

    Raises
    ------
    UsageError
        If there is no table or one twice, a size is not positive, or only one of decimals and value
        is given.
    """

    name: str
    role: str
    title: str
    tables: tuple[Table, ...]
    rows: Mapping[str, int] = field(default_factory=dict)
    query_time_unit: int | None = None
    decimals: int | None = None

    def __post_init__(self) -> None:
        """Refuse an inconsistent declaration."""
        names = [table.name for table in self.tables]
        if not names or len(set(names)) < len(names):
            raise UsageError(
                f"dataset {self.name} has tables {', '.join(names) or 'none'}; give each once"
            )
        if (self.main.value is None) != (self.decimals is None):
            raise UsageError(
                f"dataset {self.name} has decimals {self.decimals} and its main table"
                f" {self.main.name} has value {self.main.value!r}; give both or none"
            )
        wrong = [size for size, rows in self.rows.items() if rows < 1]
        if wrong or (self.query_time_unit is not None and self.query_time_unit < 1):
            raise UsageError(
                f"dataset {self.name} has rows {dict(self.rows)} and query time unit"
                f" {self.query_time_unit}; give 1 or more"
            )

    def rows_of(self, size: str) -> int:
        """Return the number of rows to generate for a size.

        Raises
        ------
        UsageError
            If the declaration has no such size; the message lists the declared ones.
        """
        if size not in self.rows:
            raise UsageError(
                f"data set {self.name} declares no rows of size {size!r};"
                f" it has {', '.join(self.rows) or 'none'}"
            )
        return self.rows[size]

    @property
    def main(self) -> Table:
        """The table whose rows count as those of the dataset."""
        return self.tables[0]
