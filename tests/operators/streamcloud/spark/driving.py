"""A driver as a separate process, to be killed: runs a job over a folder of chunks.

::

    python -m tests.operators.streamcloud.spark.driving ARGUMENTS.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from operators.running.spark_session import spark_session, stop_spark
from operators.streamcloud.carriers.spark.chunks import read_coding, read_streams
from operators.streamcloud.carriers.spark.export import export
from operators.streamcloud.carriers.spark.job import Job
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.yaml_form import read_query
from tests.operators.streamcloud.spark.on_spark import RUNS


def main(file: str) -> None:
    """Run the job, and write the outputs next to the job's folder."""
    given = json.loads(Path(file).read_text())
    query = read_query(given["query"])
    chunks, work = Path(given["chunks"]), Path(given["work"])
    plan = compile_query(
        query, "subquery-cluster", given["instances"], streams=read_streams(chunks, query)
    )
    session = spark_session(given["master"], driver_memory="1g", executor_memory="512m", brief=True)
    for name, value in given["settings"].items():
        session.conf.set(name, value)
    job = Job(plan, read_coding(chunks, query), chunks, work, given["files"])
    RUNS[given["form"]](job)
    found = export(job)
    assert found.closed
    for name, columns in found.outputs.items():
        pq.write_table(pa.table(columns), work / f"{name}.parquet")
    stop_spark()


if __name__ == "__main__":
    main(sys.argv[1])
