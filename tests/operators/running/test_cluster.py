"""A cluster on this machine: start, remote use, error reports, and shutdown.

The driver is a separate process in another folder. The executors have an archive and no path to the
checkout, so that their imports and compiled kernels must come from the archive.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import psutil
import pytest

from datasets.imported import import_dataset
from experiments.cli import main
from operators.contract import UsageError
from operators.core.sources import ROOT
from operators.running import cluster as clusters
from operators.running import standing_cluster
from operators.running.cluster import Daemon, Size, registered
from tests.covering import taken
from tests.generating import ROWS, SEED, SMART_METER

SAMPLES = Path(__file__).parents[2] / "datasets" / "samples"
PARTITIONS = taken((1, 2, 5), (2, 5))

DRIVER = """
import json, os, sys
from pathlib import Path
import pyarrow as pa
from datasets.generate import generate
from datasets.imported import import_dataset
from operators.contract import UsageError
from operators.running import spark_session as starting
from operators.running.spark_errors import spark_failures

master, archive, samples, folder, rows, seed, partitions = json.loads(sys.argv[1])
folder = Path(folder)
spark = starting.spark_session(master, brief=True, archive=Path(archive))
said = {}

def looked(batches):
    import os, sys
    from numba.core.caching import FunctionCache
    from numba.core.dispatcher import Dispatcher
    from operators.streamcloud.coding import Coding, texts_of
    from operators.streamcloud.compiler import compile_query
    from operators.streamcloud.parts import Parts
    from operators.streamcloud.queries import query_of
    from operators.streamcloud.sources import nothing_to_send
    import gc
    for batch in batches:
        query = query_of("map")
        plan = compile_query(query, "subquery-cluster", 2)
        Parts(plan, nothing_to_send(plan), Coding(texts_of(query))).compile()
        kernels = [e for e in gc.get_objects() if issubclass(type(e), Dispatcher)
                   and issubclass(type(e._cache), FunctionCache)]
        seen = {
            "folder": os.getcwd(),
            "files": sorted({m.__file__ for n, m in list(sys.modules.items())
                             if n.partition(".")[0] in ("operators", "datasets")}),
            "hits": sum(sum(e.stats.cache_hits.values()) for e in kernels),
            "misses": sum(sum(e.stats.cache_misses.values()) for e in kernels),
            "cache": sorted({e._cache.cache_path for e in kernels}),
        }
        import json
        yield pa.RecordBatch.from_pydict({"seen": [json.dumps(seen)]})

parts = spark.range(0, 2, 1, 2)
said["executors"] = [json.loads(row.seen) for row in
                     parts.mapInArrow(looked, "seen string").collect()]
said["generated"] = [
    generate("smart_meter", rows, seed, folder / f"made-{n}", master, n)["digest"]
    for n in partitions
]
said["imported"] = [
    import_dataset(samples + "/london.yaml", folder / f"read-{n}", master=master, partitions=n)
    ["digest"]
    for n in partitions
]

def refused(function):
    try:
        with spark_failures():
            function()
    except UsageError as error:
        return str(error)

def absent(batches):
    import a_module_that_is_nowhere
    yield from batches

said["refused"] = [refused(lambda: parts.mapInArrow(absent, "id long").collect())]
spark.sparkContext.pythonExec = "/nowhere/python"
said["refused"] += [refused(lambda: parts.mapInArrow(lambda each: each, "id long").collect())]
starting.stop_spark()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    """The archive, with the kernels of one query, packed by the command."""
    path = tmp_path_factory.mktemp("packed") / "millrace.tar.gz"
    packed = subprocess.run(
        [sys.executable, "-m", "experiments.cli", "pack", "--output", str(path), "--query", "map",
         "--json"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=250,
    )  # fmt: skip
    assert json.loads(packed.stdout)["kernels"] > 1
    return path


@pytest.fixture(scope="module")
def said(cluster, archive, tmp_path_factory) -> dict:
    """The report of a driver on the cluster."""
    folder = tmp_path_factory.mktemp("driver")
    asked = (cluster.master, str(archive), str(SAMPLES), str(folder), ROWS, SEED, PARTITIONS)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DRIVER, json.dumps(asked)],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) | {"at": str(folder)}


def test_executors_have_their_code_from_the_archive(said):
    assert len(said["executors"]) == 2
    for each in said["executors"]:
        own = Path(each["folder"])
        assert not own.is_relative_to(ROOT) and not own.is_relative_to(said["at"])
        assert len(each["files"]) > 30
        assert all(Path(file).is_relative_to(own / "millrace") for file in each["files"])


def test_executors_find_every_kernel_compiled(said):
    for each in said["executors"]:
        assert each["hits"] > 1 and each["misses"] == 0
        assert [Path(each["folder"], path) for path in each["cache"]] == [
            Path(each["folder"], "millrace", "kernel-cache")
        ]


def test_generated_rows_do_not_depend_on_cluster_or_partitions(said):
    assert said["generated"] == [SMART_METER] * len(PARTITIONS)


def test_imported_files_are_the_same_bytes_as_without_a_cluster(said, tmp_path):
    here = import_dataset(SAMPLES / "london.yaml", tmp_path / "here")
    assert said["imported"] == [here["digest"]] * len(PARTITIONS)
    for count in PARTITIONS:
        for file in sorted((tmp_path / "here").iterdir()):
            there = Path(said["at"], f"read-{count}", file.name)
            assert there.read_bytes() == file.read_bytes(), there


def test_what_is_wrong_on_executors_is_one_line(said):
    module, python = said["refused"]
    assert "no module a_module_that_is_nowhere; install requirements.lock there" in module
    assert "no program /nowhere/python; set PYSPARK_PYTHON" in python
    assert all("\n" not in line for line in said["refused"])


# --- the cluster itself --------------------------------------------------------------------------

GUARDED = """
import json, sys, time
from operators.running.cluster import LoopbackCluster, Size
with LoopbackCluster(Size(1)) as cluster:
    print(json.dumps([each.pid for each in cluster.daemons]), flush=True)
    time.sleep(300)
"""


def gone(pids: list[int], seconds: float = 30.0) -> bool:
    """Wait until all of some processes have ended."""
    end = time.monotonic() + seconds
    while (left := [pid for pid in pids if runs_now(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    return not left


def runs_now(pid: int) -> bool:
    return psutil.pid_exists(pid) and clusters.runs(psutil.Process(pid))


def test_a_cluster_ends_with_the_program_that_has_it(cluster):
    with subprocess.Popen(
        [sys.executable, "-c", GUARDED], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as program:
        pids = json.loads(program.stdout.readline())
        assert len(pids) == 2 and all(map(runs_now, pids))
        program.send_signal(signal.SIGKILL)
    assert gone(pids)


def test_the_commands_start_show_and_end_a_cluster(cluster, tmp_path, capsys):
    folder = tmp_path / "cluster"
    told = ["--folder", str(folder)]
    assert main(["cluster", "up", "--workers", "1", "--port", "0", "--json", *told]) == 0
    up = json.loads(capsys.readouterr().out)
    pids = [each["pid"] for each in up["processes"]]
    try:
        assert up["ready"] and up["workers"]["registered"] == 1
        assert up["master"].startswith("spark://127.0.0.1:")
        assert main(["cluster", "up", *told]) == 2
        assert "a cluster runs already at spark://127.0.0.1:" in capsys.readouterr().err
        assert main(["cluster", "status", *told]) == 0
        assert "1 of 1 registered" in capsys.readouterr().out
        psutil.Process(pids[1]).kill()
        assert gone(pids[1:])
        assert main(["cluster", "status", *told]) == 1
        said = capsys.readouterr().out
        assert "has ended" in said and "not ready" in said
    finally:
        assert main(["cluster", "down", *told]) == 0
    assert gone(pids) and not folder.exists()
    capsys.readouterr()
    assert main(["cluster", "status", *told]) == 2
    assert "start one with 'millrace cluster up'" in capsys.readouterr().err


def test_a_start_that_was_killed_leaves_nothing_that_down_cannot_end(tmp_path, monkeypatch, capsys):
    """Daemons here are any processes; the command is killed before the master has an address."""
    folder, started = tmp_path / "cluster", []

    def killed(self, folder, launch, note):
        folder.mkdir()
        note()
        for name in ("master", "worker-1"):
            pid = launch(["sleep", "60"], dict(os.environ), folder, folder / f"{name}.log")
            self.daemons.append(Daemon(name, pid, psutil.Process(pid).create_time()))
            started.append(pid)
            note()
        # The remains of a process that is killed at this point: nothing after this runs.
        shutil.copytree(folder, tmp_path / "left")
        self.daemons = []
        raise KeyboardInterrupt

    monkeypatch.setattr(clusters.LoopbackCluster, "start", killed)
    with pytest.raises(KeyboardInterrupt):
        standing_cluster.up(folder, Size(1), 0)
    left = ["--folder", str(tmp_path / "left")]
    assert all(map(runs_now, started))
    assert main(["cluster", "status", *left]) == 1
    with pytest.raises(UsageError, match=f"runs already at {tmp_path}/left"):
        standing_cluster.up(tmp_path / "left", Size(1), 0)
    assert main(["cluster", "down", *left]) == 0
    assert gone(started)


def test_two_workers_are_registered_on_loopback_only(cluster):
    workers = registered(cluster.page)
    assert len(workers) == 2 and {each["host"] for each in workers} == {"127.0.0.1"}
    for daemon in cluster.daemons:
        listening = [
            each for each in daemon.process().net_connections() if each.status == psutil.CONN_LISTEN
        ]
        assert listening and {each.laddr.ip for each in listening} <= {
            "127.0.0.1", "::ffff:127.0.0.1",
        }  # fmt: skip


def test_a_port_that_is_taken_is_refused(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = ["--folder", str(tmp_path / "cluster"), "--port", port]
        assert main(["cluster", "up", *told]) == 2
    said = capsys.readouterr().err
    assert f"port {port} of 127.0.0.1 cannot be had" in said and "0 for one that is free" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_else_is_left_alone(tmp_path, capsys):
    (tmp_path / "note").write_text("mine")
    assert main(["cluster", "up", "--folder", str(tmp_path)]) == 2
    assert "has something else in it" in capsys.readouterr().err
    assert main(["cluster", "down", "--folder", str(tmp_path)]) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["note"]
    below = ["--folder", str(tmp_path / "note" / "cluster"), "--port", "0"]
    assert main(["cluster", "up", *below]) == 2
    assert "cluster: cannot be written: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("state", ["", "{}", '{"master": "", "daemons": [7]}', "[]"])
def test_what_is_not_known_of_a_cluster_is_no_traceback(tmp_path, capsys, state):
    (tmp_path / standing_cluster.STATE).write_text(state)
    for action in ("up", "status", "down"):
        assert main(["cluster", action, "--folder", str(tmp_path)]) == 2
        assert "cluster.json is not as it was written; end what runs" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["cluster.json"]


def test_a_cluster_that_ends_at_once_says_why(tmp_path, monkeypatch, capsys):
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'Error: java.lang.Error: no luck'\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setattr(clusters, "java_home", lambda: (tmp_path / "java", "a broken Java"))
    assert main(["cluster", "up", "--port", "0", "--folder", str(tmp_path / "cluster")]) == 2
    said = capsys.readouterr().err
    assert "the master of the cluster has ended" in said and "no luck" in said
    assert not (tmp_path / "cluster").exists()


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (Size(0), "0 workers of 1 cores; give 1 to 64"),
        (Size(1, 0), "1 workers of 0 cores; give 1 to 64 workers of 1 to 1024 cores"),
        (Size(1, 1, "100m"), "memory of 100m for a worker; give 512m or more"),
        (Size(1, 1, "1023m"), "memory of 1023m for a worker, and an executor asks for 1g; give 1g"),
        (Size(1, 1, "much"), "memory of much for a worker"),
        (Size(64, 1, "900g"), "takes .* GiB of memory and .* are free; take fewer workers"),
    ],
)
def test_sizes_that_cannot_be_are_refused(tmp_path, size, message):
    with pytest.raises(UsageError, match=message):
        standing_cluster.up(tmp_path / "cluster", size, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_process_of_the_same_number_is_not_taken_for_ours():
    own = psutil.Process()
    assert Daemon("x", own.pid, own.create_time()).process() == own
    assert Daemon("x", own.pid, own.create_time() - 5).process() is None


def test_an_archive_is_the_same_bytes_each_time_and_holds_text(archive, tmp_path):
    with tarfile.open(archive) as opened:
        names = opened.getnames()
        assert names == sorted(names)
        assert "operators/streamcloud/instance.py" in names
        assert {name.partition("/")[0] for name in names} == {
            "datasets", "kernel-cache", "operators",
        }  # fmt: skip
        assert not [name for name in names if name.endswith(".pyc")]
        member = opened.getmember("operators/contract.py")
        assert (member.mtime, member.uid, member.uname) == (1, 0, "")
        text = opened.extractfile(member).read()
    assert text == (ROOT / "operators" / "contract.py").read_bytes()
