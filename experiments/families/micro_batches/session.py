"""The Spark session of a measuring process, and the processor time it has used.

Java is started by the first run and ends with the process. It never runs while another family is
measured, since each group has separate processes.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Timer
from typing import TYPE_CHECKING

from experiments.timing import machine
from operators.running import pinning
from operators.running.run_threads import RunFailed, TimedOut
from operators.running.spark_errors import known, reason, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session() -> SparkSession:
    """Return the session of this process, with as many cores as it may use; started once."""
    from pyspark.sql import SparkSession

    from operators.running.spark_session import spark_session, stop_spark

    found = SparkSession.getActiveSession()
    if found is None:
        machine.count_descendants()
        atexit.register(stop_spark)
        found = spark_session(f"local[{pinning.cores()}]")
    return found


@contextmanager
def ended_after(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Stop Spark's work when it takes longer than `seconds`; turn Spark's failures into ours.

    Raises
    ------
    RunFailed
        With Spark's reason, in one line.
    run_threads.TimedOut
        When the time is exceeded.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    late = Event()

    def end() -> None:
        late.set()
        for query in spark.streams.active:
            query.stop()
        spark.sparkContext.cancelAllJobs()

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if late.is_set():
            raise TimedOut(f"Spark took longer than {seconds:.0f} s") from error
        text = text_of(error)
        raise RunFailed(f"Spark: {known(text) or reason(text)}") from error
    finally:
        timer.cancel()
    if late.is_set():
        raise TimedOut(f"Spark took longer than {seconds:.0f} s")


def tasks_since(spark: SparkSession, wall_ns: int) -> Callable[[int, int], float]:
    """Return a function for the processor seconds of Java's tasks, from Spark's stage records.

    Parameters
    ----------
    spark : SparkSession
    wall_ns : int
        Only stages that began at or after this time count, in ns of the wall clock.

    Returns
    -------
    callable
        ``seconds(begin, end)``: of stages that ended between two times, in ns of the wall clock.
    """
    context, jvm = spark.sparkContext._jsc.sc(), spark.sparkContext._gateway
    # Stages are recorded by a separate thread.
    context.listenerBus().waitUntilEmpty()
    nothing = jvm.new_array(jvm.jvm.double, 0)
    stages = context.statusStore().stageList(None, False, False, nothing, None)
    found = []
    for place in range(stages.size()):
        stage = stages.apply(place)
        if stage.completionTime().isDefined() and stage.submissionTime().isDefined():
            began, ended = (
                each.get().getTime() * 1_000_000
                for each in (stage.submissionTime(), stage.completionTime())
            )
            if began >= wall_ns // 1_000_000 * 1_000_000:
                found.append((ended, stage.executorCpuTime() / 1e9))
    return lambda begin, end: sum(used for ended, used in found if begin < ended <= end)
