"""The output of every reader: blocks of texts by role, with the line of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from datasets.formats.layout import Layout
from datasets.formats.sources import Source


class Fault(NamedTuple):
    """A row that could not even be split into columns."""

    line: int
    reason: str
    content: str


class Rows(NamedTuple):
    """A block of consecutive rows of one file."""

    line: np.ndarray
    """int64[rows]: the line on which a row begins, from 1; in Parquet the number of the row."""
    columns: dict[str, pa.Array]
    """Role (time, key, value, text, user, stream, id) to a column of `line`'s length.

    Strings, or dictionaries of strings; `time` also timestamps, dates or numbers.
    """
    content: Callable[[int], str]
    """The original text of the row at an index of this block."""
    faults: list[Fault]


Form = Callable[[Layout, Source, BinaryIO], Iterator[Rows]]
"""A reader of one format. Reading the same file again gives the same blocks."""
