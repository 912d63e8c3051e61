"""Spark: the batch job of a cluster, here on this machine's cores.

Streaming jobs of Spark are among the operators (``streamcloud`` on the backend ``spark``), not
among the peers.

The output is a cached data frame, Spark's own form in memory. To hand it over as Arrow is off the
clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from experiments.peers.catalog import Peer, Query
from experiments.peers.queries.sql import STATEMENTS, Dialect

DIALECT = Dialect(quotient="{0} DIV {1}", each="explode(array({0}))")


def _query(
    statement: Callable[..., str],
    tables: Mapping[str, pa.Table],
    settings: Mapping[str, Any],
    threads: int,
) -> Query:
    """Load the tables into cached data frames and return a query."""
    from operators.running.spark_session import spark_session

    spark = spark_session(f"local[{threads}]")
    spark.conf.set("spark.sql.shuffle.partitions", str(threads))
    for name, table in tables.items():
        given = spark.createDataFrame(table).repartition(threads).cache()
        given.count()
        given.createOrReplaceTempView(name)
    query = statement(DIALECT, **settings)
    kept: list[Any] = []

    def run():
        # The previous output is dropped first: a cached plan would be answered from the cache.
        while kept:
            kept.pop().unpersist(blocking=True)
        kept.append(spark.sql(query).persist())
        kept[0].count()
        return kept[0].toArrow

    return run


PEER = Peer(
    id="spark",
    title="Spark",
    package="pyspark",
    work={work: partial(_query, statement) for work, statement in STATEMENTS.items()},
    form="cached data frame",
)
