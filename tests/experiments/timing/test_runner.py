"""A group is measured point by point; whatever ends it, finished rows stay and it goes on."""

from __future__ import annotations

import pytest

from experiments import families, series
from experiments.families.gate import bench as gate_bench
from experiments.records import results
from experiments.records.results import partial_path
from experiments.timing import machine, runner, threads
from experiments.timing.crew import RunFailed, Stuck
from experiments.timing.runner import Lengths
from experiments.timing.task import Group, Task
from operators import registry

pytestmark = pytest.mark.usefixtures("tiny_runs")

LENGTHS = Lengths(0.01, 0.02, 0.02, 60.0, open_fraction=0.1, coarse=True)
COMMON = {"data": "digest"}


def task_of(one, fractions=(0.1,), family="aggregation", **given):
    runs = {name: given.pop(name) for name in ("control", "probes", "phases") if name in given}
    variant, own = series.parse(one)
    declared = registry.variant(family, variant)
    settings = registry.family(family).resolve(declared, {**given, **own})
    return Task(variant, settings, fractions, **runs)


def group_of(*tasks, family="aggregation"):
    return Group(f"{family}-tiny", family, None, tasks, (("paper", "8"),))


TINY = group_of(task_of("mqlf", inputs=1), task_of("mqlf", inputs=2, control=True))
WHOLE = [(1, "closed"), (1, "open"), (2, "closed"), (2, "control"), (2, "open")]


@pytest.fixture
def measure(tmp_path, meters):
    """Measure a group into one file and return its rows."""

    def go(group=TINY, common=COMMON, data=True):
        def bench_of(task):
            given = {**task.settings, **({"dataset": meters} if data else {})}
            return families.ready(group.family, task.variant, given)

        purpose = {"profile": "quick", "repetition": 1}
        path = runner.run_group(
            group, bench_of, LENGTHS, common, purpose, lambda task: 60.0, go.output
        )
        return results.read(path).rows

    go.output = tmp_path / "raw" / "repetition-1.jsonl"
    return go


def places(rows):
    return sorted((row["settings"]["inputs"], row["phase"]) for row in rows)


def test_every_planned_point_becomes_a_row(measure, capsys):
    rows = measure()
    assert places(rows) == WHOLE
    # A machine that is busy with other tests may take the core of an input: such a row says so.
    reasons = {row["invalid_reason"] for row in rows} - {None}
    assert all("not given its core" in reason for reason in reasons), reasons
    assert all(row["coarse"] and row["profile"] == "quick" for row in rows)
    assert {(row["group"], row["repetition"]) for row in rows} == {("aggregation-tiny", 1)}
    assert {row["machine"] for row in rows} == {machine.identity()}
    assert {row["usual_fraction"] for row in rows} == {0.1}
    (provenance,) = results.read(measure.output).provenances
    assert {row["provenance"] for row in rows} == {provenance}
    closed = {r["settings"]["inputs"]: r["throughput_tps"] for r in rows if r["phase"] == "closed"}
    for row in rows:
        if row["phase"] == "open":
            assert row["rate_fraction"] == 0.1
            assert row["offered_tps"] == pytest.approx(0.1 * closed[row["settings"]["inputs"]])
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5
    assert told[-1].startswith("millrace: aggregation-tiny 5/5 mqlf ")
    # Runs follow each other: no two overlap.
    ordered = sorted(rows, key=lambda row: row["started_at"])
    assert all(a["ended_at"] <= b["started_at"] for a, b in zip(ordered, ordered[1:], strict=False))


def counted(monkeypatch, before=lambda bench: None):
    """Count the runs; `before` each of them sees its bench, and may raise."""
    original, runs = threads.run_tuples, []

    def run(bench, *given):
        before(bench)
        runs.append(bench)
        return original(bench, *given)

    monkeypatch.setattr(threads, "run_tuples", run)
    return runs


def interrupted(measure, monkeypatch):
    """Measure the tiny group until Ctrl-C comes in its third run."""

    def interrupt(bench):
        if len(runs) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        runs = counted(patched, interrupt)
        measure()


def test_an_interrupted_group_goes_on_where_it_stopped(measure, monkeypatch):
    interrupted(measure, monkeypatch)
    assert not measure.output.exists()
    before = partial_path(measure.output).read_text().splitlines()
    assert len(before) == 3
    again = counted(monkeypatch)
    assert places(measure()) == WHOLE
    assert len(again) == 3
    assert measure.output.read_text().splitlines()[:3] == before


def test_rows_of_other_conditions_are_measured_again_and_kept_aside(measure, monkeypatch, capsys):
    interrupted(measure, monkeypatch)
    again = counted(monkeypatch)
    assert places(measure(common={"data": "another digest"})) == WHOLE
    assert len(again) == 5
    assert "0 of its 2 rows are taken over" in capsys.readouterr().err
    assert len(list(measure.output.parent.glob(".*.stale-1"))) == 1


def test_the_keys_of_all_rows_are_planned(measure):
    group = group_of(task_of("mqlf", inputs=2, control=True, probes=2, phases=("durations",)))
    rows = measure(group)
    assert {row["phase"] for row in rows} == {
        "closed", "control", "durations", "probe", "sustained", "open",
    }  # fmt: skip
    planned = runner.planned_keys(group, COMMON)
    assert len(planned) == len(set(planned)) == 6
    assert {row["key"] for row in rows} == set(planned)


def test_a_failure_is_a_row_and_the_others_are_measured(measure, monkeypatch):
    def fail(bench):
        if bench.settings["inputs"] == 2:
            raise RunFailed("it fell over")

    counted(monkeypatch, fail)
    rows = measure()
    reasons = {r["phase"]: r["invalid_reason"] for r in rows if r["settings"]["inputs"] == 2}
    assert reasons == {
        "closed": "it fell over",
        "control": "it fell over",
        "open": "no throughput to offer a share of: the closed run failed",
    }
    assert places(rows) == WHOLE


def test_a_thread_that_cannot_be_stopped_ends_the_process_after_its_row(measure, monkeypatch):
    def stick(bench):
        raise Stuck("still inside")

    with monkeypatch.context() as patched, pytest.raises(Stuck):
        counted(patched, stick)
        measure()
    assert len(partial_path(measure.output).read_text().splitlines()) == 2
    rows = measure()
    assert places(rows) == WHOLE
    assert [row["invalid_reason"] for row in rows[:1]] == ["still inside"]


def test_a_disturbed_run_is_repeated_once_and_then_marked(measure, monkeypatch, tiny_runs):
    noisy = tiny_runs._replace(noisy=True)
    seen = iter([noisy, tiny_runs, noisy, noisy] + [tiny_runs] * 20)
    monkeypatch.setattr(machine.Watch, "done", lambda self: next(seen))
    assert [row["noisy"] for row in measure()] == [False, True, False, False, False]


def test_a_machine_that_stays_busy_is_not_measured_twice(measure, monkeypatch, tiny_runs):
    monkeypatch.setattr(machine.Watch, "done", lambda self: tiny_runs._replace(noisy=True))
    runs = counted(monkeypatch)
    rows = measure()
    assert all(row["noisy"] for row in rows)
    assert len(runs) == 5 + runner.REPEATS_IN_VAIN
    assert len(rows) == 5


def test_a_rate_search_leaves_its_probes_and_its_outcome(measure):
    rows = measure(group_of(task_of("mqlf", inputs=1, probes=2)))
    kinds = [row["phase"] for row in rows]
    assert kinds.count("probe") == 2
    (found,) = (row for row in rows if row["phase"] == "sustained")
    assert found["probes"] == 2
    assert found["valid"] == (found["bracket_low_tps"] is not None)
    assert found["throughput_tps"] == found["bracket_low_tps"]


def test_durations_are_a_run_of_their_own(measure):
    task = task_of("mqlf", (), inputs=2, phases=("durations",), control=True)
    rows = {row["phase"]: row for row in measure(group_of(task))}
    assert sorted(rows) == ["closed", "control", "durations"]
    assert rows["durations"]["valid"] and rows["durations"]["output_ns"] > 0
    assert rows["closed"]["output_ns"] is None


def test_settings_of_a_variant_are_swept_as_those_of_its_family(measure):
    tasks = [task_of("tumlmc", (), inputs=2, update_threads=n) for n in (1, 4)]
    rows = measure(group_of(*tasks))
    found = {row["settings"]["update_threads"]: row["threads"] for row in rows}
    assert found == {1: 2 + 1 + 1, 4: 2 + 4 + 1}


def test_a_gate_needs_no_data_and_a_series_its_settings(measure, monkeypatch):
    monkeypatch.setattr(gate_bench, "LEAST_TUPLES", 2_000)
    tasks = [task_of(one, (), "gate", sources=2) for one in ("t-gate", "t-gate:levels=1")]
    found = measure(group_of(*tasks, family="gate"), data=False)
    rows = {row["settings"]["levels"]: row for row in found}
    assert len(rows) == 2
    assert (rows[1]["variant"], rows[1]["dataset"]) == ("t-gate", None)


def test_the_order_of_the_points_depends_on_group_and_repetition_alone():
    group = group_of(*(task_of("mqlf", inputs=n) for n in range(1, 9)))
    first = runner.in_random_order(group, 1)
    assert first == runner.in_random_order(group, 1)
    assert first != runner.in_random_order(group, 2)
    assert sorted(map(str, first)) == sorted(map(str, group.tasks))


def test_what_is_no_default_is_told(meters):
    bench = families.ready("aggregation", "mqlf", {"inputs": 2, "ahead": 64, "dataset": meters})
    assert runner.told(bench) == "inputs=2 ahead=64"
