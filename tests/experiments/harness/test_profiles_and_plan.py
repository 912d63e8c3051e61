"""Profiles are checked against their schema, and a plan counts what the runner will do."""

from __future__ import annotations

import pytest
import yaml

from experiments.harness import plan, profiles, runner
from operators.contract import UsageError


def content(**changes):
    return {**yaml.safe_load((profiles.CONFIG / "quick.yaml").read_text()), **changes}


@pytest.mark.parametrize("name", ["quick", "laptop", "paper"])
def test_each_profile_fits_its_schema(name):
    assert profiles.load(name).name == name
    assert name in profiles.names()


def test_a_profile_is_read_by_its_path(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(content(name="mine", inputs=[2])))
    assert profiles.load(path).inputs == (2,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 1}, "'speed' was unexpected"),
        ({"inputs": [0]}, "at inputs.0"),
        ({"repetitions": "two"}, "at repetitions"),
    ],
)
def test_a_wrong_profile_is_one_line_that_says_where(changes, message):
    with pytest.raises(UsageError, match=message) as caught:
        profiles.parse(content(**changes), "mine")
    assert "\n" not in str(caught.value)


def test_an_unknown_or_broken_profile_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="unknown profile 'slow'; profiles are: .*quick"):
        profiles.load("slow")
    (tmp_path / "bad.yaml").write_text("a: [")
    with pytest.raises(UsageError, match="not YAML"):
        profiles.load(tmp_path / "bad.yaml")


def test_tasks_cover_every_variant_at_every_setting():
    profile = profiles.parse(content(inputs=[1, 4], probes=0), "mine")
    by_inputs = plan.figure("multiway_aggregation", "fig_15")
    tasks = plan.tasks(by_inputs, profile)
    assert {(t.variant, t.inputs) for t in tasks} == {
        (variant, inputs) for variant in ("mq", "mqlf", "tumlsc") for inputs in (1, 4)
    }
    assert sum(task.control for task in tasks) == 1
    assert plan.runs(by_inputs, profile) == 6 * 2 + 1


def test_a_rate_figure_keeps_its_own_inputs():
    profile = profiles.parse(content(rate_fractions=[0.3, 1.1]), "mine")
    tasks = plan.tasks(plan.figure("multiway_aggregation", "fig_09"), profile)
    assert {task.inputs for task in tasks} == {20}
    assert {task.fractions for task in tasks} == {(0.3, 1.1)}


def test_probes_and_repetitions_take_time():
    figure = plan.figure("multiway_aggregation", "fig_13")
    quick = profiles.parse(content(), "mine")
    searched = profiles.parse(content(probes=4), "mine")
    assert plan.seconds(figure, searched) > plan.seconds(figure, quick)
    once = plan.plan(quick, "multiway_aggregation")
    twice = plan.plan(profiles.parse(content(repetitions=2), "mine"), "multiway_aggregation")
    assert [2 * line.points for line in once] == [line.points for line in twice]
    assert "fig_13" in plan.text(quick, once)


def test_quick_ends_within_its_six_minutes():
    lines = plan.plan(profiles.load("quick"), "multiway_aggregation")
    assert sum(line.minutes for line in lines) < 4


def test_the_order_of_the_points_depends_on_the_repetition_alone():
    figure = plan.figure("multiway_aggregation", "fig_13")
    profile = profiles.load("laptop")
    first = runner.in_random_order(figure, profile, 1)
    assert first == runner.in_random_order(figure, profile, 1)
    assert first != runner.in_random_order(figure, profile, 2)
    assert sorted(map(str, first)) == sorted(map(str, plan.tasks(figure, profile)))


def test_unknown_papers_and_figures_list_those_there_are():
    with pytest.raises(UsageError, match="papers are: .*multiway_aggregation"):
        plan.figures("other")
    with pytest.raises(UsageError, match="figures are: .*fig_13"):
        plan.figure("multiway_aggregation", "fig_99")
