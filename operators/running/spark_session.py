"""The Spark session of this process.

The session prints nothing on the terminal, has no web page and computes in UTC; on a local master
it binds to 127.0.0.1. `spark_settings` has the settings and their reasons, `java` finds the Java
runtime. `stop_spark` ends the Java process too, so that no idle runtime disturbs a later
measurement.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import psutil

from operators.contract import UsageError
from operators.running.java import java_home
from operators.running.spark_errors import known, reason, text_of
from operators.running.spark_executors import await_executor
from operators.running.spark_settings import (
    check_master,
    environment_of,
    is_local,
    settings_of,
)

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

STOP_SECONDS = 30
ANSWER_SECONDS = 10
OF_CTRL_C = (
    "KeyboardInterrupt while sending command", "Exception occurred while shutting down connection",
)  # fmt: skip


def spark_session(
    master: str = "local[*]",
    *,
    driver_memory: str = "4g",
    executor_memory: str | None = None,
    scratch: Path | None = None,
    brief: bool = False,
    archive: Path | None = None,
) -> SparkSession:
    """Return the Spark session of this process, starting one if there is none.

    Parameters
    ----------
    master
        Spark's master: `local[N]`, `local[*]`, `spark://host:port`, `yarn` or
        `k8s://https://host:port`. A session on another master is stopped first.
    driver_memory
        The limit of the Java heap. It holds for the lifetime of the Java process, as do `scratch`
        and `brief`.
    executor_memory
        The limit of an executor's Java heap on a cluster; by default that of the cluster's
        settings, or else 1g. The executor's Python processes need more memory.
    scratch
        Folder for data that do not fit in memory; the system's temporary folder by default.
        Executors on other machines have separate folders.
    brief
        Whether the work takes only a few seconds: Java then compiles once and lightly, and collects
        garbage on one core.
    archive
        An archive of Millrace's code and kernels, made by `operators.running.pack`, for executors
        that have neither. They import from it and find compiled kernels in it.

    Returns
    -------
    SparkSession
        A session, on a cluster with at least one executor. `PYSPARK_PYTHON` names the Python of
        executors; on a local master it is always this one.

    Raises
    ------
    UsageError
        If `master` has another form or does not answer, the cluster provides no executor, there is
        no usable Java, the archive does not exist, or Spark does not start.
    """
    # Imported here so that looking for Java (`millrace doctor`) does not wait for pyspark.
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    check_master(master)
    _check_archive(master, archive)
    address = _reached(master)
    settings = settings_of(
        master,
        driver_memory=driver_memory,
        executor_memory=executor_memory,
        scratch=scratch,
        brief=brief,
        archive=archive,
        address=address,
    )
    current = SparkSession.getActiveSession()
    if current is not None:
        if _serves(current, settings):
            return current
        current.stop()
    _end_other_java(master)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = _gateway(conf, master, address)
    for name in (None, "py4j.clientserver"):
        logging.getLogger(name).addFilter(_is_no_ctrl_c)
    try:
        with _own_ctrl_c(), _environment({"PYSPARK_PYTHON": _python(master)}):
            context = SparkContext(conf=conf, gateway=gateway)
        await_executor(context)
        return SparkSession(context)
    except UsageError:
        stop_spark()
        raise
    except Exception as error:
        # Read before Java is ended: some errors of Spark get their text from there.
        text = text_of(error)
        stop_spark()
        fault = known(text) or (
            f"{reason(text)}; use 'local[*]' or the address of a running cluster"
        )
        raise UsageError(f"Spark does not start on master {master!r}: {fault}") from error


def _check_archive(master: str, archive: Path | None) -> None:
    if archive is None:
        return
    if is_local(master):
        raise UsageError(
            f"an archive is for executors elsewhere, and {master} has none; leave it out"
        )
    if not archive.is_file():
        raise UsageError(f"there is no archive {archive}; make one with 'millrace pack'")


def _reached(master: str) -> str | None:
    """Return this machine's address as a master sees it; refuse a master that does not answer.

    Spark itself would retry for a minute.
    """
    if master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise UsageError(
                "master yarn is found by the cluster's settings: set HADOOP_CONF_DIR to the folder"
                " that has yarn-site.xml"
            )
        return None
    if is_local(master):
        return None
    host, port = master.rpartition("/")[2].split(":")
    try:
        with socket.create_connection((host, int(port)), ANSWER_SECONDS) as connection:
            ours = connection.getsockname()[0]
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"no master answers at {master}: {why}; give the address of a running one (millrace"
            " cluster up starts one on this machine)"
        ) from error
    # A pod is reached by a name that only the cluster knows and defines in the cluster's settings.
    return ours if master.startswith("spark:") else None


def _serves(session: SparkSession, settings: Mapping[str, str]) -> bool:
    """Return whether a session meets a request, except for the settings of the Java process.

    A session with more than requested serves too: with an archive where none is requested.
    """
    conf = session.sparkContext.getConf()
    archive, memory = conf.get("spark.archives"), conf.get("spark.executor.memory")
    return (
        conf.get("spark.master") == settings["spark.master"]
        and settings.get("spark.archives", archive) == archive
        and settings.get("spark.executor.memory", memory) == memory
    )


def _python(master: str) -> str:
    """Return the Python of executors, which Spark reads from the environment while it starts."""
    ours = sys.executable
    return ours if is_local(master) else os.environ.get("PYSPARK_PYTHON") or ours


@contextmanager
def _own_ctrl_c() -> Iterator[None]:
    """Restore the handler of Ctrl-C after Spark has replaced it.

    Spark's handler asks Java to cancel all jobs in the middle of another request to Java, which
    fails with a traceback; and the handler remains after the session has ended.
    """
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, interrupt)


def _end_other_java(master: str) -> None:
    """End a Java process started for a cluster, or not for one, if that is to change.

    The process keeps the code, settings and environment of the start.
    """
    from pyspark import SparkContext

    running = SparkContext._gateway
    if running is None:
        return
    launched = running.jvm.java.lang.System.getProperty("spark.master") or "local"
    if not (is_local(master) and is_local(launched)):
        stop_spark()


def _gateway(conf: SparkConf, master: str, address: str | None) -> JavaGateway:
    """Start the Java process, or return the gateway of the running one."""
    import pyspark
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return SparkContext._gateway
    home, origin = java_home()
    before = psutil.Process().children()
    # Java's messages go to an unnamed file: they would break the progress lines, and a Java process
    # that holds our output would keep a pipe open after we have ended.
    with tempfile.TemporaryFile() as messages, tempfile.TemporaryDirectory() as empty:
        changes = environment_of(
            home,
            Path(pyspark.__file__).parent,
            Path(empty),
            local=is_local(master),
            address=address,
        )
        try:
            with _environment(changes):
                return launch_gateway(conf, popen_kwargs={"stdout": messages, "stderr": messages})
        except PySparkRuntimeError as error:
            raise UsageError(_no_start(messages, f"{origin} ({home})")) from error
        except KeyboardInterrupt:
            # A Java process that cannot report its port to us does not end by itself.
            _end_launch(before)
            raise


def _end_launch(before: list[psutil.Process]) -> None:
    """End the processes of an interrupted launch."""
    launched = [child for child in psutil.Process().children() if child not in before]
    for child in launched:
        try:
            if "spark" in " ".join(child.cmdline()):
                for process in [*child.children(recursive=True), child]:
                    process.kill()
        except psutil.NoSuchProcess:
            continue  # It ended during this loop.


def _is_no_ctrl_c(record: logging.LogRecord) -> bool:
    # py4j logs a Ctrl-C with the whole traceback before raising it again, and also logs that the
    # interrupted request to Java cannot be undone.
    return not str(record.msg).startswith(OF_CTRL_C)


def _no_start(messages: BinaryIO, java: str) -> str:
    """Return the reason why Java ended before it answered, and the remedy."""
    messages.seek(0)
    said = messages.read().decode(errors="replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # The cause follows after this headline.
    lines = [each for each in lines if each != "Error occurred during initialization of VM"]
    named = [line for line in lines if re.search(r"Exception|Error|error|Could not|Invalid", line)]
    cause = (named[:1] or lines[-1:] or ["it ended without a message"])[0]
    if re.search(r"reserve|heap|memory", cause, re.IGNORECASE):
        remedy = "give the driver less memory, or end other programs"
    else:
        remedy = "try MILLRACE_JAVA=packaged or another JAVA_HOME"
    return f"Spark does not start on {java}: {cause}; {remedy}"


@contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Change the environment of this process within the context; None removes a variable."""
    saved = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        _set(saved)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def settings_on(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change ``spark.sql`` settings of a session within the context, and restore them afterwards.

    A stream keeps the settings with which it starts.
    """
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


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
