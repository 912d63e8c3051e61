"""Millrace's settings of Spark, each with the reason, and the environment of Spark's Java process.

Every session has the same settings for every purpose: a batch job of generators, Python on
executors, a stream. A user of a session who needs another value of a `spark.sql` setting sets it on
the session (``spark.conf.set``). Further settings that a cluster needs (an image, a queue, more
memory, an event log) come from ``spark-defaults.conf`` in the folder ``SPARK_CONF_DIR``, where
Spark looks for them. Millrace's settings take precedence.

A local Spark is isolated from the machine's settings for another Spark, for Hadoop or for Java,
such as a default file system, a classpath or a garbage collector.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from operators.contract import UsageError
from operators.core.sources import ROOT, cache_folder
from operators.running.java import OF_JAVA

MASTERS = re.compile(
    r"local|local\[(\*|[1-9][0-9]*)\]|spark://[^\s:/]+:[0-9]+|yarn|k8s://https?://[^\s:/]+:[0-9]+"
)
THESE = "local, local[N], local[*], spark://host:port, yarn and k8s://https://host:port"
# Two data sets of 100,000 rows generated in parallel take 13.5 to 14.7 s with these options, 25.1
# to 27.3 without; of 10,000,000 rows 78 s with them and 60 without (two cores of an Intel Xeon
# "Sapphire Rapids", three runs of the first, one of the second).
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# The folder name of an archive of `operators.running.pack` in an executor's working folder.
ARCHIVE = "millrace"
KERNELS, PACKAGES = "kernel-cache", "site-packages"  # folders in it
# On a cluster these variables are used: the location of the settings, and this machine's address.
OF_CLUSTERS = (
    "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME", "HADOOP_CONF_DIR", "YARN_CONF_DIR",
)  # fmt: skip
# Settings of Spark that queries change while they run.
PARTITIONS = "spark.sql.shuffle.partitions"
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
# Adaptive planning after each finished stage; stateless streams have a separate switch.
ADAPTIVE = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.streaming.stateless.enabled")
# The class that writes the files of a checkpoint, and the package of such classes.
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"

SETTINGS = {
    "spark.app.name": "millrace",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # By default Java receives the source line of each column, for error messages of a plan: half of
    # the 5,000 to 9,000 calls for a generator's columns, and a fifth of a small set's time.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Every plan sets the number of partitions: adaptive planning changes nothing, and takes about
    # two seconds of a small set's 15 to 20. Stateless streams have a separate switch; there the
    # number of partitions is that of the instances.
    **dict.fromkeys(ADAPTIVE, "false"),
    PARTITIONS: "8",
    # A Python worker imports numba before it answers. On busy cores that takes longer than the 15 s
    # that Spark waits by default.
    "spark.python.authenticate.socketTimeout": "120s",
    # By default a task waits 3 s for a core next to its data, and a task with state for the
    # executor that had it last. Shuffled rows lie on every executor, so the wait gains nothing.
    "spark.locality.wait": "0",
    # By default Spark asks for the shuffle files of a lost executor three more times, 5 s apart,
    # before it repeats the stage that made them. One second is enough for a lost packet.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    # Rows of streams are few and large, up to 16 MB: the byte limit bounds a batch of Arrow. The
    # row limit remains at Spark's 10,000, for rows of ordinary tables.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # Data that Python parses itself has 32-bit offsets (`streamcloud.carriers.spark.wire`),
    # whatever a cluster's settings say.
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # By default a checkpoint file gets a second file with a checksum, although every file of a
    # local folder has one anyway. And where Spark renames files by default, Hadoop starts a program
    # that looks for links (readlink) eight times per file, 32 times per batch; the rename is the
    # same. Without both, the logs of a batch take 25 ms instead of 130 (two busy cores of an AMD
    # EPYC, Zen 3).
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    FILE_MANAGER: f"{CHECKPOINTING}.FileSystemBasedCheckpointFileManager",
    # An import collects all pieces of a data set, which the driver holds anyway; Spark would stop
    # it at 1 GB.
    "spark.driver.maxResultSize": "0",
    # Stateful operators in Python support only this one.
    STATE_STORE: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
"""The settings of every session."""


def check_master(master: str) -> None:
    """Refuse an invalid master.

    Raises
    ------
    UsageError
        With the valid forms.
    """
    if MASTERS.fullmatch(master) is None:
        raise UsageError(f"Spark master {master!r} is none of {THESE}; give one of these")


def is_local(master: str) -> bool:
    """Return whether Spark runs in one process on this machine."""
    return master.startswith("local")


def settings_of(
    master: str,
    *,
    driver_memory: str,
    executor_memory: str | None,
    scratch: Path | None,
    brief: bool,
    archive: Path | None,
    address: str | None,
) -> dict[str, str]:
    """Return all settings of a session; parameters as for `spark_session`.

    Parameters
    ----------
    address
        The address at which executors of a `spark://` master reach this process.

    Returns
    -------
    dict of str to str
        Values by Spark's names.
    """
    found = SETTINGS | {"spark.master": master, "spark.driver.memory": driver_memory}
    if is_local(master):
        address = "127.0.0.1"
    if address is not None:
        found["spark.driver.host"] = found["spark.driver.bindAddress"] = address
    if master != "yarn":
        # A path without a scheme is a local file, whatever the machine's Hadoop says. YARN keeps
        # files of its own in the file system that the cluster shares.
        found["spark.hadoop.fs.defaultFS"] = "file:///"
    if executor_memory is not None:
        found["spark.executor.memory"] = executor_memory
    if brief:
        # Executors live no longer than this process.
        found["spark.driver.extraJavaOptions"] = found["spark.executor.extraJavaOptions"] = BRIEF
    if scratch is not None:
        found["spark.local.dir"] = str(scratch)
    return found | _code(master, archive)


def _code(master: str, archive: Path | None) -> dict[str, str]:
    """Return the settings by which Python on executors finds our modules and compiled kernels."""
    if archive is not None:
        # Unpacked in an executor's working folder, which is also that of the executor's Python.
        shipped = {"spark.archives": f"{archive.absolute().as_uri()}#{ARCHIVE}"}
        path = f"{ARCHIVE}{os.pathsep}{ARCHIVE}/{PACKAGES}"
        kernels = f"{ARCHIVE}/{KERNELS}"
    else:
        # Executors on this machine see the same folders as this process; others must have folders
        # of the same paths. Ours come first: a user's folder may have a module with the name of one
        # of ours.
        shipped = {}
        others = os.environ.get("PYTHONPATH", "") if is_local(master) else ""
        folders = [ROOT, *(Path(each).absolute() for each in others.split(os.pathsep) if each)]
        path = os.pathsep.join(map(str, folders))
        kernels = str(cache_folder().absolute())
    return shipped | {
        "spark.executorEnv.PYTHONPATH": path,
        "spark.executorEnv.NUMBA_CACHE_DIR": kernels,
    }


def unheeded(*, local: bool) -> list[str]:
    """Return the variables of our environment that are meant for another Spark, Hadoop or Java.

    Parameters
    ----------
    local
        Whether all of Spark runs on this machine. Otherwise the cluster's settings are used.
    """
    named = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", *OF_JAVA)
    found = {name for name in os.environ if name in named or re.match("(PY)?SPARK_", name)}
    return sorted(found if local else found - set(OF_CLUSTERS))


def environment_of(
    home: Path, spark: Path, empty: Path, *, local: bool, address: str | None = None
) -> dict[str, str | None]:
    """Return the differences between Java's environment and that of this process.

    Parameters
    ----------
    home, spark
        The folders of Java and of Spark.
    empty
        A folder without settings of Spark.
    local
        As for `unheeded`.
    address
        The address of this machine, as other machines see it.

    Returns
    -------
    dict of str to (str or None)
        Values by name; None for a variable to remove.
    """
    found: dict[str, str | None] = dict.fromkeys(unheeded(local=local))
    # `_code` sets the module path.
    found |= {"JAVA_HOME": str(home), "SPARK_HOME": str(spark), "PYTHONPATH": None}
    # Options of a separate Java, which prints the command for the other one.
    found["SPARK_LAUNCHER_OPTS"] = BRIEF
    address = "127.0.0.1" if local else address
    if address is not None:
        # Otherwise Java resolves the name of this machine, and some machines' names have no
        # address.
        found["SPARK_LOCAL_IP"] = address
    if found.get("SPARK_CONF_DIR", os.environ.get("SPARK_CONF_DIR")) is None:
        found["SPARK_CONF_DIR"] = str(empty)
    return found
