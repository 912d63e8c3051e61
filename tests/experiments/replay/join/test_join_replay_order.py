"""``millrace replay join``: large windows in order, pair by pair, and one stream with Spark."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from tests.experiments.replay.join.test_join_replay import (
    FOLDER,
    VARIANTS,
    asked,
    command,
    in_spark,
    recorded,
    replay,
)

# On the worker that has compiled the loop of each variant, and has the Spark session.
pytestmark = pytest.mark.xdist_group("spark")
WINDOW = 1 << 16
ROWS = WINDOW + 9_000


def pairs_in_order(keys: np.ndarray, window: int) -> np.ndarray:
    """Return the pairs of equal keys of two alternating streams, in output order."""
    seen: tuple[dict[int, list[int]], ...] = ({}, {})
    found = []
    for place in range(keys.shape[1]):
        for side in (0, 1):
            key = int(keys[side, place])
            partners = seen[1 - side].get(key, [])
            # S comes second, so it also finds R's tuple of the same turn.
            first = place + side - window
            inside = partners[bisect_left(partners, first) :]
            found += [(place, each) if side == 0 else (each, place) for each in inside]
            seen[side].setdefault(key, []).append(place)
    return np.array(found)


def test_a_window_of_2_16_tuples_gives_its_pairs_in_the_order_of_arrival(tmp_path):
    keys = np.random.default_rng(9).integers(-(WINDOW // 8), WINDOW // 8, (2, ROWS))
    for side, name in enumerate("rs"):
        columns = {"ts": 2 * np.arange(ROWS) + side, "x": keys[side]}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    options = asked(tmp_path / "r.parquet", tmp_path / "s.parquet", 0, {"count": WINDOW})
    made = {}
    # A nested loop over that many tuples takes long, and has no order to lose.
    for variant in [each for each in VARIANTS if each != "nested-loop"]:
        assert main(command(tmp_path, variant, *options, output=f"{variant}.parquet")) == 0
        made[variant] = (tmp_path / f"{variant}.parquet").read_bytes()
    table = pq.read_table(tmp_path / "pim-tree.parquet")
    found = np.column_stack([column.to_numpy() for column in table.columns])
    assert len(found) > 4 * ROWS
    np.testing.assert_array_equal(found, pairs_in_order(keys, WINDOW))
    assert [variant for variant, own in made.items() if own != made["pim-tree"]] == []


@recorded
def test_prices_of_one_stream_are_joined_as_by_spark(spark, tmp_path):
    rows = pd.read_csv(Path(FOLDER, "online_retail.csv.gz"), dtype=str, nrows=3_000)
    rows = rows.rename(columns={"UnitPrice": "x"}).assign(ts=np.arange(len(rows)))
    rows[["ts", "x"]].to_csv(tmp_path / "own.csv", index=False)
    query = """
        SELECT s.p, r.p FROM r, s
        WHERE r.p BETWEEN s.p - 90 AND s.p - 1 AND abs(r.x - s.x) <= 0.05
        """
    wanted = in_spark(spark, tmp_path, query, rows, rows)
    assert len(wanted) > 1_000
    options = asked(tmp_path / "own.csv", None, "0.05", {"count": 90})
    for variant in VARIANTS:
        assert sorted(replay(tmp_path, *options, variant=variant, name=variant)) == wanted
