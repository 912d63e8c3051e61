"""The common part of the rivals: Spark's operators, called as its users do.

Times are counted in ticks, of which one is a millisecond to Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from operators.micro_batches.family import CHECKPOINT, LATER, Outputs, Ran, Work
from operators.running.spark_paths import spark_path, spark_pattern
from operators.running.spark_session import settings_on
from operators.running.spark_settings import (
    ADAPTIVE,
    CHECKPOINTING,
    FILE_MANAGER,
    PARTITIONS,
    STATE_STORE,
)
from operators.streamcloud.algebra import Aggregate, Input, Node, Query
from operators.streamcloud.expressions import Computed, Expression
from operators.streamcloud.schema import DOUBLE, INT64, TEXT, TIME
from operators.streamcloud.windows import ALIGNED, TimeWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A tuple's time, as a timestamp of Spark.
CLOCK = "clock"
TICK = "milliseconds"
TYPES = {INT64: "bigint", DOUBLE: "double", TEXT: "string"}
OUT = "out"
# In memory, and in files: Spark's default for a stream.
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
# The class that Spark uses by default.
LINKED = f"{CHECKPOINTING}.FileContextBasedCheckpointFileManager"
# Operators that SQL writes differently.
_OURS_ALONE = re.compile(r"//|%")


# --- which queries --------------------------------------------------------------------------------


def operator_of(query: Query) -> Node | None:
    """Return the operator if a query has a single one, over inputs; else None."""
    operators = query.operators
    if len(operators) != 1 or not all(isinstance(each.node, Input) for each in operators[0].inputs):
        return None
    return operators[0]


def refuses_aggregate(query: Query) -> str | None:
    """Return the reason if a query is no aggregate that ``window()`` can express, else None."""
    node = operator_of(query)
    if not isinstance(node, Aggregate):
        return "takes queries of one aggregate over an input"
    if not isinstance(node.window, TimeWindow) or node.window.start != ALIGNED:
        return "takes windows of time that are aligned"
    if any(each.function == "first" for each in node.columns):
        return "takes no function first, which depends on the order of rows"
    if not all(is_sql(each.argument) for each in node.columns):
        return "takes expressions that SQL writes alike"
    return None


def is_sql(computed: Computed | None) -> bool:
    """Say whether an expression, unchanged, means the same in Spark's SQL."""
    if computed is None:
        return True
    return isinstance(computed, Expression) and not _OURS_ALONE.search(computed.text)


# --- in and out -----------------------------------------------------------------------------------


def rows_of(
    session: SparkSession, work: Work, node: Input, stream: bool, later: int = 0
) -> DataFrame:
    """Return the tuples of an input, with the time in the column ``CLOCK``.

    Parameters
    ----------
    session : SparkSession
    work : Work
    node : Input
    stream : bool
        Whether to read them as a stream.
    later : int
        Ticks by which the clock exceeds the time. A watermark is 0 initially, and tuples that are
        not after the watermark are late: where single tuples are tested and not windows, time 0 is
        late.
    """
    from pyspark.sql import functions as F

    columns = ", ".join(f"`{name}` {TYPES[kind]}" for name, kind in node.schema.columns)
    folder = work.tables[node.name]
    if stream:
        reader = session.readStream.option("maxFilesPerTrigger", work.files)
        table = reader.schema(columns).parquet(spark_pattern(folder))
    else:
        files = (spark_pattern(file) for file in sorted(folder.iterdir()) if file.name != LATER)
        table = session.read.schema(columns).parquet(*files)
    return table.withColumn(CLOCK, F.timestamp_millis(F.col(TIME) + later))


def windowed(rows: DataFrame, node: Aggregate) -> DataFrame:
    """Return an aggregate by ``window()``, in the columns of the query's operator."""
    from pyspark.sql import functions as F

    window = F.window(CLOCK, f"{node.window.size} {TICK}", f"{node.window.advance} {TICK}")
    columns = [
        F.expr(f"{each.function}({each.argument or '*'})").alias(each.name) for each in node.columns
    ]
    # window() also opens windows that begin before time 0.
    return (
        rows.groupBy(window, *node.group_by)
        .agg(*columns)
        .select(F.unix_millis("window.start").alias(TIME), *node.schemas[0].names[1:])
        .where(f"{TIME} >= 0")
    )


def written_by_batches(session: SparkSession, work: Work, found: DataFrame) -> Ran:
    """Run a stream to the end, into files."""
    query = (
        found.writeStream.format("parquet")
        .outputMode("append")
        .option("checkpointLocation", spark_path(work.folder / CHECKPOINT))
        .option("path", spark_path(work.folder / OUT))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    told = tuple(json.loads(each.json) for each in query.recentProgress)
    return Ran(lambda: _read(session, work), in_order=False, progress=told)


def written_at_once(session: SparkSession, work: Work, found: DataFrame) -> Ran:
    """Run a batch job, into files."""
    found.write.parquet(spark_path(work.folder / OUT))
    return Ran(lambda: _read(session, work), in_order=False)


def _read(session: SparkSession, work: Work) -> Outputs:
    # Through Spark, which follows the manifest of committed batches.
    table = session.read.parquet(spark_path(work.folder / OUT)).toArrow()
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    return {work.query.outputs[0].name: columns}


@contextmanager
def as_usual(session: SparkSession, work: Work) -> Iterator[None]:
    """Apply the settings that Spark's users choose, or leave alone.

    A partition per core, adaptive plans, state in memory, and the default writer of checkpoints.
    The remaining ones of our settings (`operators.running.spark_settings`) slow none of them down:
    a task does not wait for a core next to the data, and plans are not traced for errors.
    """
    usual = {PARTITIONS: str(work.cores), STATE_STORE: IN_MEMORY, FILE_MANAGER: LINKED}
    with settings_on(session, usual | dict.fromkeys(ADAPTIVE, "true")):
        yield
