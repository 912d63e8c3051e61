"""A plan as one stream of stateless Spark operators, with the instances' states in files.

See `operators.streamcloud.carriers.spark.stream`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.contract import Look, Shown, Variant
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
    """Run a plan over the stream of chunks, until all are read."""
    # Imported late: listing the variants need not load Arrow.
    from operators.streamcloud.carriers.spark.epochs import states_of
    from operators.streamcloud.carriers.spark.state_files import StateFiles
    from operators.streamcloud.carriers.spark.stream import run_stream

    job = job_of(work)
    ran = left_by(job, tuple(run_stream(job)))
    return ran._replace(state_bytes=StateFiles(states_of(job)).largest_bytes())


VARIANT = Variant(
    id="stream",
    family="micro_batches",
    title="Stream",
    paper="none",
    section="on Spark",
    operations=MicroBatchOperations(run, refuses_none, in_batches=True),
    order="total",
    progress="blocking",
    threads=THREADS,
    capacity="a trigger's chunks, and the windows",
    parameters=PARAMETERS,
    extended=True,
    look=Look("blue", "o", "solid"),
    shown=(
        Shown("instances=1", "Stream, 1 instance", Look("sky", "X", "dash-dot"), {}),
        *cut_by("stream", Look("orange", "^"), Look("purple", "v"), Look("blue", "o")),
        relayed("operator-cluster", "Blob, state in files", Look("blue", "o")),
    ),
)
