"""Counting tuples by sliding window and key: the order-insensitive queries k-OI and K-OI.

A peer is given one cycle of the dataset as one table, in the total order of all inputs: merging the
streams, which the operators do, is done for it. Its output has the columns ``window_start``,
``key`` and ``value``, in any order of the rows; they are put into the operators' order here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.dataset_of import folder_for
from experiments.families.aggregation import oracle
from experiments.peers.catalog import Judged
from experiments.timing import replayed_feed
from experiments.timing.bench import data_of
from operators.aggregation.plan import make_plan
from operators.aggregation.queries import query as find_query
from operators.aggregation.sink import NOT_COUNTED, WinsetLog, fold_rows
from operators.contract import UsageError

COLUMNS = ("window_start", "key", "value")


class WindowedCounts:
    """The work of one query over one dataset; see ``experiments.peers.catalog.Work``.

    Parameters
    ----------
    settings : mapping
        ``query``, and ``inputs`` and ``seed``, which decide the total order.
    dataset : Path or str
        The dataset's folder.
    """

    def __init__(self, settings: Mapping[str, Any], dataset: object) -> None:
        query = find_query(settings["query"])
        if query.function != "count" or query.window_size % query.window_advance:
            raise UsageError(
                f"peers count tuples in windows of whole panes, and query {query.id} is of"
                f" {query.function}, windows {query.window_size}, advance {query.window_advance}:"
                " compare k-OI or K-OI"
            )
        path = folder_for(query, dataset)
        info = replayed_feed.load(path, False).info
        unit = int(info["query_time_unit"])
        size, advance = query.window_size * unit, query.window_advance * unit
        keys = len(replayed_feed.load(path, False).keys) if query.grouped else 1
        cycle = replayed_feed.streams(
            path, False, settings["inputs"], advance, settings.get("seed", 1), query.grouped
        )
        plan = make_plan(query.function, size, advance, keys=keys, winsets_capacity=1)
        self._oracle = oracle.Oracle(cycle, plan)
        self.tuples = cycle.rows
        self.tables = {"tuples": pa.table({"timestamp": cycle.time, "key": cycle.key})}
        self.settings = {"advance": advance, "panes": query.window_size // query.window_advance}
        self.data = data_of(info)

    def judge(self, output: pa.Table) -> Judged:
        """Compare the rows, put into the order (window start, key), winset by winset."""
        expected = self._oracle.expected(self.tuples)
        wanted = int(expected.digest[-1])
        if missing := [name for name in COLUMNS if name not in output.column_names]:
            return Judged(output.num_rows, 0, wanted, f"wrong output: no column {missing[0]!r}")
        if any(output[name].null_count for name in COLUMNS):
            return Judged(output.num_rows, 0, wanted, "wrong output: there are nulls")
        log = log_of(*(output[name].to_numpy().astype(np.int64) for name in COLUMNS))
        digest = int(log.digest[-1]) if len(log.digest) else 0
        return Judged(output.num_rows, digest, wanted, oracle.difference(expected, log))


def log_of(window_start: np.ndarray, key: np.ndarray, value: np.ndarray) -> WinsetLog:
    """Return rows in any order as the log of winsets that an aggregate would have written.

    Parameters
    ----------
    window_start, key, value : int64 array (rows,)
    """
    order = np.lexsort((key, window_start))
    rows = np.zeros((len(order), 5), dtype=np.int64)
    # A row of the operators: window start, key, the function's two words, and the tuples.
    for place, column in enumerate((window_start, key, value, 0, value)):
        rows[:, place] = column[order] if isinstance(column, np.ndarray) else column
    begins = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
    digest, digests = 0, []
    for block in np.split(rows, begins[1:]) if len(rows) else ():
        digest = fold_rows(digest, block)
        digests.append(digest)
    return WinsetLog(
        rows[begins, 0],
        np.diff(begins, append=len(rows)),
        np.array(digests, dtype=np.int64),
        np.full(len(begins), NOT_COUNTED),
        np.zeros(len(begins), dtype=np.int64),
    )


make = WindowedCounts
