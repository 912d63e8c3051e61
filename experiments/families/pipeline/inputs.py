"""The inputs of queries: datasets as records, or random records, and the pipelines over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from datasets.read import read_table
from operators.pipeline.declare import Pipeline
from operators.pipeline.queries import parametric, q1, q2, q3, q4, q15
from operators.pipeline.queries.parametric import Parameters
from operators.pipeline.queries.sessions import MISSING

# ASSUME: the generated five years have 2 to 150 lines an hour, depending on the profile. For query
# 1 time is compressed: an hour then has enough lines, over all stores and categories, for pairs to
# repeat.
LINES_AN_HOUR = 5_000
# Rows of a table per expected key.
TABLE_SPARE = 2.0
# ASSUME: query 15 asks for one store and one year, and the paper does not say which: here one of
# the stores that query 1 names, in the middle of the five years.
STORE, YEAR, YEAR_S = 10, 2, 365 * 86_400
# Distinct records of the parametric query, which then repeat.
ROWS = 1_024


class Source(NamedTuple):
    """The origin of a query's records.

    Attributes
    ----------
    query : str
    folder : Path or None
        Folder of the dataset.
    parameters : Parameters or None
        Only for the parametric query, which has no dataset.
    """

    query: str
    folder: Path | None = None
    parameters: Parameters | None = None


class Input(NamedTuple):
    """A query over a dataset.

    Attributes
    ----------
    pipeline : callable
        ``pipeline(partitions)``.
    records : int64 array (rows, words)
        In the order of arrival.
    """

    pipeline: Callable[[int], Pipeline]
    records: np.ndarray


@lru_cache(maxsize=4)
def input_of(source: Source) -> Input:
    """Return a query and its records; raises as ``datasets.read.read_table`` does."""
    if source.parameters is not None:
        return _parametric(source.parameters)
    return _INPUTS[source.query](source.folder)


def _parametric(parameters: Parameters) -> Input:
    random = np.random.default_rng(1)
    records = random.integers(0, parametric.MASK, (ROWS, parameters.tuple_words))
    return Input(lambda partitions: parametric.make(parameters), records)


def _lookup(folder: Path, table: str, by: str, values: np.ndarray) -> np.ndarray:
    """Return a lookup array, from 0 on: the value for each number in a table's column."""
    numbers = read_table(folder, table)[by]
    found = np.zeros(int(numbers.max()) + 1, dtype=np.int64)
    found[numbers] = values
    return found


def _categories(folder: Path) -> np.ndarray:
    return _lookup(folder, "items", "item_sk", read_table(folder, "items")["category_id"])


def _table_rows(most: int, partitions: int) -> int:
    """Return the rows of a partition's table, where partitions share `most` keys by hash."""
    return 1 << int(np.ceil(np.log2(TABLE_SPARE * most / partitions + 64)))


def _sales(folder: Path, hours: bool) -> np.ndarray:
    table = read_table(folder, "sales")
    time = table["time"]
    if hours:
        # The same number of hours for the same number of lines, in the order of time.
        span = max(int(time[-1] - time[0]), 1)
        lasting = max(len(time) // LINES_AN_HOUR, 1) * q1.HOUR_S
        time = ((time - time[0]).astype(np.float64) * (lasting / span)).astype(np.int64)
    columns = (time, table["ticket_number"], table["item_sk"], table["store_sk"], table["net_paid"])
    return np.stack(columns, axis=1)


def _clicks(folder: Path) -> np.ndarray:
    table = read_table(folder, "clicks")
    nullable = ("user_sk", "item_sk", "web_page_sk", "sales_sk")
    columns = [np.ma.filled(table[name].astype(np.int64), MISSING) for name in nullable]
    return np.stack([table["time"], *columns], axis=1)


def _q1(folder: Path) -> Input:
    records, categories = _sales(folder, hours=True), _categories(folder)
    tickets = int(records[:, q1.TICKET].max()) + 1
    # A ticket of up to 14 lines makes at most seven pairs per line, and one line in fifteen passes
    # the filter: room for one in four.
    most = 7 * len(records) // 4
    return Input(
        lambda partitions: q1.make(categories, tickets, _table_rows(most, partitions)), records
    )


def _users(records: np.ndarray) -> int:
    return int(records[:, q2.USER].max()) + 1


def _q2(folder: Path) -> Input:
    records = _clicks(folder)
    # Three pairs per session on average, and a session has two clicks.
    most = 4 * len(records)
    return Input(
        lambda partitions: q2.make(_users(records), _table_rows(most, partitions)), records
    )


def _q3(folder: Path) -> Input:
    records, categories = _clicks(folder), _categories(folder)
    most = q3.most_of(records, categories)
    return Input(lambda partitions: q3.make(categories, _users(records), most), records)


def _q4(folder: Path) -> Input:
    records = _clicks(folder)
    types = read_table(folder, "pages")["type"]
    kinds = np.select([types == "dynamic", types == "order"], [q4.DYNAMIC, q4.ORDER], q4.OTHER)
    pages = _lookup(folder, "pages", "web_page_sk", kinds)
    return Input(lambda partitions: q4.make(pages, _users(records)), records)


def year_of(records: np.ndarray) -> tuple[int, int]:
    """Return the first and last second of the year that query 15 asks for."""
    first = int(records[0, q1.TIME]) // q15.DAY_S * q15.DAY_S + YEAR * YEAR_S
    return first, first + YEAR_S - 1


def _q15(folder: Path) -> Input:
    records, categories = _sales(folder, hours=False), _categories(folder)
    return Input(lambda partitions: q15.make(categories, STORE, *year_of(records)), records)


_INPUTS = {"q1": _q1, "q2": _q2, "q3": _q3, "q4": _q4, "q15": _q15}
