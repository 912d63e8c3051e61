"""DuckDB: an analytical database in the process of its user.

The output is a temporary table of the database, DuckDB's own form in memory. Handing it over as
Arrow is not on the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from experiments.peers.catalog import Peer, Query
from experiments.peers.queries.sql import STATEMENTS, Dialect

DIALECT = Dialect(quotient="{0} // {1}", each="unnest([{0}])")


def _query(
    statement: Callable[..., str],
    tables: Mapping[str, pa.Table],
    settings: Mapping[str, Any],
    threads: int,
) -> Query:
    """Load the tables and return a query that fills the table ``output``."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    for name, table in tables.items():
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        connection.unregister("given")
    query = f"CREATE OR REPLACE TEMP TABLE output AS {statement(DIALECT, **settings)}"

    def run():
        connection.execute(query)
        return lambda: connection.sql("SELECT * FROM output").to_arrow_table()

    return run


PEER = Peer(
    id="duckdb",
    title="DuckDB",
    package="duckdb",
    work={work: partial(_query, statement) for work, statement in STATEMENTS.items()},
    form="temporary table",
)
