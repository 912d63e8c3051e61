"""A join of two streams on two bands over time windows, as in the paper on ScaleJoin.

``x >= a - 10 AND x <= a + 10 AND y >= b - 10 AND y <= b + 10``, where y and b are real numbers of
32 bits, and a tuple meets those of the other stream that are at most a window older (each purges
the opposite window). So a pair meets when its timestamps are at most a window apart, whatever came
first. A peer is given two windows' length of both streams as tables ``r`` (``rank``, ``time``,
``x``, ``y``) and ``s`` (``rank``, ``time``, ``a``, ``b``), where ranks count both in order, and
puts out all pairs as ``r_rank`` and ``s_rank``, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from datasets import read
from experiments.dataset_of import dataset_path
from experiments.families.theta_join import streams
from experiments.families.theta_join.expected import expected_of, pair_word
from experiments.families.theta_join.streams import SECOND
from experiments.peers.catalog import Judged
from experiments.timing.bench import data_of
from operators.contract import UsageError
from operators.core.integers import mix64, wrapping_add
from operators.core.jit import kernel
from operators.theta_join.family import BAND, OPPOSITE, REACH, REACH_BITS, R, S
from operators.theta_join.predicates import BENCH_RECORD, HALF_WIDTH, bench_predicate

COLUMNS = ("r_rank", "s_rank")


class ThetaJoin:
    """The first two windows of two streams, joined; see ``experiments.peers.catalog.Work``.

    Parameters
    ----------
    settings : mapping
        Every setting of the family: ``density``, ``window_s``, ``purge``, ``predicate``.
    dataset : Path or str
        The dataset's folder.
    """

    def __init__(self, settings: Mapping[str, Any], dataset: object) -> None:
        named = {name: settings[name] for name in ("profile", "purge", "predicate", "streams")}
        wanted = {"profile": "even", "purge": OPPOSITE, "predicate": BAND, "streams": 1}
        if named != wanted:
            told = " ".join(f"{name}={value}" for name, value in wanted.items())
            raise UsageError(f"peers join at {told}, received {named}")
        folder = dataset_path(dataset, "streams")
        density, window_s = settings["density"], settings["window_s"]
        many = 2 * round(density * window_s)
        came = streams.arrivals(folder, "even", density, window_s, many, 0.0)
        # From the beginning: no tuple is filled in.
        self._came = replace(came, filled=0)
        self._tables = streams.tables_of(folder)
        self.span = round(window_s * SECOND)
        self.tuples = len(came.time)
        self._rows = came.position % np.where(
            came.side == R, len(self._tables.x), len(self._tables.a)
        )
        columns = {R: (self._tables.x, self._tables.y), S: (self._tables.a, self._tables.b)}
        names = {R: ("r", "x", "y"), S: ("s", "a", "b")}
        self.tables = {}
        for side, (whole, real) in columns.items():
            ranks = np.flatnonzero(came.side == side)
            rows = self._rows[ranks]
            name, *attributes = names[side]
            values = dict(zip(attributes, (whole[rows].astype(np.int64), real[rows]), strict=True))
            self.tables[name] = pa.table({"rank": ranks, "time": came.time[ranks], **values})
        self.settings = {
            "span": self.span,
            "half_width": HALF_WIDTH,
            # A band reaches no further than the neighbouring bucket.
            "bucket": HALF_WIDTH + 1,
        }
        self.data = data_of(read.read_info(folder))

    def judge(self, output: pa.Table) -> Judged:
        """Compare the set of joined tuples: its digest and its size."""
        wanted = expected_of(self._tables, self._came, self.span, OPPOSITE, BAND)
        if missing := [name for name in COLUMNS if name not in output.column_names]:
            problem = f"wrong output: no column {missing[0]!r}"
            return Judged(output.num_rows, 0, wanted.unordered, problem)
        if any(output[name].null_count for name in COLUMNS):
            return Judged(output.num_rows, 0, wanted.unordered, "wrong output: there are nulls")
        r, s = (output[name].to_numpy().astype(np.int64) for name in COLUMNS)
        if problem := self._not_of_streams(r, R) or self._not_of_streams(s, S):
            return Judged(output.num_rows, 0, wanted.unordered, problem)
        add = _adding(bench_predicate().combine)
        # An output: the key, then the record.
        out = np.zeros(1 + BENCH_RECORD, dtype=np.int64)
        ranks = np.maximum(r, s), np.minimum(r, s)
        rows = self._rows[r], self._rows[s]
        digest = int(add(self._tables, self._came.time, *rows, *ranks, out))
        problem = None
        if output.num_rows != wanted.pairs:
            problem = f"wrong output: {output.num_rows} pairs, and there are {wanted.pairs}"
        elif digest != wanted.unordered:
            problem = "wrong output: other pairs than those of the oracle"
        return Judged(output.num_rows, digest, wanted.unordered, problem)

    def _not_of_streams(self, ranks: np.ndarray, side: int) -> str | None:
        inside = (ranks >= 0) & (ranks < self.tuples)
        if inside.all() and (self._came.side[ranks] == side).all():
            return None
        return "wrong output: a rank is none of its stream"


@cache
def _adding(combine: Callable) -> Callable[..., int]:
    """Return the kernel that adds up the words of joined tuples."""

    @kernel
    def add(tables, time, r_row, s_row, later, earlier, out):
        digest = np.int64(0)
        for pair in range(len(later)):
            out[0] = (later[pair] << REACH_BITS) | (REACH - (later[pair] - earlier[pair]))
            combine(tables, time[later[pair]], r_row[pair], s_row[pair], out, 1)
            digest = wrapping_add(digest, mix64(pair_word(out, 1 + BENCH_RECORD)))
        return digest

    return add


make = ThetaJoin
