"""Queries of the paper on StreamCloud: a map, an aggregate, a join, and the three in a row.

A peer is given the tuples of one cycle of the streams (`experiments.families.streamcloud.streams`)
as tables ``calls`` and, where the query reads it, ``suspects``, with the time ``ts`` in ticks. It
puts out the columns of ``COLUMNS``, in any order of the rows; an output's time comes first::

    map                minutes and end of each call
    aggregate          calls and their mean duration by district, a minute every ten seconds
    join               two calls of one caller within a minute
    calls-by-duration  calls of reported numbers by minutes, a minute every ten seconds

The rows are compared by a digest that does not depend on their order, of the time and the columns;
one instance on one thread is the oracle, as for the operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from datasets.read import read_info
from experiments.dataset_of import folder_for
from experiments.families.streamcloud import loops
from experiments.families.streamcloud.expected import expected
from experiments.families.streamcloud.streams import Feed, streams_of
from experiments.peers.catalog import Judged
from experiments.timing.bench import data_of
from operators.contract import UsageError
from operators.streamcloud.algebra import Query
from operators.streamcloud.order import INPUT_WORDS
from operators.streamcloud.queries import QUERIES
from operators.streamcloud.windows import TimeWindow

COLUMNS = {
    "map": ("ts", "caller", "called", "ended", "minutes", "district", "x", "y"),
    "aggregate": ("ts", "district", "calls", "mean"),
    "join": ("met_at", "caller", "seconds", "squared"),
    "calls-by-duration": ("ts", "minutes", "calls"),
}


class CallQuery:
    """A query over one cycle of its streams; see ``experiments.peers.catalog.Work``.

    Parameters
    ----------
    settings : mapping
        Every setting of the family: ``query`` and ``density`` decide the work.
    dataset : Path or str
        The dataset's folder.
    """

    def __init__(self, settings: Mapping[str, Any], dataset: object) -> None:
        self._query = settings["query"]
        if self._query not in COLUMNS:
            raise UsageError(
                f"peers answer the queries {', '.join(COLUMNS)}, received query={self._query}"
            )
        folder = folder_for(QUERIES[self._query], dataset)
        self._place = (self._query, settings["density"], settings["window"], folder)
        streams = streams_of(*self._place)
        self.tuples = len(streams.times)
        columns = {node.name: node.schema.names[1:] for node in streams.query.inputs}
        self.tables = {feed.name: _table(feed, columns[feed.name]) for feed in streams.feeds}
        self.settings = {"query": self._query, **_windows(streams.query)}
        self.data = data_of(read_info(folder))

    def judge(self, output: pa.Table) -> Judged:
        """Compare the rows: their number, and the sum of their digests."""
        names = COLUMNS[self._query]
        wanted = expected(*self._place, self.tuples, True)
        if missing := [name for name in names if name not in output.column_names]:
            problem = f"wrong output: no column {missing[0]!r}"
            return Judged(output.num_rows, 0, wanted.unordered, problem)
        if any(output[name].null_count for name in names):
            return Judged(output.num_rows, 0, wanted.unordered, "wrong output: there are nulls")
        batch = np.stack([_words(output[name]) for name in names])
        words = np.zeros(loops.OUTPUT_WORDS, dtype=np.int64)
        loops.fold_rows(batch, 1, words, np.empty(batch.shape[1], dtype=np.int64))
        digest, problem = int(words[loops.SUM]), None
        if output.num_rows != wanted.rows:
            problem = f"wrong output: {output.num_rows} rows, and one instance has {wanted.rows}"
        elif digest != wanted.unordered:
            problem = "wrong output: other rows than those of one instance"
        return Judged(output.num_rows, digest, wanted.unordered, problem)


def _table(feed: Feed, columns: tuple[str, ...]) -> pa.Table:
    """Return the tuples of one cycle."""
    return pa.table(
        {"ts": feed.words[0], **dict(zip(columns, feed.words[INPUT_WORDS:], strict=True))}
    )


def _windows(query: Query) -> dict[str, int]:
    """Return the sizes of a query's windows, in ticks: of its join, and of its aggregate."""
    found: dict[str, int] = {}
    for node in query.operators:
        window = getattr(node, "window", None)
        if node.kind == "join":
            found["window"] = window.size
        elif isinstance(window, TimeWindow):
            found["advance"] = window.advance
            found["panes"] = window.size // window.advance
    return found


def _words(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column as words: integers themselves, the bits of real numbers."""
    values = column.to_numpy()
    if values.dtype == np.float64:
        return values.view(np.int64)
    return values.astype(np.int64)


make = CallQuery
