"""Spark: the batch job of a cluster, here on this machine's cores.

Windows are aggregated by panes first, and bands joined by buckets, as in ``duckdb``. Streaming jobs
of Spark are among the operators (``streamcloud`` on the backend ``spark``), not among the peers.

The output is a cached data frame, Spark's own form in memory. To hand it over as Arrow is off the
clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from experiments.peers.catalog import Peer, Query

COUNT_WINDOWS = """
WITH panes AS (
    SELECT timestamp DIV {advance} AS pane, key, count(*) AS tuples FROM tuples GROUP BY 1, 2
)
SELECT (pane - before) * {advance} AS window_start, key, sum(tuples) AS value
FROM panes LATERAL VIEW explode(sequence(0L, {panes}L - 1)) AS before
WHERE pane >= before
GROUP BY 1, 2
"""

BAND_JOIN = """
WITH near AS (
    SELECT position, x, bucket
    FROM s LATERAL VIEW
        explode(array(x DIV {bucket} - 1, x DIV {bucket}, x DIV {bucket} + 1)) AS bucket
)
SELECT r.position AS r_position, near.position AS s_position
FROM r JOIN near ON r.x DIV {bucket} = near.bucket
WHERE abs(r.x - near.x) <= {half_width}
  AND near.position - r.position BETWEEN -{window} AND {window} - 1
"""

TWO_BANDS = """
WITH near AS (
    SELECT rank, time, a, b, bucket
    FROM s LATERAL VIEW
        explode(array(a DIV {bucket} - 1, a DIV {bucket}, a DIV {bucket} + 1)) AS bucket
)
SELECT r.rank AS r_rank, near.rank AS s_rank
FROM r JOIN near ON r.x DIV {bucket} = near.bucket
WHERE abs(r.x - near.a) <= {half_width}
  AND r.y >= near.b - CAST({half_width} AS FLOAT)
  AND r.y <= near.b + CAST({half_width} AS FLOAT)
  AND abs(r.time - near.time) <= {span}
"""


def _query(
    statement: str, tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int
) -> Query:
    """Load the tables into cached data frames and return a query."""
    from operators.running.spark_session import spark_session

    spark = spark_session(f"local[{threads}]")
    spark.conf.set("spark.sql.shuffle.partitions", str(threads))
    for name, table in tables.items():
        given = spark.createDataFrame(table).repartition(threads).cache()
        given.count()
        given.createOrReplaceTempView(name)
    statement = statement.format(**settings)
    kept: list[Any] = []

    def run():
        # The previous output is dropped first: a cached plan would be answered from the cache.
        while kept:
            kept.pop().unpersist(blocking=True)
        kept.append(spark.sql(statement).persist())
        kept[0].count()
        return kept[0].toArrow

    return run


PEER = Peer(
    id="spark",
    title="Spark",
    package="pyspark",
    work={
        "windowed_counts": partial(_query, COUNT_WINDOWS),
        "band_join": partial(_query, BAND_JOIN),
        "theta_join": partial(_query, TWO_BANDS),
    },
    form="cached data frame",
)
