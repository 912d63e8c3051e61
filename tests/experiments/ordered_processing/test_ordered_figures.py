"""The declared figures of the second paper, typed a second time from its text and the notes."""

from __future__ import annotations

import pytest

from experiments import papers, plan, profiles, series
from experiments.declare import LINES, SIZES, Sweep, order_of
from experiments.records import quantities
from figures import draw
from operators import registry

PAPER = papers.paper("ordered_processing")
FIGURES = {figure.id: figure for figure in PAPER.figures}
QUERIES = ("q1", "q2", "q3", "q4", "q15")
SCHEDULERS = {"qst", "lp", "et", "ct"}
QUEUES = {"partitioned", "hybrid"}
BUFFERS = {"lock-based", "non-blocking"}
# Family, what is compared, x axis, what stands beside.
FROM_THE_PAPER = {
    "8": ("pipeline", SCHEDULERS, "workers", "query"),
    "9": ("partition", QUEUES, "workers", "sigma"),
    "10": ("partition", QUEUES, "work_us", "slots"),
    "11": ("pipeline", {f"ct:partition={each}" for each in QUEUES}, "workers", "query"),
    "12": ("reorder", BUFFERS, "workers", None),
    "13": ("pipeline", {f"ct:reorder={each}" for each in BUFFERS}, "workers", "work_us"),
    "14": ("pipeline", {f"ct:reorder={each}" for each in BUFFERS}, "query", None),
}
MEASURED = [(figure, one) for figure in PAPER.figures for one in series.measured(figure)]


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {
        figure.id: (
            figure.family,
            set(figure.lines),
            figure.x.setting,
            figure.beside and figure.beside.setting,
        )
        for figure in PAPER.figures
        if figure.id.isdigit()
    }
    assert declared == FROM_THE_PAPER
    assert [figure.id for figure in PAPER.figures] == sorted(FIGURES, key=order_of)


def test_workers_go_up_to_the_papers_sixteen():
    for figure in PAPER.figures:
        if isinstance(figure.x, Sweep) and figure.x.setting == "workers":
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
    assert FIGURES["13"].beside.values["paper"] == (100,)


def test_every_query_is_beside_in_the_order_of_the_paper():
    for figure in PAPER.figures:
        for sweep in figure.free:
            if sweep.setting == "query":
                # A quick run has one query of what the paper does not show.
                sizes = SIZES if figure.id.isdigit() else SIZES[1:]
                assert all(sweep.values[size] == QUERIES for size in sizes)


def test_uneven_keys_are_measured_where_two_cores_can_show_them():
    assert all({1, 3} <= set(FIGURES["9"].x.values[size]) for size in SIZES)
    assert all(0.1 in FIGURES["9"].beside.values[size] for size in SIZES)


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
    # With constant work and short sends the schemes are alike: these show what the paper tells of.
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


def test_what_schedulers_are_given_is_less_and_more_than_by_default():
    figure = FIGURES["8y"]
    assert figure.x == LINES
    told: dict[tuple[str, str], set[float]] = {}
    for line in figure.lines:
        for name, value in line.settings.items():
            told.setdefault((line.variant, name), set()).add(float(value))
    defaults = {each.name: each.default for each in registry.family("pipeline").settings}
    for (_, name), values in told.items():
        assert min(values) < defaults[name]
        # A source is saturated by default: there is no more of it.
        assert name == "source" or max(values) > defaults[name]
