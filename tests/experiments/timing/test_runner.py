"""A figure is measured point by point; whatever ends it, finished rows stay and it goes on."""

from __future__ import annotations

import dataclasses
import io

import pytest
import yaml
from tests.experiments.harness.rows import a_row

from experiments import plan, profiles
from experiments.families.gate import bench as gate_bench
from experiments.plan import Figure
from experiments.records import results
from experiments.records.results import partial_path
from experiments.timing import isolation, machine, runner
from experiments.timing import threads as measurement
from experiments.timing.crew import RunFailed, Stuck
from experiments.timing.progress import LiveLine, result
from operators.contract import UsageError

TINY = Figure(
    id="fig_00",
    paper="multiway_aggregation",
    number=0,
    title="tiny",
    family="aggregation",
    query="k-OS",
    variants=("mqlf",),
    extended_variants=("mqlf",),
    axis="inputs",
)
QUIET = machine.Observed(0.0, 0.0, 0.0, 1.0, 1.0, noisy=False)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setattr(plan, "figure", lambda paper, figure: TINY)
    monkeypatch.setattr(isolation, "wait_for_quiet", lambda: True)
    monkeypatch.setattr(machine.Watch, "done", lambda self: QUIET)
    monkeypatch.setattr(measurement, "TRIAL_TUPLES", 2_000)
    monkeypatch.setattr(measurement, "TRIAL_SECONDS", 0.001)
    monkeypatch.setattr(measurement, "LEAST_SHARE", 0.0)


@pytest.fixture
def arguments(tmp_path, meters):
    return arguments_of(tmp_path, meters)


def arguments_of(tmp_path, meters, **changes):
    content = {
        **yaml.safe_load((profiles.CONFIG / "quick.yaml").read_text()),
        **{
            "inputs": [1, 2],
            "extended_inputs": [2],
            "closed_seconds": 0.01,
            "open_seconds": 0.02,
            "probe_seconds": 0.02,
            "open_fraction": 0.1,
        },
        **changes,
    }
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(content))
    return {
        "paper": "multiway_aggregation",
        "figure": "fig_00",
        "profile_path": path,
        "repetition": 1,
        "datasets": {"meters": meters},
        "output": tmp_path / "raw" / "repetition-1.jsonl",
    }


def phases(rows):
    return sorted((row["inputs"], row["phase"]) for row in rows)


WHOLE = [(1, "closed"), (1, "open"), (2, "closed"), (2, "control"), (2, "open")]


def test_every_planned_point_becomes_a_row(arguments, capsys):
    provenance, rows = results.read(runner.run_figure(**arguments))
    assert phases(rows) == WHOLE
    # A machine that is busy with other tests may take the core of an input: such a row says so.
    reasons = {row["invalid_reason"] for row in rows} - {None}
    assert all("not given its core" in reason for reason in reasons), reasons
    assert all(row["coarse"] and row["profile"] == "quick" for row in rows)
    assert all(row["provenance"] == provenance["id"] for row in rows)
    closed = {row["inputs"]: row["throughput_tps"] for row in rows if row["phase"] == "closed"}
    for row in rows:
        if row["phase"] == "open":
            assert row["rate_fraction"] == 0.1
            assert row["offered_tps"] == pytest.approx(0.1 * closed[row["inputs"]])
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5
    assert told[-1].startswith("millrace: fig_00 k-OS 5/5 mqlf ")
    # Runs follow each other: no two overlap.
    ordered = sorted(rows, key=lambda row: row["started_at"])
    assert all(a["ended_at"] <= b["started_at"] for a, b in zip(ordered, ordered[1:], strict=False))


def test_an_interrupted_figure_goes_on_where_it_stopped(arguments, monkeypatch):
    original, calls = measurement.run, []

    def interrupted(*given, **named):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(given)
        return original(*given, **named)

    monkeypatch.setattr(measurement, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run_figure(**arguments)
    assert not arguments["output"].exists()
    before = partial_path(arguments["output"]).read_text().splitlines()
    assert len(before) == 3

    again = []
    monkeypatch.setattr(
        measurement, "run", lambda *given, **named: again.append(1) or original(*given, **named)
    )
    runner.run_figure(**arguments)
    assert len(again) == 3
    after = arguments["output"].read_text().splitlines()
    assert after[:3] == before
    assert phases(results.read(arguments["output"])[1]) == WHOLE


def test_a_failure_is_a_row_and_the_others_are_measured(arguments, monkeypatch):
    original = measurement.run

    def failing(bench, *given, **named):
        if bench.facts["inputs"] == 2:
            raise RunFailed("it fell over")
        return original(bench, *given, **named)

    monkeypatch.setattr(measurement, "run", failing)
    rows = results.read(runner.run_figure(**arguments))[1]
    reasons = {(r["inputs"], r["phase"]): r["invalid_reason"] for r in rows if not r["valid"]}
    assert reasons == {
        (2, "closed"): "it fell over",
        (2, "control"): "it fell over",
        (2, "open"): "no throughput to offer a share of: the closed run failed",
    }
    assert phases(rows) == WHOLE


def test_a_thread_that_cannot_be_stopped_ends_the_process_after_its_row(arguments, monkeypatch):
    def stuck(*given, **named):
        raise Stuck("still inside")

    monkeypatch.setattr(measurement, "run", stuck)
    with pytest.raises(Stuck):
        runner.run_figure(**arguments)
    assert len(partial_path(arguments["output"]).read_text().splitlines()) == 2


def test_a_disturbed_run_is_repeated_once_and_then_marked(arguments, monkeypatch):
    noisy = QUIET._replace(noisy=True)
    seen = iter([noisy, QUIET, noisy, noisy] + [QUIET] * 20)
    monkeypatch.setattr(machine.Watch, "done", lambda self: next(seen))
    rows = results.read(runner.run_figure(**arguments))[1]
    assert [row["noisy"] for row in rows] == [False, True, False, False, False]


def test_a_machine_that_stays_busy_is_not_measured_twice(arguments, monkeypatch):
    original, runs = measurement.run, []
    monkeypatch.setattr(machine.Watch, "done", lambda self: QUIET._replace(noisy=True))
    monkeypatch.setattr(
        measurement, "run", lambda *given, **named: runs.append(1) or original(*given, **named)
    )
    rows = results.read(runner.run_figure(**arguments))[1]
    assert all(row["noisy"] for row in rows)
    assert len(runs) == 5 + runner.REPEATS_IN_VAIN
    assert len(rows) == 5


def test_a_rate_search_leaves_its_probes_and_its_outcome(tmp_path, meters):
    given = arguments_of(tmp_path, meters, probes=2, inputs=[1])
    rows = results.read(runner.run_figure(**given))[1]
    kinds = [row["phase"] for row in rows]
    assert kinds.count("probe") == 2
    (found,) = (row for row in rows if row["phase"] == "sustained")
    assert found["probes"] == 2
    assert found["valid"] == (found["bracket_low_tps"] is not None)
    assert found["throughput_tps"] == found["bracket_low_tps"]


def measured(figure, monkeypatch, given):
    monkeypatch.setattr(plan, "figure", lambda paper, name: figure)
    rows = results.read(runner.run_figure(**given))[1]
    return {(row["series"], row["update_threads"], row["phase"]): row for row in rows}


def test_durations_are_a_run_of_their_own(arguments, monkeypatch):
    figure = dataclasses.replace(TINY, axis="durations", inputs=(2,))
    rows = measured(figure, monkeypatch, arguments)
    assert [phase for _, _, phase in sorted(rows)] == ["closed", "control", "durations"]
    timed = rows["mqlf", None, "durations"]
    assert timed["valid"] and timed["output_ns"] > 0
    assert rows["mqlf", None, "closed"]["output_ns"] is None


def test_update_threads_are_an_axis(arguments, monkeypatch):
    variants = ("tumlmc",)
    figure = dataclasses.replace(
        TINY, axis="update_threads", inputs=(2,), variants=variants, extended_variants=variants
    )
    rows = measured(figure, monkeypatch, arguments)
    assert {(threads, phase) for _, threads, phase in rows} == {
        (1, "closed"), (1, "open"), (4, "closed"), (4, "open"), (4, "control"),
    }  # fmt: skip
    assert {row["threads"] for row in rows.values()} == {2 + 1 + 1, 2 + 4 + 1}


def test_a_gate_needs_no_data_and_a_series_its_settings(arguments, monkeypatch):
    figure = dataclasses.replace(
        TINY,
        family="gate",
        query="",
        variants=("t-gate",),
        extended_variants=("t-gate", "t-gate:levels=1"),
    )
    monkeypatch.setattr(gate_bench, "LEAST_TUPLES", 2_000)
    rows = measured(figure, monkeypatch, {**arguments, "datasets": []})
    assert {series for series, _, _ in rows} == {"t-gate", "t-gate:levels=1"}
    ours = rows["t-gate:levels=1", None, "closed"]
    assert (ours["variant"], ours["dataset"], ours["query"]) == ("t-gate", None, None)
    assert "levels=1" in ours["parameters"]


def test_what_does_not_exist_is_refused(arguments, comments):
    with pytest.raises(UsageError, match="runs on meters"):
        runner.run_figure(**{**arguments, "datasets": [comments]})
    with pytest.raises(UsageError, match="repetition must be 1 or more"):
        runner.run_figure(**{**arguments, "repetition": 0})


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_a_live_line_and_a_file_only_finished_points():
    for stream in (Terminal(), io.StringIO()):
        line = LiveLine("fig_13 k-OS", 2, stream)
        line.begin("mq 4 inputs closed")
        line.said("40 %", force=True)
        line.end(a_row(), seconds_left=120)
        line.done()
        live = isinstance(stream, Terminal)
        assert ("40 %" in stream.getvalue()) == live
        assert "1/2 mq 4 inputs closed: " in stream.getvalue()
        assert "about 2 min left" in stream.getvalue()
        assert ("\r" in stream.getvalue()) == live


def test_the_result_of_a_row_names_its_states():
    row = a_row(throughput_tps=1_234_567.0, latency_ms_mean=0.5, latency_ms_p99=2.0, noisy=True)
    assert result(row) == "1.23 Mtuples/s, latency 0.5 ms (p99 2) (noisy)"
    assert result(a_row(valid=False, invalid_reason="why")) == "FAILED: why"
