"""A group that several children measure, each a repetition: what they share, and how they end."""

from __future__ import annotations

import os
from contextlib import nullcontext

import pytest

from experiments.records import results
from experiments.records.results import partial_path
from experiments.timing import run_row, runner
from operators.running.run_threads import RunFailed, Stuck
from tests.tiny_groups import OWN, RUNS, TINY, counted, places

pytestmark = pytest.mark.usefixtures("tiny_runs")


def test_each_of_several_repetitions_is_a_child_that_makes_all_runs(measure, monkeypatch):
    runs = counted(monkeypatch)
    rows = measure(repetitions=(4, 5, 6))
    # Each setting once in this process, without a row.
    assert len(runs) == len(TINY.tasks)
    for number in (4, 5, 6):
        assert places([row for row in rows if row["repetition"] == number]) == OWN
    closed = [row for row in rows if row["phase"] == "closed"]
    orders = {
        tuple(row["settings"]["inputs"] for row in closed if row["repetition"] == number)
        for number in (4, 5, 6)
    }
    assert len(orders) > 1
    assert len({(row["settings"]["inputs"], row["tuples"]) for row in closed}) == 2
    assert len(results.read(measure.output).provenances) == 1
    assert measure.output.read_text().count('"provenance": {') == 1


def test_forks_that_were_interrupted_go_on_where_they_stopped(measure, monkeypatch):
    original = runner.in_child

    def second_fails(do):
        children.append(do)
        if len(children) == 2:
            raise KeyboardInterrupt
        original(do)

    children = []
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(runner, "in_child", second_fails)
        measure(repetitions=(1, 2, 3))
    before = partial_path(measure.output).read_text().splitlines()
    assert len(before) >= 1 + RUNS
    rows = measure(repetitions=(1, 2, 3))
    after = measure.output.read_text().splitlines()
    assert after[: len(before)] == before
    assert [len([r for r in rows if r["repetition"] == n]) >= RUNS for n in (1, 2, 3)] == [True] * 3
    again = [r for r in rows if (r["repetition"], r["phase"]) == (1, "closed")]
    assert len(again) == 4


@pytest.mark.parametrize("error", [RunFailed("it fell over"), Stuck("still inside")])
def test_what_fails_before_it_forks_fails_in_all_of_them(measure, monkeypatch, error):
    def fail(bench):
        if bench.settings.get("inputs") == 2:
            raise error

    with monkeypatch.context() as patched:
        counted(patched, fail)
        with pytest.raises(Stuck) if isinstance(error, Stuck) else nullcontext():
            measure(repetitions=(1, 2))
    # A process without a stuck thread continues with the others.
    stuck = isinstance(error, Stuck)
    rows = measure(repetitions=(1, 2)) if stuck else results.read(measure.output).rows
    for number in (1, 2):
        own = [r for r in rows if (r["settings"].get("inputs"), r["repetition"]) == (2, number)]
        assert own and not any(row["valid"] for row in own)
        others = [r for r in rows if (r["settings"].get("inputs"), r["repetition"]) == (1, number)]
        assert any(row["valid"] for row in others)


def test_a_thread_that_is_stuck_in_a_child_ends_with_it_and_others_go_on(measure, monkeypatch):
    parent = os.getpid()

    def stick(bench):
        if os.getpid() != parent and bench.settings.get("inputs") == 2:
            raise Stuck("still inside")

    counted(monkeypatch, stick)
    rows = measure(repetitions=(1, 2))
    for number in (1, 2):
        own = [row for row in rows if row["repetition"] == number]
        assert places(own) == OWN
        mine = [row for row in own if row["settings"].get("inputs") == 2]
        assert not any(row["valid"] for row in mine)
        assert any(row["valid"] for row in own if row["settings"].get("inputs") == 1)
    # Once: the second child does not try it again.
    assert [row["invalid_reason"] for row in rows].count("still inside") == 1


def test_one_disturbed_slice_breaks_no_setting_when_a_run_goes_on(measure, monkeypatch):
    original, children = runner.in_child, []

    def second_is_interrupted(do):
        children.append(do)
        if len(children) == 2:
            raise KeyboardInterrupt
        original(do)

    whole = run_row.row

    def disturbed(bench, request):
        row = whole(bench, request)
        bad = request.tuples is not None and bench.settings.get("inputs") == 2
        return {**row, "valid": not bad, "invalid_reason": "too fast" if bad else None}

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(runner, "in_child", second_is_interrupted)
        patched.setattr(run_row, "row", disturbed)
        measure(repetitions=(1, 2))
    rows = measure(repetitions=(1, 2))
    later = [r for r in rows if (r["repetition"], r["settings"].get("inputs")) == (2, 2)]
    assert any(row["valid"] for row in later)
