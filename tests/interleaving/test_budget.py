"""The time of a check: what costs too much is cut off, the cut is named, and no check sees less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from operators import registry
from operators.check import reached, suite
from operators.check.families import bounds_of, checked, name_of, scenarios
from operators.check.suite import PLAIN, SHARE, Size, check_variant, spread
from tests.joining import joined, write_family

TINY = Size({"sc": 2}, random=2, graphs=100, states=2_000)


def test_an_exploration_of_many_steps_ends_after_the_schedules_of_the_tests(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "SHARE", replace(SHARE, schedules=1))
    write_family(tmp_path)
    with joined(tmp_path):
        toy = registry.variant("echo", "toy")
        whole, short = check_variant(toy, TINY), check_variant(toy, replace(TINY, steps=1))
    assert not whole.cut and not whole.findings and not short.findings
    assert short.cut == [
        f"two: sc, {most} preemptions, after 2 schedules, by their steps" for most in range(3)
    ]
    assert short.schedules < whole.schedules


def test_the_graphs_beyond_the_states_of_a_structure_are_named():
    few = replace(TINY, preemptions={"sc": 0}, all_states=0)
    ring = registry.variant("core", "spsc-ring")
    report = check_variant(ring, few)
    (cut,) = [each for each in report.cut if each.startswith("the graphs of")]
    several = [s for s in scenarios(ring) if len(s.programs) > 1 and s.graph and not s.deep]
    made = {each.name for each in spread(several, SHARE.graphs)}
    assert set(cut.partition(": ")[2].split(", ")) == {s.name for s in several} - made
    assert "beyond 0 states" in cut and report.states > 0


@pytest.mark.parametrize("each", checked(), ids=name_of)
def test_no_bound_is_below_that_of_the_tests(each):
    plain = replace(PLAIN, **bounds_of(each, "PLAIN"))
    share = replace(SHARE, **bounds_of(each, "SHARE"))
    assert all(plain.preemptions[memory] >= most for memory, most in share.preemptions.items())
    assert plain.random >= share.random and plain.states >= share.states
    assert plain.graphs >= share.graphs and plain.schedules >= share.schedules


def test_a_search_for_one_failure_looks_at_all_programs_before_it_explores_the_first(monkeypatch):
    ring = registry.variant("core", "spsc-ring")
    *others, last = [s for s in scenarios(ring) if not s.deep]

    def fails(state, history):
        raise AssertionError("at last")

    failing = [*others, replace(last, finish=fails)]
    monkeypatch.setattr(suite, "scenarios", lambda variant: failing)
    said = []
    report = check_variant(ring, TINY, said.append, first_only=True)
    assert [(f.scenario, f.check) for f in report.findings] == [(last.name, "result")]
    assert said == [f"{each.name}: a first look" for each in failing]
    assert report.schedules == 0


def test_what_does_not_run_the_changed_function_is_not_searched(monkeypatch):
    ring = registry.variant("core", "spsc-ring")
    one, other = [s for s in scenarios(ring) if len(s.programs) > 1 and s.graph and not s.deep][:2]

    def changed(state, call):
        reached.note()
        return other.perform(state, call)

    noting = replace(other, perform=changed)
    monkeypatch.setattr(suite, "scenarios", lambda variant: [one, noting])
    said = []
    report = check_variant(ring, replace(TINY, graphs=0), said.append, first_only=True)
    looks = [f"{each.name}: a first look" for each in (one, other)]
    assert said[:2] == looks and len(said) > 2
    assert all(text.startswith(f"{other.name}: ") for text in said[2:])
    assert report.scenarios == 1 and not report.missing_marks
