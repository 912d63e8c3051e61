"""The five streaming queries of TPCx-BB, as the paper on ordered processing runs them.

A peer is given the recorded tables: ``sales`` (``time``, ``ticket_number``, ``item_sk``,
``store_sk``, ``net_paid``) and ``items``, or ``clicks`` (``number`` in the order of arrival,
``time``, ``user_sk``, ``item_sk``, ``web_page_sk``, ``sales_sk``, the last four perhaps null),
``items`` and ``pages``. It puts out the columns of ``COLUMNS``, in any order of the rows::

    q1    by hour, the hundred pairs of items sold together most often
    q2    the thirty pairs of items viewed together most often
    q3    for each item, the thirty viewed most often before it was bought
    q4    pages and number of the sessions that left a cart behind
    q15   at each day's end, the categories whose sales did not rise so far, with the sums of
          their regressions

Operators put their rows out in the order of arrival. Here the rows of a peer are put into the order
of the serial run, which is the oracle of the operators, and compared by the same digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from datasets.read import read_info, read_table
from experiments.dataset_of import folder_for
from experiments.families.pipeline.bench import serial_rows, serial_run
from experiments.families.pipeline.inputs import STORE, Source, input_of, year_of
from experiments.peers.catalog import Judged
from experiments.timing.bench import data_of
from operators import registry
from operators.contract import UsageError
from operators.core.integers import fold
from operators.core.jit import kernel
from operators.pipeline.queries import q1, q2, q3, q15
from operators.pipeline.queries.sessions import MISSING, TIME_OUT_S
from operators.pipeline.queries.table_1 import SALES

COLUMNS = {
    "q1": ("hour", "item_1", "item_2", "times"),
    "q2": ("item_1", "item_2", "times"),
    "q3": ("bought_item", "viewed_item", "times"),
    "q4": ("pages", "sessions"),
    "q15": ("category", "n", "sum_x", "sum_y", "sum_xy", "sum_xx"),
}
# As in `q1.wanted`, which the comparison of the rows holds equal.
_STORES = [10, 20, 33, 40, 50]
_CATEGORIES = [q3.FIRST_CATEGORY, q3.LAST_CATEGORY]
# What a query asks for besides its data.
_ASKED: dict[str, dict[str, Any]] = {
    "q1": {"hour": q1.HOUR_S, "stores": _STORES, "categories": _CATEGORIES, "top": q1.TOP},
    "q2": {"time_out": TIME_OUT_S, "top": q2.TOP},
    "q3": {"oldest": q3.OLDEST_S, "last": q3.LAST, "categories": _CATEGORIES, "top": q3.TOP},
    "q4": {"time_out": TIME_OUT_S},
    "q15": {"store": STORE, "day": q15.DAY_S},
}


class ShopQuery:
    """One of the five queries over a dataset; see ``experiments.peers.catalog.Work``.

    Parameters
    ----------
    settings : mapping
        Every setting of the family: ``query`` decides the work.
    dataset : Path or str
        The dataset's folder.
    """

    def __init__(self, settings: Mapping[str, Any], dataset: object) -> None:
        query = registry.family("pipeline").queries[settings["query"]]
        if query.id not in COLUMNS:
            raise UsageError(
                f"peers answer the queries {', '.join(COLUMNS)}, received query={query.id}"
            )
        folder = folder_for(query, dataset)
        self._source = Source(query.id, folder)
        records = input_of(self._source).records
        self.tuples = len(records)
        self.tables = (_of_sales if query.role == SALES else _of_clicks)(folder, records)
        self.settings = {"query": query.id, **_ASKED[query.id]}
        if query.id == "q15":
            self.settings["first"], self.settings["last"] = year_of(records)
        self.data = data_of(read_info(folder))

    def judge(self, output: pa.Table) -> Judged:
        """Compare the rows, put into the order of the serial run."""
        names = COLUMNS[self._source.query]
        count, digest = serial_run(self._source, self.tuples)
        if missing := [name for name in names if name not in output.column_names]:
            return Judged(output.num_rows, 0, digest, f"wrong output: no column {missing[0]!r}")
        if any(output[name].null_count for name in names):
            return Judged(output.num_rows, 0, digest, "wrong output: there are nulls")
        columns = [output[name].to_numpy().astype(np.int64) for name in names]
        rows = np.stack(columns, axis=1)
        rows = rows[np.lexsort(rows.T)]
        problem = None
        if len(rows) != count:
            problem = f"wrong output: {len(rows)} rows, and there are {count}"
        else:
            # The oracle's first row is where it lies among the rows as sorted, and so on.
            rows = rows[np.argsort(np.lexsort(_oracle(self._source, self.tuples).T))]
        found = int(_digest(np.ascontiguousarray(rows)))
        if problem is None and found != digest:
            problem = "wrong output: other rows than those of a serial run"
        return Judged(len(rows), found, digest, problem)


@lru_cache(maxsize=1)
def _oracle(source: Source, total: int) -> np.ndarray:
    return serial_rows(source, total)


@kernel
def _digest(rows):
    digest = np.int64(0)
    for row in range(rows.shape[0]):
        for word in range(rows.shape[1]):
            digest = fold(digest, rows[row, word])
    return digest


def _of_sales(folder: Path, records: np.ndarray) -> dict[str, pa.Table]:
    # Query 1 has a clock of its own, as the operators do.
    columns = {
        "time": q1.TIME,
        "ticket_number": q1.TICKET,
        "item_sk": q1.ITEM,
        "store_sk": q1.STORE,
        "net_paid": q1.NET_PAID,
    }
    sales = pa.table({name: records[:, word] for name, word in columns.items()})
    return {"sales": sales, "items": _table(folder, "items")}


def _of_clicks(folder: Path, records: np.ndarray) -> dict[str, pa.Table]:
    words = {"user_sk": q2.USER, "item_sk": q2.ITEM, "web_page_sk": q2.PAGE, "sales_sk": q2.SALE}
    columns = {
        name: pa.array(records[:, word], mask=records[:, word] == MISSING)
        for name, word in words.items()
    }
    clicks = pa.table({"number": np.arange(len(records)), "time": records[:, q2.TIME], **columns})
    return {"clicks": clicks, "items": _table(folder, "items"), "pages": _table(folder, "pages")}


def _table(folder: Path, name: str) -> pa.Table:
    return pa.table(dict(read_table(folder, name)))


make = ShopQuery
