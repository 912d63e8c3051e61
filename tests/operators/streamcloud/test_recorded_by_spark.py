"""Queries over recorded calls give the same output as Spark SQL, row by row.

Spark knows nothing of streams, instances or order keys here: it groups by ``window()``, and joins
by the key and the distance in time. The data is not in the repository: ``MILLRACE_RECORDED_DATA``
names the folder. If it is set, a missing file fails. No name or text of the data appears here.
"""

from __future__ import annotations

import gzip
import os
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from datasets.imported import import_dataset
from operators.core.jit import INTERPRETED
from operators.streamcloud.run import run_streamcloud

MAPPING = Path(__file__).parents[3] / "datasets" / "mappings" / "online_retail.yaml"

FOLDER, FILE = "MILLRACE_RECORDED_DATA", "online_retail.csv.gz"

pytestmark = pytest.mark.skipif(
    not os.environ.get(FOLDER),
    reason=f"{FOLDER} does not name the folder of the recorded files",
)

LINES = 5_000 if INTERPRETED else 60_000
# The paper's 60 s by 10 s, scaled from a thousand calls a second to one invoice line a minute.
SIZE, ADVANCE = 3_600, 600
# An announcement of a number holds that long, so that some calls match.
BAND = 4 * 3_600

INPUTS = {
    "calls": {"time": "emitted", "schema": {"emitted": "int64", "row": "int64", "caller": "text",
                                            "duration": "int64", "district": "text"}},
    "suspects": {"schema": {"ts": "int64", "row": "int64", "number": "text"}},
}  # fmt: skip
BUSY = {
    "query": "busy",
    "inputs": {"calls": INPUTS["calls"]},
    "operators": {"busy": {"aggregate": {
        "input": "calls",
        "group_by": ["district"],
        "window": {"time": SIZE, "advance": ADVANCE},
        "columns": {"calls": "count()", "mean": "avg(duration)"},
    }}},
    "outputs": ["busy"],
}  # fmt: skip
BUSY_BY_SPARK = f"""
    SELECT unix_seconds(start) AS ts, district, calls, mean
    FROM (
        SELECT window.start AS start, district, count(*) AS calls, avg(duration) AS mean
        FROM calls
        GROUP BY window(timestamp_seconds(emitted), '{SIZE} seconds', '{ADVANCE} seconds'), district
    )
    ORDER BY ts, district
"""
KNOWN = {
    "query": "known",
    "inputs": INPUTS,
    "operators": {"known": {"join": {
        "left": "calls",
        "right": "suspects",
        "on": [["caller", "number"]],
        "window": {"time": BAND},
        "where": "left.duration > 0",
        "columns": {"call": "left.row", "suspect": "right.row", "caller": "left.caller",
                    "duration": "left.duration"},
    }}},
    "outputs": ["known"],
}  # fmt: skip
# ts: the larger of both times. Pairs with equal ts are ordered by the later tuple, then by the
# earlier one; a suspect follows a call of the same time (`operators.streamcloud.order`).
KNOWN_BY_SPARK = f"""
    SELECT greatest(c.emitted, s.ts) AS ts, c.row AS call, s.row AS suspect, c.caller, c.duration
    FROM calls c JOIN suspects s ON c.caller = s.number AND abs(c.emitted - s.ts) <= {BAND}
    WHERE c.duration > 0
    ORDER BY ts, c.emitted <= s.ts, if(c.emitted > s.ts, c.row, s.row),
             if(c.emitted > s.ts, s.row, c.row)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> dict[str, pa.Table]:
    """Return the calls of the first lines, and the suspicious numbers announced with them."""
    folder = tmp_path_factory.mktemp("recorded")
    with gzip.open(Path(os.environ[FOLDER]) / FILE, "rt", encoding="utf-8") as whole:
        lines = list(islice(whole, LINES))
    with gzip.open(folder / FILE, "wt", encoding="utf-8", compresslevel=1) as first:
        first.writelines(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(folder))
        tables = import_dataset(MAPPING, folder / "calls")["tables"]
    return {
        name: pq.read_table([folder / "calls" / file for file in tables[name]["files"]])
        for name in ("calls", "suspects")
    }


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, recorded, tmp_path_factory):
    """Return Spark SQL's results: rows in Spark's order."""
    folder = tmp_path_factory.mktemp("spark")
    for name, table in recorded.items():
        pq.write_table(table, folder / f"{name}.parquet")
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return lambda text: [tuple(row) for row in spark.sql(text).collect()]


def rows_of(query: dict[str, Any], recorded: dict[str, pa.Table], instances: int) -> list[tuple]:
    """Return the rows of a query's output."""
    inputs = {
        name: {column: recorded[name][column].to_numpy() for column in given["schema"]}
        for name, given in query["inputs"].items()
    }
    (found,) = run_streamcloud(query, inputs, instances=instances).values()
    return list(zip(*(column.tolist() for column in found.values()), strict=True))


@pytest.mark.parametrize(
    ("query", "text"), [(BUSY, BUSY_BY_SPARK), (KNOWN, KNOWN_BY_SPARK)], ids=["busy", "known"]
)
def test_recorded_calls_give_what_spark_sql_says(query, text, recorded, by_spark):
    expected = by_spark(text)
    assert len(expected) > 100
    for instances in (1, 3):
        found = rows_of(query, recorded, instances)
        assert len(found) == len(expected)
        pairs = enumerate(zip(found, expected, strict=True))
        wrong = [at for at, (one, other) in pairs if one != other]
        assert not wrong, (
            f"{instances} instances: {len(wrong)} rows differ, the first is {wrong[0]}"
        )
