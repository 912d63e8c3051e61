"""Executors of a cluster: awaited when a session starts, and watched while jobs run.

Spark's knowledge of the executors is simulated, except for a cluster that loses them all.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError

from operators.contract import UsageError
from operators.core.sources import ROOT
from operators.running import spark_executors
from operators.running.cluster import LoopbackCluster, Size
from operators.running.spark_executors import await_executor, executors_watched


class Context:
    """A context on a cluster.

    Parameters
    ----------
    executors : list of int
        The number of executors at each query; the last number repeats. If empty, the Java process
        has ended.
    """

    master = "spark://h:1"

    def __init__(self, executors, **given):
        self.executors, self.ended, self.asked = executors, threading.Event(), 0
        self._known = {"spark.executor.memory": "9g", **given}
        sizes = SimpleNamespace(size=self._size)
        java = SimpleNamespace(getExecutorMemoryStatus=lambda: sizes)
        self._jsc = SimpleNamespace(sc=lambda: java)

    def _size(self):
        self.asked += 1
        if not self.executors:
            raise Py4JNetworkError("Answer from Java side is empty")
        return 1 + (self.executors.pop(0) if len(self.executors) > 1 else self.executors[0])

    def getConf(self):  # noqa: N802
        return SimpleNamespace(get=lambda *asked: self._known.get(*asked))

    def cancelAllJobs(self):  # noqa: N802
        self.ended.set()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setitem(spark_executors.EXECUTOR_SECONDS, "spark", 0.1)
    monkeypatch.setattr(spark_executors, "LOOK_SECONDS", 0.01)


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


def test_a_cluster_without_an_executor_is_refused():
    with pytest.raises(UsageError, match="gives no executor in 0 s: no worker has a core and 9g"):
        await_executor(Context([0]))
    waited = Context([0, 0, 1, 7])
    await_executor(waited)
    assert waited.asked == 3
    # A cluster with dynamic allocation has no executors before there is work.
    await_executor(Context([], **DYNAMIC))


def job(context, seconds=60.0):
    """Run until all jobs are ended, or `seconds` have passed."""
    if context.ended.wait(seconds):
        raise RuntimeError("Job 7 cancelled as part of cancellation of all jobs")


def test_a_job_whose_executors_are_all_lost_is_ended_in_one_line():
    lost = Context([2, 2, 1, 0])
    with pytest.raises(UsageError, match="^Spark failed: master 'spark://h:1' gives no executor"):
        with executors_watched(lost):
            job(lost)
    assert lost.asked > 4


def test_executors_that_come_back_in_time_are_not_missed(monkeypatch):
    # Longer than a busy machine keeps the watching thread from a core.
    monkeypatch.setitem(spark_executors.EXECUTOR_SECONDS, "spark", 30.0)
    back = Context([*[2] * 20, 0, 0, 1])
    with executors_watched(back):
        while back.asked < 24:
            job(back, 0.01)
    with pytest.raises(KeyError, match="of the job"), executors_watched(back):
        raise KeyError("of the job")
    assert not back.ended.is_set()
    # Too late for the jobs of that time; a later job's failure has another cause.
    monkeypatch.setitem(spark_executors.EXECUTOR_SECONDS, "spark", 0.1)
    late = Context([*[0] * 20, 1])
    with pytest.raises(KeyError, match="of the job"), executors_watched(late):
        while late.asked < 25:
            time.sleep(0.01)
        raise KeyError("of the job")
    assert late.ended.is_set()


def test_no_executor_is_missed_where_none_has_to_stay_or_java_has_ended():
    local = Context([0])
    local.master = "local[2]"
    for context in (None, local, Context([0], **DYNAMIC)):
        with executors_watched(context):
            time.sleep(0.15)
        assert context is None or not context.asked
    gone = Context([])
    with pytest.raises(ConnectionError), executors_watched(gone):
        while not gone.asked:
            time.sleep(0.01)
        # Long enough for another query.
        time.sleep(0.05)
        raise ConnectionRefusedError(111, "Connection refused")
    assert gone.asked == 1


LEFT_ALONE = """
import sys, time
from operators.contract import UsageError
from operators.running import spark_executors
from operators.running.spark_errors import spark_failures
from operators.running.spark_session import spark_session, stop_spark

spark = spark_session(sys.argv[1], driver_memory="1g", executor_memory="512m", brief=True)
spark_executors.EXECUTOR_SECONDS["spark"] = 3.0

def long(batches):
    time.sleep(600)
    yield from batches

print("runs", flush=True)
try:
    with spark_failures():
        spark.range(0, 1, 1, 1).mapInArrow(long, "id long").collect()
except UsageError as error:
    print(error)
stop_spark()
"""


@pytest.mark.full
def test_a_job_on_a_cluster_that_loses_all_executors_ends_in_one_line():
    with (
        LoopbackCluster(Size(1)) as cluster,
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", LEFT_ALONE, cluster.master],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        ) as driver,
    ):  # fmt: skip
        assert driver.stdout.readline() == "runs\n"
        worker = cluster.daemons[1].process()
        for each in [worker, *worker.children(recursive=True)]:
            each.kill()
        said, wrong = driver.communicate(timeout=100)
    assert said.startswith("Spark failed: master 'spark://127.0.0.1:"), said + wrong
    assert "gives no executor in 3 s: no worker has a core" in said and said.count("\n") == 1
