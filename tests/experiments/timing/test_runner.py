"""A group is measured point by point; after any interruption, finished rows stay and it resumes."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from experiments import families
from experiments.judging.floors import equal_pairs
from experiments.records import results
from experiments.records.results import partial_path
from experiments.timing import machine, rounds, run_row, runner
from operators.running.run_threads import RunFailed, Stuck
from tests.required import required_runs
from tests.tiny_groups import (
    COMMON,
    LENGTHS,
    OWN,
    RUNS,
    counted,
    group_of,
    places,
    task_of,
)

pytestmark = pytest.mark.usefixtures("tiny_runs")


def test_every_planned_run_becomes_a_row(measure, capsys):
    rows = measure()
    assert places(rows) == OWN
    assert len(rows) - RUNS == sum(row["phase"] == "open" and row["round"] == 2 for row in rows)
    # A machine that is busy with other tests may take the core of an input: such a row says so.
    reasons = {row["invalid_reason"] for row in rows} - {None}
    assert all("not given its core" in reason for reason in reasons), reasons
    assert {(row["group"], row["repetition"]) for row in rows} == {("aggregation-tiny", 1)}
    assert {row["machine"] for row in rows} == {machine.identity()}
    assert {row["usual_fraction"] for row in rows} == {0.1}
    (provenance,) = results.read(measure.output).provenances
    assert {row["provenance"] for row in rows} == {provenance}
    for inputs in (1, 2):
        own = [row for row in rows if row["settings"].get("inputs") == inputs]
        closed = [row for row in own if row["phase"] == "closed"]
        reached = [row["throughput_tps"] for row in closed if row["valid"]]
        mean = math.prod(reached) ** (1 / len(reached))
        for row in own:
            if row["phase"] == "open":
                assert row["rate_fraction"] == 0.1
                assert row["offered_tps"] == pytest.approx(0.1 * mean)
        if len(reached) == len(closed):
            # The next slice has the same length, even if the previous one was fast.
            assert len({row["tuples"] for row in closed}) == 1
    told = capsys.readouterr().err.splitlines()
    first = "millrace: aggregation-tiny: closed round 1 of 2, 3 runs; about "
    assert any(line.startswith(first) for line in told)
    # Runs follow each other: no two overlap.
    ordered = sorted(rows, key=lambda row: row["started_at"])
    assert all(a["ended_at"] <= b["started_at"] for a, b in zip(ordered, ordered[1:], strict=False))


def test_each_round_runs_one_setting_twice_and_each_process_the_common_one(measure):
    rows = measure()
    equal = [row for row in rows if row["phase"] == "equal"]
    assert [row["round"] for row in equal] == [1, 2]
    for row in equal:
        (first,) = (
            other for other in rows
            if (other["phase"], other["round"], other["settings"])
            == ("closed", row["round"], row["settings"])
        )  # fmt: skip
        assert first["tuples"] == row["tuples"]
    (again,) = (row for row in rows if row["phase"] == "equal open")
    (once,) = (
        row for row in rows
        if (row["phase"], row["settings"], row["round"])
        == ("open", again["settings"], again["round"])
    )  # fmt: skip
    assert again["offered_tps"] == once["offered_tps"]
    (common,) = (row for row in rows if row["phase"] == "reference")
    assert (common["family"], common["variant"]) == ("gate", "t-gate")
    found = {(kind, one["phase"]) for kind, one, _ in equal_pairs([r for r in rows if r["valid"]])}
    # The open run at that small rate may have no latency to compare; the closed ones always pair.
    assert found - {("latency", "open")} == {("throughput", "closed")}


def test_rivals_run_at_a_share_of_the_slowest_one_s_throughput(measure):
    tasks = [
        task_of(variant, (), inputs=inputs, common=True)
        for variant in ("mq", "mqlf")
        for inputs in (1, 2)
    ]
    rows = measure(group_of(*tasks))
    for inputs in (1, 2):
        own = [row for row in rows if row["settings"].get("inputs") == inputs]
        reached = {}
        for row in own:
            if row["phase"] == "closed" and row["valid"]:
                reached.setdefault(row["variant"], []).append(row["throughput_tps"])
        slowest = min(math.prod(each) ** (1 / len(each)) for each in reached.values())
        rates = [row["offered_tps"] for row in own if row["phase"] == "common"]
        assert rates == pytest.approx([0.1 * slowest] * 2)


def test_what_did_not_keep_up_is_tried_once_more(measure, monkeypatch):
    original = run_row.row

    def seen(bench, request):
        row = original(bench, request)
        return {**row, "saturated": request.offered_tps is not None}

    monkeypatch.setattr(run_row, "row", seen)
    opened = [row for row in measure() if row["phase"] == "open"]
    assert sorted((row["settings"]["inputs"], row["round"]) for row in opened) == [
        (1, 1), (1, 2), (2, 1), (2, 2),
    ]  # fmt: skip


def interrupted(measure, monkeypatch):
    """Measure the tiny group until Ctrl-C arrives in the fourth run."""

    def interrupt(bench):
        if len(runs) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        runs = counted(patched, interrupt)
        measure()


def test_an_interrupted_group_goes_on_where_it_stopped(measure, monkeypatch):
    interrupted(measure, monkeypatch)
    assert not measure.output.exists()
    before = partial_path(measure.output).read_text().splitlines()
    assert len(before) == 4
    again = counted(monkeypatch)
    rows = measure()
    assert places(rows) == OWN
    assert RUNS - 3 <= len(again) <= RUNS - 1
    assert measure.output.read_text().splitlines()[:4] == before
    closed = {(r["settings"]["inputs"], r["tuples"]) for r in rows if r["phase"] == "closed"}
    assert len(closed) == 2


def test_rows_of_other_conditions_are_measured_again_and_kept_aside(measure, monkeypatch, capsys):
    interrupted(measure, monkeypatch)
    again = counted(monkeypatch)
    assert places(measure(common={"data": "another digest"})) == OWN
    # All but the setting of all processes, whose conditions are separate.
    assert RUNS - 1 <= len(again) <= RUNS + 1
    assert "1 of its 3 rows are taken over" in capsys.readouterr().err
    assert len(list(measure.output.parent.glob(".*.stale-1"))) == 1


def test_the_keys_of_all_rows_are_planned(measure):
    group = group_of(task_of("mqlf", inputs=2, probes=2, phases=("durations",), common=True))
    rows = measure(group)
    own = [row for row in rows if row["phase"] != "reference"]
    assert {row["phase"] for row in own} == {
        "closed", "equal", "durations", "probe", "sustained", "open", "equal open", "common",
    }  # fmt: skip
    planned = [rounds.key_of(group, r, COMMON) for r in rounds.planned_runs(group, LENGTHS)]
    assert len(planned) == len(set(planned))
    assert {row["key"] for row in own} <= set(planned)
    required = {rounds.key_of(group, r, COMMON) for r in required_runs(group, LENGTHS)}
    assert required < {row["key"] for row in own}


def test_a_failure_is_a_row_and_the_others_are_measured(measure, monkeypatch):
    def fail(bench):
        if bench.settings.get("inputs") == 2:
            raise RunFailed("it fell over")

    runs = counted(monkeypatch, fail)
    rows = measure()
    reasons = {r["invalid_reason"] for r in rows if r["settings"].get("inputs") == 2}
    # A setting that failed once is not waited for in every round.
    assert reasons == {
        "it fell over",
        "not run, as one before it failed: it fell over",
        "no throughput to offer a share of: its slices failed",
    }
    others = {row["invalid_reason"] for row in rows if row["settings"].get("inputs") == 1}
    # A machine that is busy with other tests may take the core of an input: such a row says so.
    assert all("not given its core" in reason for reason in others - {None}), others
    assert places(rows) == OWN
    assert sum(bench.settings.get("inputs") == 2 for bench in runs) == 0


def test_a_thread_that_cannot_be_stopped_ends_the_process_after_its_row(measure, monkeypatch):
    def stick(bench):
        if bench.variant.id == "mqlf":
            raise Stuck("still inside")

    with monkeypatch.context() as patched, pytest.raises(Stuck):
        counted(patched, stick)
        measure()
    # The provenance, the setting of all processes, and the failure.
    assert len(partial_path(measure.output).read_text().splitlines()) == 3
    rows = measure()
    assert places(rows) == OWN
    assert [row["invalid_reason"] for row in rows[1:2]] == ["still inside"]


def test_a_disturbed_slice_is_marked_and_never_made_again(measure, monkeypatch, tiny_runs):
    monkeypatch.setattr(machine.Watch, "done", lambda self: tiny_runs._replace(noisy=True))
    runs = counted(monkeypatch)
    rows = measure()
    assert all(row["noisy"] for row in rows)
    assert RUNS <= len(runs) == len(rows) <= RUNS + 2


def test_a_rate_search_leaves_its_probes_and_its_outcome(measure):
    rows = measure(group_of(task_of("mqlf", inputs=1, probes=2)))
    kinds = [row["phase"] for row in rows]
    assert kinds.count("probe") == 2
    (found,) = (row for row in rows if row["phase"] == "sustained")
    assert found["probes"] == 2
    assert found["valid"] == (found["bracket_low_tps"] is not None)
    assert found["throughput_tps"] == found["bracket_low_tps"]


def test_durations_are_a_run_of_their_own(measure):
    task = task_of("mqlf", (), inputs=2, phases=("durations",))
    rows = {row["phase"]: row for row in measure(group_of(task))}
    assert sorted(rows) == ["closed", "durations", "equal", "reference"]
    assert rows["durations"]["valid"] and rows["durations"]["output_ns"] > 0
    assert rows["closed"]["output_ns"] is None


def test_a_setting_without_slices_is_not_timed_and_its_own_run_has_no_given_length(
    measure, monkeypatch
):
    asked = []

    def row(bench, request):
        asked.append((request.phase, request.tuples, bench.settings.get("inputs"), request.round))
        return whole(bench, request)

    whole = run_row.row
    monkeypatch.setattr(run_row, "row", row)
    alone = replace(task_of("mqlf", (), inputs=1, phases=("durations",)), sliced=False)
    rows = measure(group_of(alone, task_of("mqlf", (), inputs=2)))
    mine = [row for row in rows if row["settings"].get("inputs") == 1]
    assert [(row["phase"], row["valid"]) for row in mine] == [("durations", True)] * 2
    wanted = [("durations", None, 1, number) for number in (1, 2)]
    assert [each for each in asked if each[2] == 1] == wanted
    # The equal run of a round is one of those that have slices.
    assert [r["settings"]["inputs"] for r in rows if r["phase"] == "equal"] == [2, 2]
    assert not [r for r in measure(group_of(alone)) if r["phase"] in ("closed", "equal")]


def test_settings_of_a_variant_are_swept_as_those_of_its_family(measure):
    tasks = [task_of("tumlmc", (), inputs=2, update_threads=n) for n in (1, 4)]
    rows = measure(group_of(*tasks))
    found = {r["settings"]["update_threads"]: r["threads"] for r in rows if r["phase"] == "closed"}
    assert found == {1: 2 + 1 + 1, 4: 2 + 4 + 1}


def test_a_gate_needs_no_data_and_is_measured_at_the_settings_of_each_task(measure):
    tasks = [task_of("t-gate", (), "gate", sources=2, levels=levels) for levels in (1, 4)]
    rows = measure(group_of(*tasks, family="gate"), data=False)
    assert {row["settings"]["levels"] for row in rows if row["phase"] == "closed"} == {1, 4}
    assert {(row["variant"], row["dataset"]) for row in rows} == {("t-gate", None)}


def test_the_order_of_a_round_depends_on_group_process_and_number_alone():
    group = group_of(*(task_of("mqlf", inputs=n) for n in range(1, 9)))
    first = rounds.closed_round(group, 1, 1)
    assert first == rounds.closed_round(group, 1, 1)
    assert first != rounds.closed_round(group, 1, 2)
    others = rounds.closed_round(group, 2, 1)
    assert [run.task for run in first] != [run.task for run in others]
    once = [run for run in first if run.phase == "closed"]
    assert sorted(str(run.task) for run in once) == sorted(map(str, group.tasks))
    assert sum(run.phase == "equal" for run in first) == 1
    # The setting that runs twice varies.
    chosen = {
        run.task.identity
        for repetition in range(1, 30)
        for run in rounds.closed_round(group, 1, repetition)
        if run.phase == "equal"
    }
    assert len(chosen) > 4


def test_what_is_no_default_is_told(meters):
    bench = families.ready("aggregation", "mqlf", {"inputs": 2, "ahead": 64, "dataset": meters})
    assert runner.settings_text(bench) == "inputs=2 ahead=64"
