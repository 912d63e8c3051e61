"""Waits for a cluster's executors at the start, and detects the loss of all of them.

Spark waits for an executor forever, without a message: a job whose workers have all gone would look
like a long one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from operators.contract import UsageError
from operators.running.spark_settings import is_local

if TYPE_CHECKING:
    from pyspark import SparkContext

# How long a cluster may take to provide an executor. A standalone one starts a process; others may
# queue the request, or fetch an image first.
EXECUTOR_SECONDS = {"spark": 60.0, "yarn": 600.0, "k8s": 600.0}
# How often to check for one: during the start, and while jobs run.
START_LOOK_SECONDS, LOOK_SECONDS = 0.05, 1.0


def await_executor(context: SparkContext) -> None:
    """Wait for the first executor.

    Raises
    ------
    UsageError
        When there is none in time.
    """
    if not _is_given(context):
        return
    end = time.monotonic() + _patience(context)
    while not _count(context):
        if time.monotonic() > end:
            raise UsageError(_none(context))
        time.sleep(START_LOOK_SECONDS)


@contextmanager
def executors_watched(context: SparkContext | None) -> Iterator[None]:
    """End the jobs within the context when a cluster has no executor any more.

    Raises
    ------
    UsageError
        Instead of the error of a job that was ended for that reason; the original error is the
        cause.
    """
    if context is None or not _is_given(context):
        yield
        return
    over, missed = threading.Event(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, over, missed), daemon=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        if missed.is_set():
            raise UsageError(f"Spark failed: {_none(context)}") from error
        raise
    finally:
        over.set()
        watcher.join()


def _watch(context: SparkContext, over: threading.Event, missed: threading.Event) -> None:
    """Watch for executors until `over` is set; end all jobs after too long a time without any."""
    from py4j.protocol import Py4JError

    last = time.monotonic()
    while not over.wait(LOOK_SECONDS):
        try:
            if _count(context):
                last = time.monotonic()
                missed.clear()
            elif time.monotonic() - last > _patience(context):
                missed.set()
                # This also ends jobs that begin later: a stream has one per batch.
                context.cancelAllJobs()
        except (Py4JError, ConnectionError):
            return  # Java has ended: the thread that waits for the answer gets the error.


def _is_given(context: SparkContext) -> bool:
    """Return whether the cluster has to provide executors that stay."""
    dynamic = context.getConf().get("spark.dynamicAllocation.enabled") == "true"
    return not (is_local(context.master) or dynamic)


def _count(context: SparkContext) -> int:
    # The status includes the driver.
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


def _patience(context: SparkContext) -> float:
    return EXECUTOR_SECONDS[context.master.partition(":")[0]]


def _none(context: SparkContext) -> str:
    memory = context.getConf().get("spark.executor.memory", "1g")
    return (
        f"master {context.master!r} gives no executor in {_patience(context):.0f} s: no worker has"
        f" a core and {memory} of memory free (millrace cluster status shows those of this"
        " machine); start workers, end other applications or ask for less"
    )
