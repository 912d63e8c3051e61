"""The bench of queries on Spark: marks, notes and comparisons; runs are rows."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import families
from experiments.families.micro_batches import bench, session, spent
from experiments.families.micro_batches import given as files
from experiments.families.micro_batches.columns import WHOLE
from experiments.families.micro_batches.marks import Commits
from experiments.families.micro_batches.outputs import compared
from experiments.families.streamcloud.expected import found_by_one
from experiments.families.streamcloud.streams import bench_query, streams_of
from experiments.records import columns, quantities
from experiments.timing import machine, run_row
from experiments.timing.bench import Request
from operators.contract import UsageError
from operators.running import descendants
from operators.running.run_threads import RunFailed, TimedOut
from operators.streamcloud.instance import Instance
from operators.streamcloud.queries import QUERIES
from operators.streamcloud.rows import most_tuples
from tests.covering import on_spark

SMALL = {"query": "few-keys", "density": 4, "trigger": 600, "batches": 2}
PURPOSE = {
    **dict.fromkeys(("machine", "key", "profile", "size", "group", "provenance"), "any"),
    **dict.fromkeys(("repetition", "round"), 1),
    "phase": WHOLE,
    "usual_fraction": 0.7,
    "started": 1,
    "rate_fraction": None,
}


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "trigger", "cores", "files_of", "chunk"),
    [
        ("few-keys", 100_000, 2, 2, 50_000),
        ("few-keys", 100_000, 1, 1, 100_000),
        ("few-keys", 101, 2, 2, 50),
        ("product", 100_000, 2, 1, 50_000),
        ("eight-operators", 90_000, 2, 1, 30_000),
        ("eight-operators", 90_000, 8, 3, 10_000),
    ],
)
def test_a_trigger_has_a_file_a_core(query, trigger, cores, files_of, chunk, monkeypatch):
    monkeypatch.setattr(files.pinning, "cores", lambda: cores)
    cut = files.cut_of(bench_query(QUERIES[query], 1, 20), trigger)
    assert (cut.files, cut.chunk) == (files_of, chunk)
    assert trigger - cut.files * cut.inputs < cut.trigger <= trigger


def test_no_chunk_is_larger_than_a_row_may_be(monkeypatch):
    monkeypatch.setattr(files.pinning, "cores", lambda: 2)
    most = most_tuples(4)
    cut = files.cut_of(bench_query(QUERIES["few-keys"], 1, 20), 4 * most + 2)
    assert (cut.files, cut.chunk <= most) == (6, True)


def test_files_are_written_once_and_rivals_have_the_same_and_a_later_one():
    place = ("few-keys", 4, 20, None)
    cut = files.cut_of(streams_of(*place).query, 600)
    first = files.given(place, cut, 3)
    assert files.given(place, cut, 3) is first
    chunks = sorted(file.name for file in first.chunks.glob("[!_]*"))
    table = sorted(first.tables["numbers"].iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert [file.name for file in table] == [*chunks, "later.parquet"]
    assert len(chunks) == 3 * cut.files


# --- what is marked -------------------------------------------------------------------------------


def test_each_commit_is_marked_once_and_in_order(tmp_path):
    with Commits(tmp_path) as seen:
        for number in range(3):
            time.sleep(0.02)
            (tmp_path / str(number)).touch()
            waited = time.monotonic()
            while len(seen.marks) <= number and time.monotonic() - waited < 30:
                time.sleep(0.001)
        assert len(seen.marks) == 3
        (tmp_path / "5").touch()
        # The last commit arrives just as everything ends.
        (tmp_path / "3").touch()
    assert len(seen.marks) == 4
    times = [each.at for each in seen.marks]
    assert times == sorted(times) and times[1] - times[0] > 5e6


def test_what_descendants_use_is_counted_and_not_lost_when_they_end():
    burn = "import time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True)\ninput()"
    before = descendants.used()
    # The busy process is a grandchild whose parent waits for it.
    nested = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\n"
        "print(2, flush=True)\ninput()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", nested], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "1\n"
        running = descendants.used().since(before)
        # Linux counts in ticks of a hundredth of a second, user and system time separately, each
        # truncated, and transfers them when a process is waited for. Sums may differ by several
        # ticks.
        ticks = 0.05
        assert running.others >= 0.3 - ticks > running.java
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "2\n"
        assert descendants.used().since(before).others >= running.others - ticks
    finally:
        child.communicate("\n", timeout=30)


def test_what_descendants_use_is_no_neighbour_s(monkeypatch):
    monkeypatch.setattr(machine, "_with_descendants", False)
    monkeypatch.setattr(machine.descendants, "used", lambda: descendants.Used(1e6, 2e6))
    alone = machine._counters().own
    machine.count_descendants()
    assert machine._counters().own - alone == pytest.approx(3e6, rel=1e-3)
    assert not machine._before


# --- what is noted --------------------------------------------------------------------------------


@pytest.fixture
def task(monkeypatch):
    """Return a function that sets the batch number of a task."""
    pyspark = pytest.importorskip("pyspark")
    told = SimpleNamespace(batch="0")
    context = SimpleNamespace(getLocalProperty=lambda name: told.batch)
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: context)
    monkeypatch.setattr(spent, "_plain", None)
    monkeypatch.setattr(Instance, "step", lambda self, rows: busy(0.05))
    return told


def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def records():
    for number in range(3):
        busy(0.1)  # not part of the step
        yield number


def step(given):
    for each in given:
        Instance.step(None, [])
        busy(0.02)
        yield each, "out"
        yield each, "again"


@pytest.mark.timed
def test_a_timed_step_hands_on_all_and_notes_what_it_used(tmp_path, task):
    timed = spent.Around(str(tmp_path))(step)
    found = []
    for each in timed(records()):
        busy(0.03)  # spent in Arrow
        found.append(each)
    assert found == [(number, way) for number in range(3) for way in ("out", "again")]
    noted = spent.spent(tmp_path)
    assert noted.tasks == 1
    assert 0.15 <= noted.kernel < 0.2
    assert 0.2 <= noted.step - noted.kernel + 0.15 < 0.3


def test_batches_from_one_on_are_added_up_and_a_job_has_none(tmp_path, task):
    timed = spent.Around(str(tmp_path))(lambda given: iter(given))
    for task.batch in ("0", "1", "2"):
        list(timed(iter([1])))
    assert (spent.spent(tmp_path, 1).tasks, spent.spent(tmp_path, 0).tasks) == (2, 3)
    task.batch = None
    other = tmp_path / "job"
    other.mkdir()
    list(spent.Around(str(other))(lambda given: iter(given))(iter([1])))
    assert spent.spent(other).tasks == 1
    assert [json.loads(file.read_text())["batch"] for file in other.iterdir()] == [None]


# --- what is compared -----------------------------------------------------------------------------


def outputs_of(rows):
    return {"counted": dict(zip(("ts", "key", "tuples"), np.array(rows, dtype=np.int64).T,
                                strict=True))}  # fmt: skip


@pytest.fixture(scope="module")
def few():
    """Return streams, their rows by one instance, and the digests."""
    from operators.streamcloud.run import run_streamcloud

    streams = streams_of("few-keys", 4, 20, None)
    words = streams.first(400)["numbers"][0]
    given = {"ts": words[0], "key": words[3]}
    found = run_streamcloud(streams.query, {"numbers": given}, backend="serial")["counted"]
    rows = list(zip(*(found[name].tolist() for name in ("ts", "key", "tuples")), strict=True))
    return streams, rows, found_by_one(streams, 400, True)


def problem_of(few, rows, in_order):
    streams, _, wanted = few
    return compared(streams.query, streams.coding, outputs_of(rows), in_order, wanted).problem


def test_rows_must_be_those_of_one_instance_and_ours_in_its_order(few):
    _, rows, _ = few
    assert len(rows) > 100
    assert problem_of(few, rows, True) is None
    turned = [rows[1], rows[0], *rows[2:]]
    assert problem_of(few, turned, False) is None
    assert "other rows" in problem_of(few, turned, True)
    for in_order in (True, False):
        assert f"{len(rows) - 1} rows, and" in problem_of(few, rows[1:], in_order)
        doubled = [rows[1], *rows[1:]]
        assert "other rows" in problem_of(few, doubled, in_order)
        time_, key, count = rows[5]
        wrong = [*rows[:5], (time_, key, count + 1), *rows[6:]]
        assert "other rows" in problem_of(few, wrong, in_order)


# --- a run ----------------------------------------------------------------------------------------


@pytest.fixture
def practised(monkeypatch):
    """Skip the practice runs."""
    monkeypatch.setattr(bench.MicroBatchBench, "_practise", lambda self, spark, limit: None)


def ready(variant, **more):
    return families.ready("micro_batches", variant, {**SMALL, **more})


def test_kernels_are_compiled_without_java(monkeypatch):
    def refuse():
        raise AssertionError("Java was started")

    monkeypatch.setattr(session, "session", refuse)
    made = ready("stream")
    made.warm_up(WHOLE)
    keys = {
        ready("stream", **more).kernels_key(WHOLE)
        for more in ({}, {"instances": 1}, {"strategy": "query-cluster"}, {"query": "relay"})
    }
    assert len(keys) == 4
    assert made.kernels_key(WHOLE) == ready("bounded").kernels_key(WHOLE)
    assert ready("spark-window").kernels_key(WHOLE) not in keys


def test_settings_and_rates_that_mean_nothing_are_refused():
    with pytest.raises(UsageError, match="window is no setting of query few-keys"):
        ready("stream", window=8)
    with pytest.raises(UsageError, match="has no setting 'instances'"):
        ready("spark-window", instances=2)
    with pytest.raises(
        UsageError, match="^micro_batches: runs are closed loops; leave the rate out"
    ):
        ready("stream").run(Request(1.0, offered_tps=1e6))


@on_spark
@pytest.mark.parametrize("variant", ["stream", "bounded", "spark-window"])
def test_a_run_is_a_row_of_what_was_measured(spark, practised, variant):
    made = ready(variant)
    row = columns.validate({**run_row.row(made, Request(0.1, phase=WHOLE)), **PURPOSE})
    assert row["valid"] and row["outputs"] > 100
    batched, ours = variant != "bounded", variant != "spark-window"
    assert row["measured_tuples"] == (2 if batched else 3) * made.cut.trigger
    assert row["tuples"] == 3 * made.cut.trigger
    assert row["throughput_tps"] == row["measured_tuples"] / row["measured_seconds"]
    assert (row["batch_ms"] is not None) == batched
    assert row["measured_seconds"] < row["seconds"] or not batched
    assert row["java_seconds"] > 0 and row["task_seconds"] > 0
    assert (row["kernel_seconds"] is not None) == ours
    # The counts of the open windows, at least; a batch job keeps none.
    assert (row["state_bytes"] is not None) == batched
    assert not batched or row["state_bytes"] > 8 * 10
    if ours:
        assert 0 < row["kernel_seconds"] < row["in_step_seconds"] < row["python_seconds"]
        # In each batch, one file for each core and two instances of the one stage; small files of a
        # job share a task.
        assert row["tasks"] == 2 * (made.cut.files + 2) if batched else row["tasks"] > 2
        shares = [
            quantities.quantity(f"spark_{name}_share").value(row)
            for name in ("kernel", "python", "arrow", "planning", "idle")
        ]
        assert min(shares) >= 0 and sum(shares) == pytest.approx(1.0, abs=0.02)


@on_spark
def test_a_wrong_output_is_no_measurement(spark, practised, monkeypatch):
    made = ready("bounded")
    run = made.variant.operations.run

    def lossy(session_, work):
        ran = run(session_, work)
        lost = {
            name: {column: values[:-1] for column, values in columns_.items()}
            for name, columns_ in ran.read().items()
        }
        return ran._replace(read=lambda: lost)

    monkeypatch.setattr(
        made, "variant", SimpleNamespace(**{
            **{name: getattr(made.variant, name) for name in ("id", "family", "parameters")},
            "operations": made.variant.operations._replace(run=lossy),
        }),
    )  # fmt: skip
    row = made.run(Request(0.1, phase=WHOLE))
    assert not row["valid"] and "rows, and one instance has" in row["invalid_reason"]


@on_spark
def test_what_takes_too_long_or_fails_is_ended_and_said(spark):
    from pyspark.sql import functions as F

    began = time.monotonic()
    with pytest.raises(TimedOut, match="^Spark took longer than 1 s"):
        with session.ended_after(spark, 1.0):
            spark.range(0, 1 << 50).agg(F.sum(F.sqrt("id"))).collect()
    assert time.monotonic() - began < 20
    with pytest.raises(RunFailed, match="^Spark: .*DIVIDE_BY_ZERO"):
        with session.ended_after(spark, 60.0):
            spark.range(1).select(F.expr("1 DIV id")).collect()


def test_fewer_batches_than_triggers_are_no_run(monkeypatch):
    made = ready("stream")
    with pytest.raises(RunFailed, match="^2 batches were committed, and not 3$"):
        made._measured("first", ["one", "two"], "last")
    assert made._measured("first", ["one", "two", "three", "more"], "last") == [
        "one",
        "two",
        "three",
    ]
    assert ready("bounded")._measured("first", [], "last") == ["first", "last"]
