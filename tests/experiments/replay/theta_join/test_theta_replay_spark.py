"""``millrace replay join`` with a theta join, against SQL in Spark: synthetic and recorded data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.covering import taken
from tests.experiments.replay.theta_join.replaying import CHAINS, REPLAYED, replay

# Third-party recordings, not in the repository: if the variable is set, a missing file fails.
FOLDER = os.environ.get("MILLRACE_RECORDED_DATA")
recorded = pytest.mark.skipif(FOLDER is None, reason="MILLRACE_RECORDED_DATA is not set")
WINDOW_S = 21_600
# The total order, and for each logical stream the last time before a tuple.
ARRIVALS = """
    WITH arrivals AS (
        SELECT *, row_number() OVER in_order AS rank,
            max(CASE WHEN side = 0 THEN ts END) OVER before AS last_r,
            max(CASE WHEN side = 1 THEN ts END) OVER before AS last_s
        FROM tuples
        WINDOW in_order AS (ORDER BY ts, side, stream, p),
            before AS (ORDER BY ts, side, stream, p
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    SELECT greatest(r.ts, s.ts), r.stream, r.p, s.stream, s.p
    FROM arrivals r JOIN arrivals s
    ON abs(r.kwh - s.kwh) <= 0.004 AND r.side = 0 AND s.side = 1
"""
# The part of these in a window, by the notes on the paper.
WITHIN = {
    "opposite": f" AND abs(r.ts - s.ts) <= {WINDOW_S}",
    "own": f""" AND (r.rank < s.rank AND r.ts >= s.last_r - {WINDOW_S}
                     OR s.rank < r.rank AND s.ts >= r.last_s - {WINDOW_S})""",
}
IN_ORDER = " ORDER BY greatest(r.rank, s.rank), least(r.rank, s.rank)"


@pytest.fixture(scope="module")
def meters() -> list[pd.DataFrame]:
    """Return the readings of four meters over some weeks."""
    rows = pd.read_csv(Path(FOLDER, "sgsc10.csv.gz"), dtype={"kwh": str})
    rows = rows[rows["ts_s"].between(1_356_998_400, 1_358_998_400)]
    rows = rows.rename(columns={"ts_s": "ts"})[["meter", "ts", "kwh"]]
    largest = rows["meter"].value_counts().index[:4]
    return [rows[rows["meter"] == meter][["ts", "kwh"]] for meter in largest]


def in_spark(spark, folder, purge, *sides):
    """Return the rows that the join in SQL finds, in order."""
    parts = [
        frame.assign(side=side, stream=stream, p=np.arange(len(frame)))
        for side, frames in enumerate(sides)
        for stream, frame in enumerate(frames)
    ]
    path = folder / "tuples.csv"
    pd.concat(parts)[["side", "stream", "p", "ts", "kwh"]].to_csv(path, index=False)
    kinds = "side long, stream long, p long, ts long, kwh decimal(18, 6)"
    read = spark.read.schema(kinds).option("header", True)
    read.csv(str(path)).createOrReplaceTempView("tuples")
    query = ARRIVALS + WITHIN[purge] + IN_ORDER
    return [tuple(row) for row in spark.sql(query).collect()]


def options_of(folder, purge, *sides):
    named = []
    for name, frames in zip("rs", sides, strict=True):
        named.append(f"--{name}")
        for number, frame in enumerate(frames):
            named.append(folder / f"{name}{number}.csv")
            frame.to_csv(named[-1], index=False)
    # A second band, implied by the first one: otherwise loops of one band would also be compiled.
    bands = ("--band", "kwh:kwh:0.004", "kwh:kwh:0.005")
    return (*named, *bands, "--window", WINDOW_S, "--purge", purge)


def made_up(seed: int, rows: int = 150) -> pd.DataFrame:
    """Return readings with ties, gaps of more than a window, and few numbers."""
    chance = np.random.default_rng(seed)
    steps = chance.choice([0, 0, 600, 3_600, 30_000], rows, p=[0.3, 0.2, 0.3, 0.15, 0.05])
    numbers = chance.integers(0, 40, rows)
    return pd.DataFrame({"ts": np.cumsum(steps), "kwh": [f"0.{each:03d}" for each in numbers]})


@pytest.mark.parametrize("purge", WITHIN)
def test_made_up_streams_are_joined_as_by_spark(spark, tmp_path, purge):
    sides = ([made_up(1), made_up(2)], [made_up(3), made_up(4, 20), made_up(5)])
    wanted = in_spark(spark, tmp_path, purge, *sides)
    assert len(wanted) > 300
    options = options_of(tmp_path, purge, *sides)
    for variant in ("sequential", "scale-join"):
        assert replay(tmp_path, variant, *options, "--threads", 3, name=variant) == wanted
    # The other purge must give other pairs, or this test would prove less than it seems to.
    other = (*options[:-1], *(each for each in WITHIN if each != purge))
    assert replay(tmp_path, "scale-join", *other, name="other") != wanted


def test_made_up_streams_are_joined_by_chains_as_by_spark(spark, tmp_path):
    sides = ([made_up(6)], [made_up(7)])
    wanted = in_spark(spark, tmp_path, "opposite", *sides)
    assert len(wanted) > 100
    options = options_of(tmp_path, "opposite", *sides)
    for variant in taken(CHAINS, ("handshake",)):
        assert replay(tmp_path, variant, *options, "--threads", 3, name=variant) == wanted


@recorded
@pytest.mark.parametrize("purge", WITHIN)
def test_meters_are_joined_as_by_spark(spark, tmp_path, meters, purge):
    sides = (meters[:2], meters[2:])
    wanted = in_spark(spark, tmp_path, purge, *sides)
    assert len(wanted) > 1_000
    options = options_of(tmp_path, purge, *sides)
    both = ("sequential", "scale-join")
    for variant in taken((*both, "scale-join-index"), both):
        assert replay(tmp_path, variant, *options, "--threads", 3, name=variant) == wanted


@recorded
def test_meters_are_joined_by_each_kind_of_variant_as_by_spark(spark, tmp_path, meters):
    sides = (meters[:1], meters[1:2])
    wanted = in_spark(spark, tmp_path, "opposite", *sides)
    assert len(wanted) > 300
    options = options_of(tmp_path, "opposite", *sides)
    for variant in REPLAYED:
        assert replay(tmp_path, variant, *options, name=variant) == wanted
    # Another purge must give other pairs, or these tests would prove less than they seem to.
    assert replay(tmp_path, "scale-join", *options[:-1], "own", name="own") != wanted
    assert set(CHAINS) & set(REPLAYED)
