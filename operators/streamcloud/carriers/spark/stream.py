"""Streams as they come: one query of stateless steps, and files with the instances' states.

To Spark it is a chain of maps with shuffles between, without state. A step reads the state behind
the batch before, and writes the state behind this one. A batch that Spark repeats reads the same
files from the same state, and leads to the same rows; uncommitted rows are in no manifest.

# ASSUME: a stream that brings no chunk for a while is waited for, as in the paper's text: the
# progress is that of the last chunk, and nothing here looks at a clock. An empty chunk says that
# time has passed.

"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from operators.running.spark_paths import spark_path, spark_pattern
from operators.streamcloud.carriers.spark.epochs import states_of
from operators.streamcloud.carriers.spark.export import Outputs
from operators.streamcloud.carriers.spark.forms import STREAM
from operators.streamcloud.carriers.spark.job import Job, active_session, chained, failures
from operators.streamcloud.carriers.spark.state_files import StateFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

FILES = "path string, modificationTime timestamp, length bigint, content binary"
# The interval at which a query's progress is read.
POLL_SECONDS = 0.5


def run_stream(job: Job, follow: bool = False) -> list[dict[str, Any]]:
    """Run a job over the chunks in the folder, continuing an earlier run.

    Parameters
    ----------
    job : Job
        `export.export` turns the committed rows into outputs.
    follow : bool
        Whether to wait for more chunks, until all streams are closed.

    Returns
    -------
    list of dict
        Spark's progress report of each batch of this run, in order.

    Raises
    ------
    UsageError
        When a chunk is invalid, or an expression fails.
    """
    job.begin(STREAM)
    store = StateFiles(states_of(job), job.keep)
    with failures():
        return run_query(job, chained(job, arriving(job), store), follow)


def arriving(job: Job) -> DataFrame:
    """Return the paths of the chunks of a job, as they come."""
    source = active_session().readStream.format("binaryFile").schema(FILES)
    # By default files that are a week older than the youngest are left out.
    source = source.option("maxFileAge", "36500d")
    if job.files is not None:
        source = source.option("maxFilesPerTrigger", job.files)
    return source.load(spark_pattern(job.chunks)).select("path")


def run_query(job: Job, rows: DataFrame, follow: bool) -> list[dict[str, Any]]:
    """Run a query that puts out rows for outputs; parameters and result as above."""
    writer = (
        rows.writeStream.format("parquet")
        .options(**job.OPTIONS)
        .option("path", spark_path(job.out))
        .option("checkpointLocation", spark_path(job.checkpoint))
        .outputMode("append")
    )
    trigger = {"processingTime": "0 seconds"} if follow else {"availableNow": True}
    query = writer.trigger(**trigger).start()
    try:
        return _followed(query, Outputs(job, kept=False) if follow else None)
    finally:
        query.stop()


def _followed(query: StreamingQuery, outputs: Outputs | None) -> list[dict[str, Any]]:
    """Wait for the end of a query, or of the outputs, and return the progress reports."""
    told: dict[int, dict[str, Any]] = {}
    ended = False
    while not ended:
        ended = query.awaitTermination(POLL_SECONDS)
        # Spark keeps the last hundred.
        told.update((each["batchId"], each) for each in _progress(query))
        if outputs is not None and not ended:
            outputs.update()
            ended = outputs.closed
    return [told[batch] for batch in sorted(told)]


def _progress(query: StreamingQuery) -> list[dict[str, Any]]:
    return [json.loads(each.json) for each in query.recentProgress if each.numInputRows]
