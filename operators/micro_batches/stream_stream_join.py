"""Spark's join of two streams, with watermarks.

Spark keeps both sides in state and removes tuples that cannot have a partner any more, by the
watermark. It refuses a join without an equality. So if a query has none, one of *buckets* is added,
each as long as the window: a left tuple is in one bucket, and a right one is also in the two
adjacent ones, so that each pair meets once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from operators.contract import Look, Variant
from operators.micro_batches.family import MicroBatchOperations, Ran, Work
from operators.micro_batches.rivals import (
    CLOCK,
    TICK,
    as_usual,
    is_sql,
    operator_of,
    rows_of,
    written_by_batches,
)
from operators.streamcloud.algebra import LARGER, SIDES, Input, Product, Query
from operators.streamcloud.expressions import Computed
from operators.streamcloud.schema import TIME
from operators.streamcloud.windows import TimeWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BUCKET = "bucket"
_OF_A_SIDE = re.compile(rf"\b({'|'.join(SIDES)})\.(\w+)")


def refuses(query: Query) -> str | None:
    """Return the reason if a query is no join of two inputs, else None."""
    node = operator_of(query)
    if not isinstance(node, Product):
        return "takes queries of one join or product over inputs"
    if not isinstance(node.window, TimeWindow) or node.window.size == 0:
        return "takes windows of time"
    if node.time != LARGER:
        return "gives a pair the larger of its times"
    if not all(is_sql(each) for each in (node.where, *(each for _, each in node.columns))):
        return "takes expressions that SQL writes alike"
    return None


def run(session: SparkSession, work: Work) -> Ran:
    """Run a join over the streams of the inputs."""
    from pyspark.sql import functions as F

    with as_usual(session, work):
        node = operator_of(work.query)
        left, right = (
            side_of(session, work, taken.node, side)
            for taken, side in zip(node.inputs, SIDES, strict=True)
        )
        equal = [f"left_{mine} = right_{other}" for mine, other in getattr(node, "on", ())]
        if not equal:
            left, right = bucketed(left, right, node.window.size)
            equal = [f"left_{BUCKET} = right_{BUCKET}"]
        near = [
            f"left_{CLOCK} >= right_{CLOCK} - INTERVAL {node.window.size} {TICK}",
            f"left_{CLOCK} <= right_{CLOCK} + INTERVAL {node.window.size} {TICK}",
        ]
        where = [] if node.where is None else [f"({in_sql(node.where)})"]
        columns = [F.expr(in_sql(value)).alias(name) for name, value in node.columns]
        time = F.greatest(f"left_{TIME}", f"right_{TIME}").alias(TIME)
        pairs = left.join(right, F.expr(" AND ".join([*equal, *near, *where])))
        return written_by_batches(session, work, pairs.select(time, *columns))


def side_of(session: SparkSession, work: Work, node: Input, side: str) -> DataFrame:
    """Return the stream of an input, with the side in the name of each column."""
    rows = rows_of(session, work, node, stream=True, later=1).withWatermark(CLOCK, f"0 {TICK}")
    return rows.withColumnsRenamed({name: f"{side}_{name}" for name in rows.columns})


def bucketed(left: DataFrame, right: DataFrame, size: int) -> tuple[DataFrame, DataFrame]:
    """Return both sides with their buckets: one for a left tuple, three for a right one."""
    from pyspark.sql import functions as F

    own = F.expr(f"right_{TIME} DIV {size}")
    return (
        left.withColumn(f"left_{BUCKET}", F.expr(f"left_{TIME} DIV {size}")),
        right.withColumn(f"right_{BUCKET}", F.explode(F.array(own - 1, own, own + 1))),
    )


def in_sql(computed: Computed) -> str:
    """Return an expression over both sides with the column names of `side_of`.

    Examples
    --------
    >>> from operators.streamcloud.expressions import Expression
    >>> in_sql(Expression("left.x - right.y", "int64", ("left.x", "right.y"), None))
    'left_x - right_y'
    """
    return _OF_A_SIDE.sub(r"\1_\2", computed.text)


VARIANT = Variant(
    id="stream-stream-join",
    family="micro_batches",
    title="Spark stream-stream join",
    paper="none",
    section="Structured Streaming",
    operations=MicroBatchOperations(run, refuses, in_batches=True),
    order="none",
    progress="blocking",
    threads={"task": "one a core"},
    capacity="a trigger's files",
    extended=True,
    look=Look("purple", "v", "dense"),
)
