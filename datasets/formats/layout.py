"""The layout of a file's columns: all that a reader of a format needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Layout(NamedTuple):
    """The way to split files into columns.

    Attributes
    ----------
    columns : mapping of str to str
        For a table, the name of a column by role (time, key, value, ...); other formats have fixed
        names.
    format : str
        One of `datasets.formats.gather.FORMS`.
    delimiter : str or None
        None for the default of the format and the file's name.
    quoted : bool or None
        Whether ``"`` encloses a text; None for the default.
    whole_rows : bool
        Whether a row's content consists of all columns, not only the named ones, which the
        comparison of two rows of a Parquet file requires.
    integers : bool
        Whether integers of a Parquet file stay integers instead of being converted to texts.
    """

    columns: Mapping[str, str]
    format: str = "table"
    delimiter: str | None = None
    quoted: bool | None = None
    whole_rows: bool = False
    integers: bool = False
