"""Settings passed to Spark, environment variables kept from it, and names of its failures."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from pyspark.errors.exceptions.captured import convert_exception

from operators.contract import UsageError
from operators.core.sources import ROOT
from operators.running import spark_session as starting
from operators.running.java import OF_JAVA
from operators.running.spark_errors import known, reason, spark_failures, text_of
from operators.running.spark_session import spark_session
from operators.running.spark_settings import (
    BRIEF,
    MASTERS,
    SETTINGS,
    environment_of,
    settings_of,
    unheeded,
)

ASKED = {
    "driver_memory": "1g",
    "executor_memory": None,
    "scratch": None,
    "brief": False,
    "archive": None,
    "address": None,
}


@pytest.fixture
def surroundings(monkeypatch):
    """An environment in which another Spark, Hadoop and Java are set up."""
    for name in list(os.environ):
        if re.match("(PY)?SPARK_|HADOOP_|YARN_", name) or name in OF_JAVA:
            monkeypatch.delenv(name)
    given = {
        "SPARK_HOME": "/opt/spark", "SPARK_CONF_DIR": "/etc/spark", "SPARK_LOCAL_DIRS": "/full",
        "SPARK_LOCAL_IP": "10.0.0.7", "PYSPARK_PYTHON": "/opt/python",
        "PYSPARK_SUBMIT_ARGS": "--master nowhere", "HADOOP_CONF_DIR": "/etc/hadoop",
        **dict.fromkeys(OF_JAVA, "-XX:+UseG1GC"),
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return given


@pytest.mark.parametrize(
    "master",
    ["local", "local[1]", "local[*]", "spark://10.0.0.1:7077", "spark://head:7077", "yarn",
     "k8s://https://10.0.0.1:6443", "k8s://http://localhost:8001"],
)  # fmt: skip
def test_masters_of_every_kind_are_taken(master):
    assert MASTERS.fullmatch(master)


@pytest.mark.parametrize(
    "master",
    ["", "local[0]", "local[x]", "spark://host", "spark://host:7077/", "yarn-client", "k8s://host",
     "k8s://https://host", "mesos://host:5050"],
)  # fmt: skip
def test_others_are_refused_before_java_starts(master):
    with pytest.raises(UsageError, match=r"k8s://https://host:port; give one of these"):
        spark_session(master)


def test_a_master_that_does_not_answer_is_refused_at_once(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without a listener
        port = taken.getsockname()[1]
        for master in (f"spark://127.0.0.1:{port}", f"k8s://https://127.0.0.1:{port}"):
            with pytest.raises(UsageError, match="no master answers at .*refused; give the addr"):
                spark_session(master)
    with pytest.raises(UsageError, match="no master answers at spark://127.0.0.1:99999"):
        spark_session("spark://127.0.0.1:99999")
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="set HADOOP_CONF_DIR to the folder"):
        spark_session("yarn")


def test_an_archive_must_be_there_and_is_for_clusters(tmp_path):
    with pytest.raises(UsageError, match="local\\[2\\] has none; leave it out"):
        spark_session("local[2]", archive=tmp_path)
    with pytest.raises(UsageError, match="there is no archive .*millrace pack"):
        spark_session("spark://127.0.0.1:1", archive=tmp_path / "none.tar.gz")


def test_every_session_has_the_settings_of_streams_with_python():
    found = settings_of("local[2]", **ASKED)
    assert SETTINGS.items() <= found.items()
    assert found["spark.sql.adaptive.enabled"] == "false"
    assert found["spark.sql.adaptive.streaming.stateless.enabled"] == "false"
    assert found["spark.python.authenticate.socketTimeout"] == "120s"
    assert found["spark.locality.wait"] == "0"
    # Otherwise bytes have 64-bit offsets, and `wire.views` would misread them.
    assert found["spark.sql.execution.arrow.useLargeVarTypes"] == "false"
    assert "spark.pyspark.python" not in found
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.hadoop.fs.defaultFS"] == "file:///"


def test_what_is_asked_for_is_set(tmp_path):
    asked = ASKED | {"executor_memory": "2g", "scratch": tmp_path, "brief": True}
    found = settings_of("spark://h:1", **asked | {"address": "10.0.0.7"})
    assert found["spark.executor.memory"] == "2g"
    assert found["spark.local.dir"] == str(tmp_path)
    assert found["spark.driver.extraJavaOptions"] == BRIEF
    assert found["spark.executor.extraJavaOptions"] == BRIEF
    assert found["spark.driver.host"] == "10.0.0.7"
    # A cluster's settings stay.
    plain = settings_of("k8s://https://h:1", **ASKED)
    unset = {"executor.memory", "executor.extraJavaOptions", "driver.host", "local.dir"}
    assert not {f"spark.{name}" for name in unset} & set(plain)
    assert "spark.hadoop.fs.defaultFS" not in settings_of("yarn", **ASKED)


def test_python_on_executors_finds_our_modules_first(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"mine{os.pathsep}/theirs")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "kernels")
    found = settings_of("local[2]", **ASKED)
    path = found["spark.executorEnv.PYTHONPATH"].split(os.pathsep)
    assert path == [str(ROOT), str(tmp_path / "mine"), "/theirs"]
    assert found["spark.executorEnv.NUMBA_CACHE_DIR"] == str(tmp_path / "kernels")
    assert settings_of("yarn", **ASKED)["spark.executorEnv.PYTHONPATH"] == str(ROOT)
    packed = settings_of("yarn", **ASKED | {"archive": Path("m.tar.gz")})
    assert packed["spark.archives"] == f"{(tmp_path / 'm.tar.gz').as_uri()}#millrace"
    assert packed["spark.executorEnv.PYTHONPATH"] == "millrace:millrace/site-packages"
    assert packed["spark.executorEnv.NUMBA_CACHE_DIR"] == "millrace/kernel-cache"


def test_java_sees_nothing_of_another_spark_on_this_machine(surroundings, tmp_path):
    assert unheeded(local=True) == sorted(surroundings)
    changes = environment_of(Path("/java"), Path("/spark"), tmp_path, local=True)
    ours = {
        "JAVA_HOME": "/java",
        "SPARK_HOME": "/spark",
        "SPARK_CONF_DIR": str(tmp_path),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LAUNCHER_OPTS": BRIEF,
        "PYTHONPATH": None,
    }
    assert changes == dict.fromkeys(surroundings) | ours


def test_java_sees_the_settings_of_a_cluster(surroundings, tmp_path, monkeypatch):
    changes = environment_of(Path("/java"), Path("/spark"), tmp_path, local=False)
    assert not {"SPARK_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_LOCAL_IP"} & set(changes)
    assert changes["SPARK_LOCAL_DIRS"] is None and changes["PYTHONPATH"] is None
    ours = environment_of(Path("/java"), Path("/spark"), tmp_path, local=False, address="10.0.0.8")
    assert ours["SPARK_LOCAL_IP"] == "10.0.0.8"
    monkeypatch.delenv("SPARK_CONF_DIR")
    changes = environment_of(Path("/java"), Path("/spark"), tmp_path, local=False)
    assert changes["SPARK_CONF_DIR"] == str(tmp_path)


def test_executors_have_the_python_that_is_named_for_them(surroundings):
    assert starting._python("spark://h:1") == "/opt/python"
    assert starting._python("local[2]") != "/opt/python"


JAVA = """\
An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: java.lang.IllegalArgumentException: java.net.UnknownHostException: namenode.invalid
\tat org.apache.hadoop.security.SecurityUtil.buildTokenService(SecurityUtil.java:478)
Caused by: java.net.UnknownHostException: namenode.invalid
\t... 42 more
"""


def test_the_reason_is_that_of_the_innermost_cause():
    assert reason(JAVA) == "UnknownHostException: namenode.invalid"
    assert reason("\n nothing of Java.\nmore") == "nothing of Java"
    assert reason("") == "it gives no reason"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ModuleNotFoundError: No module named 'operators'", "has no module operators; install"),
        ('IOException: Cannot run program "/opt/python": error=2', "no program /opt/python; set"),
        ("Python in worker has different version: 3.9 than that in driver: 3.11", "Python on an"
         " executor is 3.9"),
        ("java.io.IOException: No space left on device", "a disk is full"),
        ("java.lang.OutOfMemoryError: Java heap space", "memory is full"),
        ("Command exited with code 137", "executors were killed"),
        ("Reason: All masters are unresponsive! Giving up.", "the cluster's master has ended"),
        ("[Errno 111] Connection refused", "Spark's Java process has ended"),
    ],
)  # fmt: skip
def test_failures_of_the_surroundings_are_known(text, fault):
    line = known(f"a stack\n{text}\n\tat more")
    if text.startswith("[Errno"):
        line = known(text)
    assert fault in line and "; " in line


def test_other_failures_are_left_alone():
    assert known(JAVA) is None
    with pytest.raises(ConnectionError, match="by peer"), spark_failures():
        raise ConnectionResetError("reset by peer")
    with pytest.raises(UsageError, match="Spark failed: Spark's Java process has ended"):
        with spark_failures():
            raise ConnectionRefusedError(111, "Connection refused")


def test_what_is_wrong_may_stand_in_the_causes_alone(spark):
    java = spark.sparkContext._jvm
    cause = java.java.io.IOException("No space left on device")
    error = convert_exception(java.org.apache.spark.SparkException("Task failed", cause))
    assert "space" not in str(error)
    assert reason(text_of(error)) == "IOException: No space left on device"
    with pytest.raises(UsageError, match="^Spark failed: a disk is full"), spark_failures():
        raise error


def test_an_error_that_cannot_say_its_text_is_named():
    class Mute(Exception):
        def __str__(self):
            raise ConnectionRefusedError(111, "Connection refused")

    assert text_of(Mute()).startswith("Mute: ConnectionRefusedError")
