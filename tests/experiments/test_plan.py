"""Profiles are checked against their schema, and a plan counts what the runner will do."""

from __future__ import annotations

import pytest
import yaml

from experiments import plan, profiles
from experiments.timing import runner
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
        ({"speed": 1}, r"profile mine must not contain \{'speed'\}"),
        ({"inputs": [0]}, r"profile mine: inputs\[0\] must be bigger than or equal to 1"),
        ({"update_threads": [1, 1]}, "profile mine: update_threads must contain unique items"),
        ({"repetitions": "two"}, "profile mine: repetitions must be integer"),
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


def planned(figure, **changes):
    profile = profiles.parse(content(**changes), "mine")
    return plan.tasks(plan.figure("multiway_aggregation", figure), profile)


def test_tasks_cover_every_series_at_every_setting():
    tasks = planned("fig_20", inputs=[1, 4], extended_inputs=[4], probes=0)
    assert {(t.series, t.inputs) for t in tasks} == {
        *((series, inputs) for series in ("mq", "mqlf", "wiml") for inputs in (1, 4)),
        ("tumlsc", 4),
    }
    assert [(t.series, t.inputs) for t in tasks if t.control] == [("wiml", 4)]
    assert sum(task.runs for task in tasks) == 7 * 2 + 1


def test_every_series_of_a_figure_is_measured_alike():
    # Else a ratio between one of the paper's and one of ours would compare two quantities.
    tasks = planned("fig_20", inputs=[1, 4], extended_inputs=[4], probes=3)
    assert {t.series: t.probes for t in tasks} == dict.fromkeys(("mq", "mqlf", "wiml", "tumlsc"), 3)


def test_a_rate_figure_keeps_its_own_inputs():
    tasks = planned("fig_09", rate_fractions=[0.3, 1.1])
    assert {task.inputs for task in tasks} == {20}
    assert {task.fractions for task in tasks} == {(0.3, 1.1)}


def test_update_threads_are_swept_at_each_number_of_inputs():
    tasks = planned("fig_28", update_threads=[1, 3])
    assert [(t.inputs, t.update_threads) for t in tasks] == [(2, 1), (2, 3), (20, 1), (20, 3)]
    assert [t.control for t in tasks] == [False, False, False, True]


def test_durations_have_a_run_of_their_own_beside_a_closed_one():
    tasks = planned("fig_08", probes=4)
    assert [t.series for t in tasks] == ["mq", "mqlf", "tumlsc"]
    assert {(t.durations, t.fractions, t.probes) for t in tasks} == {(True, (), 0)}
    assert sum(task.runs for task in tasks) == 3 * 2 + 1


def test_probes_and_repetitions_take_time():
    figure = plan.figure("multiway_aggregation", "fig_13")
    quick = profiles.parse(content(), "mine")
    searched = profiles.parse(content(probes=4), "mine")
    assert plan.seconds(figure, searched) > plan.seconds(figure, quick)
    once = plan.plan(quick, "multiway_aggregation")
    twice = plan.plan(profiles.parse(content(repetitions=2), "mine"), "multiway_aggregation")
    assert [2 * line.points for line in once] == [line.points for line in twice]
    assert "fig_13" in plan.text(quick, once)


@pytest.mark.parametrize(("profile", "minutes"), [("quick", 6), ("laptop", 66)])
def test_a_profile_ends_within_its_minutes(profile, minutes):
    lines = plan.plan(profiles.load(profile), "multiway_aggregation")
    assert sum(line.minutes for line in lines) <= minutes


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
