"""The declared figures of the second paper, typed a second time from its text and the notes."""

from __future__ import annotations

import pytest

from experiments import papers, plan, profiles, series
from experiments.declare import LINES, SIZES, Sweep, order_of
from experiments.records import quantities
from figures import draw
from figures.cells import parted
from operators import registry
from operators.pipeline.run import capacity_of
from tests.figures.drawn import results_of, texts
from tests.invented_ordered import rows_at

PAPER = papers.paper("ordered_processing")
FIGURES = {figure.id: figure for figure in PAPER.figures}
QUERIES = ("q1", "q2", "q3", "q4", "q15")
SCHEDULERS = {"qst", "lp", "et", "ct"}
QUEUES = {"partitioned", "hybrid"}
BUFFERS = {"lock-based", "non-blocking"}
# Family, compared setting, x axis, panels.
FROM_THE_PAPER = {
    "8": ("pipeline", SCHEDULERS, "workers", "query"),
    "9": ("partition", QUEUES, "workers", "sigma"),
    "10": ("partition", QUEUES, "work_us", "slots"),
    "11": ("pipeline", {f"ct:partition={each}" for each in QUEUES}, "workers", "query"),
    "12": ("reorder", BUFFERS, "workers", None),
    "13": ("pipeline", {f"lp:reorder={each}" for each in BUFFERS}, "workers", "work_us"),
    "14": ("pipeline", {f"ct:reorder={each}" for each in BUFFERS}, "query", None),
}
MEASURED = [(figure, one) for figure in PAPER.figures for one in series.measured(figure)]


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {
        figure.id: (
            figure.family,
            set(figure.lines),
            figure.x.setting,
            figure.panels and figure.panels.setting,
        )
        for figure in PAPER.figures
        if figure.id.isdigit()
    }
    assert declared == FROM_THE_PAPER
    assert [figure.id for figure in PAPER.figures] == sorted(FIGURES, key=order_of)


def test_workers_go_up_to_the_papers_sixteen():
    for figure in PAPER.figures:
        # 14y shows the gain of the first step if a tuple costs more.
        if isinstance(figure.x, Sweep) and figure.x.setting == "workers" and figure.id != "14y":
            assert figure.x.values["paper"][-1] == 16
            for size in SIZES:
                values = figure.x.values[size]
                assert values[0] == 1 and list(values) == sorted(set(values))
                assert set(figure.x.extended.get(size, ())) <= set(values)


def test_costs_are_those_of_section_7_2_2():
    costs = FIGURES["10"].x.values
    assert costs["paper"] == costs["laptop"] == (10, 100, 1_000, 10_000)
    assert FIGURES["10"].settings == {"sigma": 0, "workers": 2}
    assert FIGURES["13"].settings["selectivity"] == 50
    # The paper's cost, that of a tuple of the first operator in either of them.
    assert FIGURES["13"].settings["second_work"] == "shared"
    assert FIGURES["13"].panels.values["paper"] == (100,)


def test_every_query_is_beside_in_the_order_of_the_paper():
    for figure in PAPER.figures:
        for sweep in figure.free:
            if sweep.setting == "query":
                # A quick run has one query for figures that the paper does not have.
                sizes = SIZES if figure.id.isdigit() else SIZES[1:]
                assert all(sweep.values[size] == QUERIES for size in sizes)


def test_uneven_keys_are_measured_where_two_cores_can_show_them():
    assert all({1, 3} <= set(FIGURES["9"].x.values[size]) for size in SIZES)
    assert all(0.1 in FIGURES["9"].panels.values[size] for size in SIZES)


@pytest.mark.parametrize(
    ("figure", "one"), MEASURED, ids=[f"{figure.id}-{one}" for figure, one in MEASURED]
)
def test_every_series_exists_and_has_its_settings(figure, one):
    assert registry.variant(figure.family, one.variant).bench
    swept = {sweep.setting: sweep.values["quick"][-1] for sweep in figure.free}
    settings = series.resolved(figure, one, swept)
    told = {**figure.settings, **swept, **one.settings}
    for name, value in told.items():
        assert str(settings[name]) == str(value) or float(settings[name]) == float(value), name


def test_ours_are_in_the_extended_form_alone():
    assert "ct-as-printed" in series.measured(FIGURES["8"])
    assert "ct:partition=shared" in series.measured(FIGURES["11"])
    assert "lock-based-spin" in series.measured(FIGURES["12"])
    # With constant work and short sends the schemes are alike: these show the paper's effect.
    long_sends = ":work=exponential,work_us=10,send_us=5"
    assert {each + long_sends for each in BUFFERS} <= {*series.measured(FIGURES["12"])}
    for figure in PAPER.figures:
        assert series.measured(figure)[: len(figure.lines)] == figure.lines


def test_every_form_draws_and_every_quantity_has_a_label():
    for figure in PAPER.figures:
        assert callable(draw.form_of(figure).draw)
        for name in (*figure.quantities, *figure.extended_quantities):
            assert quantities.quantity(name).label


def test_every_heading_has_figures_and_they_stand_in_their_order():
    named = [figure.heading for figure in PAPER.figures]
    assert list(dict.fromkeys(named)) == [heading.id for heading in PAPER.headings]


def test_a_query_is_measured_in_a_process_of_its_own_and_on_its_data():
    roles = {group.id: group.role for group in plan.groups(profiles.load("quick"), [PAPER.id])}
    assert roles == {
        "pipeline-q1": "sales",
        "pipeline-q2": "clicks",
        "pipeline-q3": "clicks",
        "pipeline-q4": "clicks",
        "pipeline-q15": "sales",
        "pipeline-parametric": None,
        "partition": None,
        "reorder": None,
    }


def test_pipelines_are_offered_no_rate():
    for group in plan.groups(profiles.load("laptop"), [PAPER.id]):
        for task in group.tasks:
            assert (task.fractions, task.common, task.probes) == ((), False, 0)


def test_what_schedulers_are_given_is_less_and_more_than_in_figure_8():
    figure = FIGURES["8y"]
    assert figure.x == LINES
    told: dict[str, set[float]] = {}
    for line in figure.lines:
        for name, value in line.settings.items():
            told.setdefault(name, set()).add(float(value))
    there = series.resolved(FIGURES["8"], series.Series("qst"), {"query": "q2", "workers": 2})
    there["capacity"] = capacity_of(there)
    for name, values in told.items():
        assert min(values) < there[name], name
        # A source is saturated by default: there is no larger value.
        assert name == "source" or max(values) > there[name], name


def test_every_threshold_of_qst_can_be_reached_wherever_it_is_shown():
    shown = 0
    for figure, line in MEASURED:
        if figure.family == "pipeline" and line.variant == "qst":
            swept = {sweep.setting: sweep.values["quick"][-1] for sweep in figure.free}
            settings = series.resolved(figure, line, swept)
            # A threshold is a share of the capacity.
            assert capacity_of(settings) <= settings["slots"]
            shown += 1
    assert shown >= 4


def test_what_decided_is_told_under_the_figure_of_the_schedulers_and_beside_it():
    decided = {"turns_passed_over", "turns_held_back"}
    assert decided <= {*FIGURES["8"].noted} & {*FIGURES["8"].extended_quantities}
    assert decided <= {*FIGURES["8y"].extended_quantities}
    assert "ingress_us" in FIGURES["8x"].noted
    # Each of the paper's lines with enough room that only the scheduler's rule decides, in the
    # extended form.
    roomy = {f"{each}:slots=16384" for each in SCHEDULERS}
    assert roomy <= {*series.measured(FIGURES["8"])}


def test_whole_queries_have_worklists_above_a_slice_s_tuples():
    for figure_id in ("8", "8x", "8y", "11", "14", "14x"):
        assert FIGURES[figure_id].settings["slots"] == 4_096


def test_a_worklist_of_figure_13_holds_the_outputs_of_several_tuples_and_room_is_told():
    for figure in (FIGURES["13"], FIGURES["13x"]):
        assert "no_room_a_tuple" in figure.noted
    assert FIGURES["13"].settings["slots"] >= 10 * FIGURES["13"].settings["selectivity"]
    # The other reading of the cost, in the extended form.
    each = {f"ct:reorder={buffer},second_work=each,slots=64" for buffer in BUFFERS}
    assert each <= {*series.measured(FIGURES["13"])}


def test_query_1_s_clock_is_told_wherever_it_is_drawn():
    for figure_id in ("8", "8x", "11", "14", "14x"):
        assert "Query 1's clock runs faster" in FIGURES[figure_id].about


def test_slots_are_not_drawn_where_a_profile_has_one_place_of_them():
    figure = FIGURES["13x"]
    for size in SIZES:
        shown = {each for group in plan.groups(profiles.load(size), [PAPER.id])
                 for each in group.figures}  # fmt: skip
        many = len(figure.x.values[size]) > 1
        assert ((PAPER.id, "13x") in shown) == many
        settings = {"work_us": figure.panels.values[size][0], "slots": figure.x.values[size][0]}
        assert figure.declares(settings, size) == many


def test_the_ideal_speed_up_is_that_of_as_many_serial_runs_as_workers_and_cores(tmp_path):
    rows = [row for buffer in FIGURES["12"].lines for workers in (1, 2, 4)
            for row in rows_at("12", buffer, {"workers": workers}, cores=2)]  # fmt: skip
    drawn = draw.draw(PAPER.id, "12", results_of(tmp_path, rows))
    _, ideal = parted(drawn.table)
    assert dict(zip(ideal["x"], ideal["value"], strict=True)) == {1: 1.0, 2: 2.0, 4: 2.0}
    assert len(ideal) == 3 and set(ideal["panel"]) == {"speed_up"}
    assert "predicted: a serial run a worker, up to the cores" in texts(drawn.figure)
