"""A plan as one stream, with the instances' states in Spark's state store, in RocksDB.

See `operators.streamcloud.carriers.spark.state_store`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from operators.contract import Look, Shown, Variant
from operators.micro_batches.carried import (
    PARAMETERS,
    THREADS,
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
    from operators.streamcloud.carriers.spark.state_store import run_state_store

    # Instances are not steps of Spark here, so that measuring the steps would cover only a part.
    job = job_of(replace(work, around=None))
    return left_by(job, tuple(run_state_store(job)))


VARIANT = Variant(
    id="state-store",
    family="micro_batches",
    title="State store",
    paper="none",
    section="on Spark",
    operations=MicroBatchOperations(run, refuses_none, in_batches=True),
    order="total",
    progress="blocking",
    threads=THREADS,
    capacity="a trigger's chunks, and the windows",
    parameters=PARAMETERS,
    extended=True,
    look=Look("black", "P", "solid"),
    shown=(
        Shown("instances=1", "State store, 1 instance", Look("grey", "P", "solid"), {}),
        relayed("operator-cluster", "Blob, state in Spark's store", Look("black", "P")),
    ),
)
