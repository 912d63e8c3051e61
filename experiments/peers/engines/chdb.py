"""ClickHouse in the process of its user, as the package chDB has it.

The output is a table of the engine ``Memory``, ClickHouse's own form in memory. To hand it over as
Arrow is off the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from experiments.peers.catalog import Peer, Query
from experiments.peers.queries.sql import STATEMENTS, Dialect

DIALECT = Dialect(quotient="intDiv({0}, {1})", each="arrayJoin([{0}])")
TYPES = {
    pa.int64(): "Int64",
    pa.float32(): "Float32",
    pa.float64(): "Float64",
    pa.string(): "String",
}


def _columns(table: pa.Table) -> str:
    """Return the columns of a table as declared: by default every one of Arrow's may be null."""
    declared = []
    for name in table.column_names:
        kind = TYPES[table[name].type]
        declared.append(f"{name} {f'Nullable({kind})' if table[name].null_count else kind}")
    return ", ".join(declared)


def _query(
    statement: Callable[..., str],
    tables: Mapping[str, pa.Table],
    settings: Mapping[str, Any],
    threads: int,
) -> Query:
    """Load the tables and return a query that fills the table ``output``."""
    from chdb import session

    connection = session.Session()
    connection.query(f"SET max_threads = {threads}")
    for name, given in tables.items():
        connection.query(f"CREATE TABLE {name} ({_columns(given)}) ENGINE = Memory")
        connection.query(f"INSERT INTO {name} SELECT * FROM Python(given)")
    query = f"CREATE OR REPLACE TABLE output ENGINE = Memory AS {statement(DIALECT, **settings)}"

    def run():
        connection.query(query)
        return lambda: connection.query("SELECT * FROM output", "ArrowTable")

    return run


PEER = Peer(
    id="chdb",
    title="ClickHouse (chDB)",
    package="chdb",
    work={work: partial(_query, statement) for work, statement in STATEMENTS.items()},
    form="table in memory",
)
