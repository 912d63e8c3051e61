"""DuckDB: an analytical database in the process of its user.

Windows are aggregated by *panes* first, as a careful user writes it: every tuple is counted once in
its window advance, and the panes are then added up to windows (Li et al., "No Pane, No Gain", 2005,
SIGMOD Record). The band join is an equality join of *buckets* as wide as the band, each tuple of S
in the bucket of its key and in both neighbours, which a hash join can do; the band itself is a
condition on the pairs that meet.

The output is a temporary table of the database, DuckDB's own form in memory. Handing it over as
Arrow is not on the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from experiments.peers.catalog import Peer, Query

COUNT_WINDOWS = """
CREATE OR REPLACE TEMP TABLE output AS
WITH panes AS (
    SELECT timestamp // {advance} AS pane, key, count(*) AS tuples FROM tuples GROUP BY ALL
)
SELECT (pane - before) * {advance} AS window_start, key, CAST(sum(tuples) AS BIGINT) AS value
FROM panes, range({panes}) AS earlier(before)
WHERE pane >= before
GROUP BY ALL
"""

BAND_JOIN = """
CREATE OR REPLACE TEMP TABLE output AS
WITH near AS (
    SELECT position, x, unnest([x // {bucket} - 1, x // {bucket}, x // {bucket} + 1]) AS bucket
    FROM s
)
SELECT r.position AS r_position, near.position AS s_position
FROM r JOIN near ON r.x // {bucket} = near.bucket
WHERE abs(r.x - near.x) <= {half_width}
  AND near.position - r.position BETWEEN -{window} AND {window} - 1
"""

TWO_BANDS = """
CREATE OR REPLACE TEMP TABLE output AS
WITH near AS (
    SELECT rank, time, a, b,
           unnest([a // {bucket} - 1, a // {bucket}, a // {bucket} + 1]) AS bucket
    FROM s
)
SELECT r.rank AS r_rank, near.rank AS s_rank
FROM r JOIN near ON r.x // {bucket} = near.bucket
WHERE abs(r.x - near.a) <= {half_width}
  AND r.y >= near.b - CAST({half_width} AS FLOAT)
  AND r.y <= near.b + CAST({half_width} AS FLOAT)
  AND abs(r.time - near.time) <= {span}
"""


def _query(
    statement: str, tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int
) -> Query:
    """Load the tables and return a query that fills the table ``output``."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    for name, table in tables.items():
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        connection.unregister("given")
    statement = statement.format(**settings)

    def run():
        connection.execute(statement)
        return lambda: connection.sql("SELECT * FROM output").to_arrow_table()

    return run


PEER = Peer(
    id="duckdb",
    title="DuckDB",
    package="duckdb",
    work={
        "windowed_counts": partial(_query, COUNT_WINDOWS),
        "band_join": partial(_query, BAND_JOIN),
        "theta_join": partial(_query, TWO_BANDS),
    },
    form="temporary table",
)
