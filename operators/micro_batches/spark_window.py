"""Spark's ``window()`` over a stream, with a watermark.

A window comes out in the batch after the one by which the watermark has passed the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.contract import Look, Variant
from operators.micro_batches.family import MicroBatchOperations, Ran, Work
from operators.micro_batches.rivals import (
    CLOCK,
    TICK,
    as_usual,
    operator_of,
    refuses_aggregate,
    rows_of,
    windowed,
    written_by_batches,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(session: SparkSession, work: Work) -> Ran:
    """Run an aggregate over the stream of the input."""
    with as_usual(session, work):
        node = operator_of(work.query)
        rows = rows_of(session, work, node.inputs[0].node, stream=True)
        # Streams are in the order of time, so that no tuple is late.
        found = windowed(rows.withWatermark(CLOCK, f"0 {TICK}"), node)
        return written_by_batches(session, work, found)


VARIANT = Variant(
    id="spark-window",
    family="micro_batches",
    title="Spark window()",
    paper="none",
    section="Structured Streaming",
    operations=MicroBatchOperations(run, refuses_aggregate, in_batches=True),
    order="none",
    progress="blocking",
    threads={"task": "one a core"},
    capacity="a trigger's files",
    extended=True,
    look=Look("orange", "^", "dashed"),
)
