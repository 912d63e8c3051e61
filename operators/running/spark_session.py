"""The Spark session of this process.

The session binds to 127.0.0.1, has no web page, says nothing on the terminal and computes in UTC.
`stop_spark` ends the Java process too, so that no idle runtime disturbs a measurement afterwards.
`java` says which Java it runs on.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import psutil

from operators.contract import UsageError
from operators.running.java import java_home

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

STOP_SECONDS = 30
# Two data sets of 100,000 rows side by side take 13.5 to 14.7 s with these, 25.1 to 27.3 without;
# of 10,000,000 rows 78 s with them and 60 without (two cores of an Intel Xeon "Sapphire Rapids",
# three runs of the first, one of the second).
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
MASTERS = re.compile(r"local|local\[(\*|[1-9][0-9]*)\]|spark://[^\s:/]+:[0-9]+")


def spark_session(
    master: str = "local[*]",
    *,
    driver_memory: str = "4g",
    scratch: Path | None = None,
    brief: bool = False,
) -> SparkSession:
    """Return the Spark session of this process, starting it if there is none.

    Parameters
    ----------
    master
        Spark's master: `local[N]`, `local[*]` or `spark://host:port`. A session on another master
        is stopped first.
    driver_memory
        The limit of the Java heap. It holds for the life of the Java process, and so do `scratch`
        and `brief`.
    scratch
        Where Spark keeps what does not fit in memory; the system's temporary folder by default.
    brief
        Whether there is work for a few seconds only: Java then compiles once and lightly, and
        collects garbage on one core.

    Returns
    -------
    SparkSession

    Raises
    ------
    UsageError
        If `master` has another form, there is no usable Java, or Spark does not start on it.
    """
    # pyspark is imported here so that looking for Java (`millrace doctor`) does not wait for it.
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if MASTERS.fullmatch(master) is None:
        raise UsageError(
            f"Spark master {master!r} is none of local, local[N], local[*] and spark://host:port;"
            " give one of these"
        )
    current = SparkSession.getActiveSession()
    if current is not None:
        if current.sparkContext.master == master:
            return current
        current.stop()
    settings = {
        "spark.app.name": "millrace",
        "spark.master": master,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": driver_memory,
        "spark.log.level": "ERROR",
        "spark.pyspark.python": sys.executable,
        # Else Java is told of each column from which line it comes, for the errors of a plan: of
        # 5,000 to 9,000 calls for a generator's columns half, and of a small set's time a fifth.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Every plan says in how many parts: planning again with each finished stage changes
        # nothing, and takes about two seconds of a small set's 15 to 20.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        settings["spark.driver.host"] = "127.0.0.1"
    else:
        del settings["spark.driver.bindAddress"]  # Workers elsewhere call the driver back.
    if brief:
        settings["spark.driver.extraJavaOptions"] = BRIEF
    if scratch is not None:
        settings["spark.local.dir"] = str(scratch)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = _gateway(conf)
    logging.getLogger().addFilter(_is_no_ctrl_c)
    try:
        with _own_ctrl_c():
            context = SparkContext(conf=conf, gateway=gateway)
        return SparkSession(context)
    except Exception as error:
        stop_spark()
        first_line = str(error).strip().splitlines()[-1]
        raise UsageError(
            f"Spark does not start on master {master!r}: {first_line}; use 'local[*]' or the"
            " address of a running cluster"
        ) from error


@contextmanager
def _own_ctrl_c() -> Iterator[None]:
    """Put back what Ctrl-C does after Spark has taken it over.

    Spark's handler asks Java to cancel all jobs in the middle of another question to it, which
    fails with a traceback; and it stays after the session has ended.
    """
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, interrupt)


def _gateway(conf: SparkConf) -> JavaGateway:
    """Start the Java process, or return the one that runs."""
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return SparkContext._gateway
    home, origin = java_home()
    # Java's own messages go to a nameless file: they would break the progress lines, and a Java
    # process that holds our stderr keeps a pipe open after we have ended.
    before = psutil.Process().children()
    with tempfile.TemporaryFile() as messages, _launch_environment(home):
        try:
            return launch_gateway(conf, popen_kwargs={"stderr": messages})
        except PySparkRuntimeError as error:
            raise UsageError(
                f"Spark does not start on {origin} ({home}): {_cause(messages)}; try"
                " MILLRACE_JAVA=packaged or another JAVA_HOME"
            ) from error
        except KeyboardInterrupt:
            # A Java process that cannot report its port to us does not end by itself.
            _end_launch(before)
            raise


def _end_launch(before: list[psutil.Process]) -> None:
    """End the processes of a launch that was broken off."""
    launched = [child for child in psutil.Process().children() if child not in before]
    for child in launched:
        try:
            if "spark" in " ".join(child.cmdline()):
                for process in [*child.children(recursive=True), child]:
                    process.kill()
        except psutil.NoSuchProcess:
            continue  # It ended while we looked.


def _is_no_ctrl_c(record: logging.LogRecord) -> bool:
    # py4j logs a Ctrl-C with its whole traceback before it raises it again.
    return not str(record.msg).startswith("KeyboardInterrupt while sending command")


def _cause(messages: BinaryIO) -> str:
    """Return the line in which Java says why it ended: the first error, else the last line."""
    messages.seek(0)
    lines = messages.read().decode(errors="replace").strip().splitlines()
    named = [line for line in lines if re.search(r"Exception|Error|error", line)]
    return (named[:1] or lines[-1:] or ["it ended without a message"])[0].strip()


@contextmanager
def _launch_environment(home: Path) -> Iterator[None]:
    """Let Spark's launcher see `home` and its own files, and nothing of another Spark."""
    saved = {name: os.environ.get(name) for name in ("JAVA_HOME", "SPARK_HOME")}
    os.environ["JAVA_HOME"] = str(home)
    os.environ.pop("SPARK_HOME", None)
    try:
        yield
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def stop_spark() -> None:
    """End the session and its Java process; does nothing if there is none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
    gateway = SparkContext._gateway
    if gateway is None:
        return
    SparkContext._gateway = None
    SparkContext._jvm = None
    gateway.shutdown()
    # The Java process ends when its standard input does.
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
