"""Maps in a row with a Spark shuffle between each two: the cost of moving rows, not blobs.

A row is shuffled by Spark itself, by the hash of the time, without Python at either end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.contract import Look, Shown, Variant
from operators.micro_batches.family import MicroBatchOperations, Ran, Work
from operators.micro_batches.rivals import CLOCK, as_usual, is_sql, rows_of, written_at_once
from operators.streamcloud.algebra import Input, Map, Query
from operators.streamcloud.schema import TIME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refuses(query: Query) -> str | None:
    """Return the reason if a query is no chain of maps, else None."""
    if not all(isinstance(node, Map) and not node.sets_time for node in query.operators):
        return "takes queries of maps that leave the time alone"
    if len(query.inputs) != 1 or len(query.outputs) != 1:
        return "takes queries of one input and one output"
    if not all(is_sql(value) for node in query.operators for _, value in node.columns):
        return "takes expressions that SQL writes alike"
    return None


def run(session: SparkSession, work: Work) -> Ran:
    """Run a chain of maps over the whole input."""
    from pyspark.sql import functions as F

    with as_usual(session, work):
        chain, node = [], work.query.outputs[0].node
        while not isinstance(node, Input):
            chain.append(node)
            node = node.inputs[0].node
        rows = rows_of(session, work, node, stream=False).drop(CLOCK)
        for each in reversed(chain):
            columns = [F.expr(value.text).alias(name) for name, value in each.columns]
            rows = rows.repartition(work.cores, TIME).select(TIME, *columns)
        return written_at_once(session, work, rows)


VARIANT = Variant(
    id="row-shuffle",
    family="micro_batches",
    title="Rows through shuffles",
    paper="none",
    section="Spark SQL",
    operations=MicroBatchOperations(run, refuses, in_batches=False),
    order="none",
    progress="blocking",
    threads={"task": "one a core"},
    capacity="memory, then disk",
    extended=True,
    look=Look("purple", ">"),
    shown=(Shown("query=relay", "Row through a shuffle", Look("purple", ">"), {}),),
)
