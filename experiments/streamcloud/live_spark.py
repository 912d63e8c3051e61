"""One query by three carriers, for a notebook: on threads, and on Spark in two forms.

The cluster is local: a master, two workers, and an executor on each. One of the two executors is
killed while the stream runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from threading import Event

import numpy as np
import psutil

from experiments.streamcloud import live, plans
from experiments.streamcloud.snapshots import CarrierRun
from operators.contract import UsageError
from operators.running.cluster import LoopbackCluster, Size
from operators.running.spark_session import spark_session, stop_spark
from operators.streamcloud.carriers.spark.forms import BOUNDED, STREAM, OnSpark
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.plan import SUBQUERY_CLUSTER
from operators.streamcloud.run import SPARK, THREADS, Outputs, Ran, run_plan

INSTANCES = 2
# Tuples per batch: eight batches, each of which costs as much as a far larger one.
TRIGGER = 10_000
SIZE, DRIVER_MEMORY, EXECUTOR_MEMORY = Size(workers=2, cores=1, memory="512m"), "1g", "512m"
# Number of committed batches after which an executor is killed.
KILLED_BEHIND = 3
WATCH_SECONDS = 0.02


def outputs(query: str = live.QUERY, instances: int = INSTANCES) -> list[CarrierRun]:
    """Run a query over made-up calls by each carrier.

    Parameters
    ----------
    query : str
        The id of a query of calls.
    instances : int
        Instances of each stage.

    Returns
    -------
    list of CarrierRun
        On threads, as one batch job, and as a stream with one of two executors killed. If Spark
        does not start, the runs on Spark say why.

    Notes
    -----
    An existing Spark session of this process is ended.
    """
    asked = plans.query(query)
    calls = live.made_up_calls()
    given = {
        node.name: [calls.table("suspects" if node.name == "suspects" else "calls")]
        for node in asked.inputs
    }
    streams, coding = encode_inputs(asked, given)
    plan = compile_query(asked, SUBQUERY_CLUSTER, instances)
    found = [_run(THREADS, run_plan(plan, streams, coding, THREADS).outputs)]
    with tempfile.TemporaryDirectory(prefix="millrace-") as folder, ExitStack() as running:
        try:
            cluster = running.enter_context(LoopbackCluster(SIZE))
            running.callback(stop_spark)
            spark_session(
                cluster.master, driver_memory=DRIVER_MEMORY, executor_memory=EXECUTOR_MEMORY,
                brief=True,
            )  # fmt: skip
        except UsageError as error:
            return [*found, *(CarrierRun(form, refused=str(error)) for form in (BOUNDED, STREAM))]
        bounded = OnSpark(cluster.master, BOUNDED, work=Path(folder, BOUNDED))
        ran = run_plan(plan, streams, coding, SPARK, spark=bounded)
        found.append(_run(BOUNDED, ran.outputs))
        stream = OnSpark(cluster.master, STREAM, TRIGGER, Path(folder, STREAM))
        ran, killed = _killing(
            lambda: run_plan(plan, streams, coding, SPARK, spark=stream), cluster, stream.work
        )
        found.append(_run(STREAM, ran.outputs, _noted(stream.work, "commits"), killed))
    return found


def _run(carrier: str, put_out: Outputs, batches: int = 0, killed: int | None = None) -> CarrierRun:
    rows = sum(len(columns["ts"]) for columns in put_out.values())
    return CarrierRun(carrier, batches, killed, rows, digest(put_out))


def digest(put_out: Outputs) -> str:
    """Return the SHA-256 of all columns, with their names and types, in order."""
    found = sha256()
    for output, columns in put_out.items():
        for name, column in columns.items():
            # Texts are objects, whose bytes would be addresses.
            values = np.array(column.tolist(), str) if column.dtype == object else column
            found.update(f"{output} {name} {values.dtype} {len(values)}\n".encode())
            found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def _killing(
    run: Callable[[], Ran], cluster: LoopbackCluster, work: Path
) -> tuple[Ran, int | None]:
    """Run a stream, kill an executor mid-batch; return result and batches committed by then."""
    over = Event()

    def kill() -> int | None:
        while not over.wait(WATCH_SECONDS):
            begun = _noted(work, "offsets")
            committed = _noted(work, "commits")
            # After the last batch the kill would disturb nothing.
            if KILLED_BEHIND <= committed < begun:
                for executor in cluster.executors()[:1]:
                    with suppress(psutil.NoSuchProcess):
                        executor.kill()
                        return committed
        return None

    with ThreadPoolExecutor(1) as beside:
        killed = beside.submit(kill)
        try:
            ran = run()
        finally:
            over.set()
        return ran, killed.result()


def _noted(work: Path, where: str) -> int:
    """Return how many batches Spark has noted: begun ones in offsets, ended ones in commits."""
    found = (work / "checkpoint" / where).glob("*")
    return sum(path.name.isdigit() for path in found)
