"""Spark's ``window()`` over recorded input, as one batch job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.contract import Look, Variant
from operators.micro_batches.family import MicroBatchOperations, Ran, Work
from operators.micro_batches.rivals import (
    as_usual,
    operator_of,
    refuses_aggregate,
    rows_of,
    windowed,
    written_at_once,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(session: SparkSession, work: Work) -> Ran:
    """Run an aggregate over the whole input."""
    with as_usual(session, work):
        node = operator_of(work.query)
        rows = rows_of(session, work, node.inputs[0].node, stream=False)
        return written_at_once(session, work, windowed(rows, node))


VARIANT = Variant(
    id="spark-window-batch",
    family="micro_batches",
    title="Spark window(), batch",
    paper="none",
    section="Spark SQL",
    operations=MicroBatchOperations(run, refuses_aggregate, in_batches=False),
    order="none",
    progress="blocking",
    threads={"task": "one a core"},
    capacity="memory, then disk",
    extended=True,
    look=Look("#b37c00", "<", "dashed"),
)
