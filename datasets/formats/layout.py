"""How the columns of a file are found: all that a reader of a form has to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Layout(NamedTuple):
    """How files are split into columns.

    Attributes
    ----------
    columns : mapping of str to str
        Of a table, by role (time, key, value, ...) the name of a column; other forms know theirs.
    format : str
        One of `datasets.formats.gather.FORMS`.
    delimiter : str or None
        None for the one that is usual for the form and the file's name.
    quoted : bool or None
        Whether ``"`` encloses a text; None for what is usual.
    whole_rows : bool
        Whether a row's content is all of its columns, and not only those that are named. Two rows
        of a Parquet file can be compared by that alone.
    """

    columns: Mapping[str, str]
    format: str = "table"
    delimiter: str | None = None
    quoted: bool | None = None
    whole_rows: bool = False
