"""Recorded streams as one batch job: no state, no checkpoint.

Behind each shuffle Spark sorts the rows of a slot by their senders' promises. So no tuple before
the next row's ``begin`` can come, and an instance steps whenever enough rows wait: the state covers
only rows that overlap in time. A task depends on the input rows alone, so that Spark's retries
recover all lost work.
"""

from __future__ import annotations

from operators.running.spark_paths import spark_path, spark_pattern
from operators.streamcloud.carriers.spark.forms import BOUNDED
from operators.streamcloud.carriers.spark.job import Job, active_session, chained, failures


def run_bounded(job: Job) -> None:
    """Run a job over all chunks in the folder, and write the rows of the outputs.

    Parameters
    ----------
    job : Job
        `export.export` turns the committed rows into outputs.

    Raises
    ------
    UsageError
        When a chunk is invalid, a stream is incomplete, or an expression fails.
    """
    job.begin(BOUNDED)
    with failures():
        files = active_session().read.format("binaryFile").load(spark_pattern(job.chunks))
        rows = chained(job, files.select("path"))
        # The remains of an interrupted run of this very job are overwritten.
        rows.write.mode("overwrite").options(**job.OPTIONS).parquet(spark_path(job.out))
