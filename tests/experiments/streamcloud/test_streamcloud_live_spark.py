"""One query by three carriers, as the fifth paper's notebook runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from experiments.streamcloud import live, live_spark, plans
from operators.core.jit import INTERPRETED
from operators.running.cluster import Size
from operators.streamcloud import reference
from tests.covering import on_spark

ROOT = Path(__file__).parents[3]
OF_A_PROCESS = """
import json
import psutil
from dataclasses import asdict
from experiments.streamcloud import live, live_spark
live.MADE_UP_CALLS, live_spark.TRIGGER = 1 << 13, 1_250
runs = [asdict(run) for run in live_spark.outputs()]
left = [each.name() for each in psutil.Process().children(recursive=True)]
print(json.dumps({"runs": runs, "left": left}))
"""


# --- without Spark --------------------------------------------------------------------------------


def no_java(monkeypatch):
    monkeypatch.setenv("MILLRACE_JAVA", "system")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")


def no_memory(monkeypatch):
    monkeypatch.setattr(live_spark, "SIZE", Size(workers=64, memory="900g"))


@pytest.mark.skipif(INTERPRETED, reason="thousands of calls, compiled")
@pytest.mark.parametrize(("without", "why"), [(no_java, "no Java"), (no_memory, "of memory and")])
def test_where_spark_does_not_start_it_says_why(without, why, monkeypatch):
    without(monkeypatch)
    threads, *others = live_spark.outputs()
    assert threads.carrier == "threads" and threads.rows > 1_000 and not threads.refused
    assert [run.carrier for run in others] == ["bounded", "stream"]
    assert all(why in run.refused and not run.digest for run in others)


def test_an_executor_is_killed_in_a_batch_and_not_behind_the_last_one(tmp_path, monkeypatch):
    """Writing the output is slow in the driver: all batches are committed by then."""
    killed = []
    executor = SimpleNamespace(kill=lambda: killed.append(len(list(commits.iterdir()))))
    cluster = SimpleNamespace(executors=lambda: [executor])
    offsets, commits = (tmp_path / "checkpoint" / name for name in ("offsets", "commits"))
    for folder in (offsets, commits):
        folder.mkdir(parents=True)

    def run(batches):
        for batch in range(batches):
            (offsets / str(batch)).touch()
            # In the middle of a batch, unless the batch is over before anybody has looked.
            time.sleep(0 if batches == live_spark.KILLED_BEHIND else 0.2)
            (commits / str(batch)).touch()
        time.sleep(0.2)
        return batches

    first = live_spark.KILLED_BEHIND
    assert live_spark._killing(lambda: run(first), cluster, tmp_path) == (first, None)
    assert not killed
    assert live_spark._killing(lambda: run(first + 2), cluster, tmp_path) == (first + 2, first)
    assert killed == [first]


def test_a_digest_is_that_of_names_types_and_values_in_order():
    columns = {
        "ts": np.array([1, 2]),
        "mean": np.array([0.5, 1.5]),
        "who": np.array(["a", "bc"], object),
    }
    plain = live_spark.digest({"busy": columns})
    assert plain == live_spark.digest(
        {"busy": {name: each.copy() for name, each in columns.items()}}
    )
    others = [
        {"calm": columns},
        {"busy": columns, "calm": {"ts": np.array([], int)}},
        {"busy": columns | {"ts": np.array([2, 1])}},
        {"busy": columns | {"ts": np.array([1.0, 2.0])}},
        {"busy": columns | {"mean": np.array([0.5, np.nextafter(1.5, 2)])}},
        {"busy": columns | {"who": np.array(["ab", "c"], object)}},
        {"busy": dict(reversed(columns.items()))},
        {"busy": {name: each[:1] for name, each in columns.items()}},
    ]
    found = {live_spark.digest(each) for each in others}
    assert len(found) == len(others) and plain not in found


class Executor:
    """A process that may have ended before it is killed."""

    def __init__(self, ended=False):
        self.ended, self.killed = ended, False

    def kill(self):
        if self.ended:
            raise psutil.NoSuchProcess(1)
        self.killed = True


class Cluster:
    """Executors, of which each look takes those of the next list."""

    def __init__(self, *looks):
        self.looks = list(looks)

    def executors(self):
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


def committing(work, executor, batches):
    """Return a run that commits batches, begins one, and waits for the kill of an executor."""

    def run():
        offsets, commits = (work / "checkpoint" / name for name in ("offsets", "commits"))
        for folder in (offsets, commits):
            folder.mkdir(parents=True)
        (commits / "..0.crc").touch()
        for batch in range(batches):
            (commits / str(batch)).touch()
        for batch in range(batches + 1):
            (offsets / str(batch)).touch()
        while batches >= live_spark.KILLED_BEHIND and not executor.killed:
            pass
        return "ran"

    return run


def test_an_executor_is_killed_behind_some_batches_while_the_stream_runs(tmp_path):
    ended, first, second = Executor(ended=True), Executor(), Executor()
    cluster = Cluster([], [ended], [first, second])
    ran, killed = live_spark._killing(committing(tmp_path, first, 3), cluster, tmp_path)
    assert (ran, killed) == ("ran", 3) and first.killed and not second.killed


def test_of_a_stream_that_has_ended_before_none_is_killed(tmp_path):
    executor = Executor()
    run = committing(tmp_path, executor, 2)
    assert live_spark._killing(run, Cluster([executor]), tmp_path) == ("ran", None)
    assert not executor.killed


def test_a_run_that_fails_ends_the_watch(tmp_path):
    def fail():
        raise ValueError("of the run")

    with pytest.raises(ValueError, match="of the run"):
        live_spark._killing(fail, Cluster([Executor()]), tmp_path)


# --- with it --------------------------------------------------------------------------------------


@pytest.mark.full
@on_spark
def test_three_carriers_put_out_the_same_bytes_and_leave_nothing_behind(monkeypatch):
    # In a separate process, because it ends the process's Spark session.
    done = subprocess.run(
        [sys.executable, "-c", OF_A_PROCESS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    runs = {run["carrier"]: run for run in found["runs"]}
    assert list(runs) == ["threads", "bounded", "stream"] and not found["left"]
    # Few calls, because the oracle is slow.
    monkeypatch.setattr(live, "MADE_UP_CALLS", 1 << 13)
    live.made_up_calls.cache_clear()
    asked = plans.query(live.QUERY)
    calls = live.made_up_calls()
    live.made_up_calls.cache_clear()
    streams = {
        name: [list(zip(*(column.tolist() for column in calls.table(name).values()), strict=True))]
        for name in ("calls", "suspects")
    }
    rows = np.array(reference.run(asked, streams)["busy"])
    (output,) = asked.outputs
    names = ["ts", *(name for name in output.schema if name != "ts")]
    expected = {"busy": dict(zip(names, rows.T, strict=True))}
    assert {run["rows"] for run in runs.values()} == {len(rows)}
    assert {run["digest"] for run in runs.values()} == {live_spark.digest(expected)}
    assert live_spark.KILLED_BEHIND <= runs["stream"]["killed"] < runs["stream"]["batches"]
