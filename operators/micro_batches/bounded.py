"""A plan over recorded input, as one batch job: no state, no checkpoint, no batches.

See `operators.streamcloud.carriers.spark.bounded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.contract import Look, Variant
from operators.micro_batches.carried import (
    PARAMETERS,
    THREADS,
    cut_by,
    job_of,
    left_by,
    refuses_none,
    relayed,
)
from operators.micro_batches.family import MicroBatchOperations, Ran, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(session: SparkSession, work: Work) -> Ran:
    """Run a plan over the whole input."""
    # Imported late: listing the variants need not load Arrow.
    from operators.streamcloud.carriers.spark.bounded import run_bounded

    job = job_of(work)
    run_bounded(job)
    return left_by(job)


VARIANT = Variant(
    id="bounded",
    family="micro_batches",
    title="Bounded",
    paper="none",
    section="on Spark",
    operations=MicroBatchOperations(run, refuses_none, in_batches=False),
    order="total",
    progress="blocking",
    threads=THREADS,
    capacity="what overlaps in time, and what shuffles leave on disk",
    parameters=PARAMETERS,
    extended=True,
    look=Look("vermillion", "D", "solid"),
    shown=(
        *cut_by("job", Look("#b37c00", "<"), Look("#7a3f63", ">"), Look("vermillion", "D")),
        relayed("query-cluster", "Function call", Look("orange", "^")),
        relayed("operator-cluster", "Blob through a shuffle", Look("vermillion", "D")),
    ),
)
