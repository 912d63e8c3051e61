"""The declared figures of the fifth paper, typed a second time from its text and the notes."""

from __future__ import annotations

import pytest

from experiments import families, papers, plan, profiles, series
from experiments.declare import SIZES, Series, Sweep, order_of
from experiments.families.micro_batches.columns import WHOLE
from experiments.families.streamcloud.columns import COSTS, COUNTING
from experiments.records import quantities
from operators import registry

PAPER = papers.paper("streamcloud")
FIGURES = {figure.id: figure for figure in PAPER.figures}
STRATEGIES = {"query-cluster", "operator-cluster", "subquery-cluster"}
ONE = {"subquery-cluster"}
RATE, LINES = "offered rate", "lines"
# Queries, lines, x axis, panels; ids that end with an x are not the paper's.
FROM_THE_PAPER = {
    "7a": ("map", ONE, RATE, {"instances"}),
    "7b": (None, ONE, RATE, {"instances", "density", "query"}),
    "7c": ("aggregate", ONE, RATE, {"instances", "density"}),
    "7d": ("product", ONE, RATE, {"instances", "density"}),
    "7e": ("fixed-windows", ONE, "instances", {"window"}),
    "7ex": ("fixed-windows", ONE, "instances", {"window"}),
    "7f": ("eight-operators", STRATEGIES, RATE, {"processors"}),
    "7fx": ("eight-operators", STRATEGIES | {"query-cluster:processors=30"}, LINES, set()),
    "9": ("eight-operators", STRATEGIES, LINES, {"processors"}),
    "9x": ("eight-operators", STRATEGIES, "processors", set()),
    "10": ("join-by-nested-loop", ONE, "instances", {"nodes", "density"}),
    "10x": (None, ONE, "nodes", {"instances", "query"}),
    "11x": (
        None,
        {
            "query-cluster:query=relay",
            "operator-cluster:query=relay,blob=1",
            "operator-cluster:query=relay",
            "operator-cluster:query=relay,carrier=processes,processors=3,nodes=3",
        },
        LINES,
        set(),
    ),
}
# On Spark: not the paper's figures, and separate from those of threads.
ON_SPARK = {
    "7fs": ("eight-operators", LINES),
    "7s": (None, "instances"),
    "9s": ("eight-operators", LINES),
    "11s": ("relay", LINES),
    "12s": ("few-keys", "trigger"),
    "13s": ("few-keys", LINES),
    "14s": ("join", LINES),
}
COUNTED = ("7ex", "7fx", "9x", "10x")


def test_each_hop_of_a_socket_is_one():
    (line,) = (each for each in FIGURES["11x"].lines if "processes" in each)
    settings = dict(each.split("=") for each in line.partition(":")[2].split(","))
    made = families.make(registry.variant("streamcloud", "operator-cluster"))
    numbers = {name: int(settings[name]) for name in ("processors", "nodes")}
    made.check({**settings, "instances": 1, **numbers})
    stages = [stage.name for stage in made.plan.stages]
    homes = {
        name: processor % numbers["nodes"]
        for processor, runs in enumerate(made.plan.processors)
        for name, _ in runs
    }
    assert made.plan.hops() == 2
    assert homes == dict(zip(stages, (0, 1, 2), strict=True))


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {
        figure.id: (
            figure.settings.get("query"),
            set(figure.lines),
            figure.x.setting if isinstance(figure.x, Sweep) else figure.x,
            {sweep.setting for sweep in figure.free if sweep is not figure.x},
        )
        for figure in PAPER.figures
        if figure.family == "streamcloud"
    }
    assert declared == FROM_THE_PAPER
    assert [figure.id for figure in PAPER.figures] == sorted(FIGURES, key=order_of)


def test_figures_on_spark_are_ours_and_stand_apart():
    found = {
        figure.id: (
            figure.settings.get("query") or (Series(figure.lines[0]).settings.get("query")),
            figure.x.setting if isinstance(figure.x, Sweep) else figure.x,
        )
        for figure in PAPER.figures
        if figure.family == "micro_batches"
    }
    assert found == ON_SPARK
    assert set(FIGURES) == {*FROM_THE_PAPER, *ON_SPARK}
    for name in ON_SPARK:
        figure = FIGURES[name]
        assert figure.heading == "spark" and figure.caption.endswith("on Spark (ours)")
        shown = {*figure.quantities, *figure.extended_quantities}
        assert {quantities.quantity(each).phase for each in shown} == {WHOLE}
        # Closed loops: no rate here is a sustained one.
        assert "sustain" not in figure.title + figure.about
    assert all(FIGURES[name].heading != "spark" for name in FROM_THE_PAPER)
    assert (swept("12s", "trigger", "laptop")) == (100_000, 500_000, 2_000_000)
    assert {"stream", "stream:instances=1", "spark-window", "pandas-with-state"} <= {
        *FIGURES["12s"].lines
    }


def swept(figure: str, setting: str, size: str = "paper") -> tuple:
    (found,) = (each for each in FIGURES[figure].free if each.setting == setting)
    return found.values[size]


def test_the_paper_s_numbers_of_instances_and_nodes_are_its_own():
    for name in ("7a", "7b", "7c", "7d"):
        assert swept(name, "instances") == (1, 2, 20, 40)
        assert swept(name, "instances", "quick") == (1, 2)
    assert swept("7e", "instances") == (1, 4, 16, 36, 64)
    assert swept("7e", "window") == (20_000,)
    assert (swept("7f", "processors"), swept("9", "processors")) == ((60,), (30,))
    assert swept("10", "instances") == (1, 2, 3, 4)
    assert (min(swept("10", "nodes")), max(swept("10", "nodes"))) == (1, 20)
    for size in SIZES:
        # Counted at the paper's numbers in every profile.
        assert {4, 16, 36, 64} <= set(swept("7ex", "instances", size))
        assert {30, 60} <= set(swept("9x", "processors", size))
        assert "join-by-nested-loop" in swept("7b", "query", size)
    assert FIGURES["7fx"].settings["processors"] == 60


def test_more_is_offered_than_is_taken():
    for name in ("7a", "7b", "7c", "7d", "7f"):
        for task in plan.tasks_of(FIGURES[name], profiles.load("quick")):
            assert task.fractions == (0.3, 0.7, 1.1, 1.5)


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_counted_is_never_timed_and_says_so(name):
    figure = FIGURES[name]
    shown = [quantities.quantity(each) for each in figure.quantities + figure.extended_quantities]
    assert {(each.phase, each.timed) for each in shown} == {(COUNTING, False)}
    assert "counted" in figure.title and "counted" in figure.caption
    assert all("counted)" in each.label for each in shown)
    for task in plan.tasks_of(figure, profiles.load("quick")):
        assert (task.sliced, task.once, task.fractions) == (False, (COUNTING,), ())


def test_measured_and_counted_stand_in_no_figure_together():
    for name in set(FIGURES) - set(COUNTED):
        figure = FIGURES[name]
        shown = {quantities.quantity(each).phase for each in (
            *figure.quantities, *figure.extended_quantities)}  # fmt: skip
        assert COUNTING not in shown


def test_processes_are_started_for_few_runs():
    group = plan.group("streamcloud-calls", profiles.load("laptop"))
    nodes = [task for task in group.tasks if task.seldom]
    assert {(task.seldom, task.sliced) for task in nodes} == {((COSTS,), False)}
    assert {task.settings["carrier"] for task in nodes} == {"processes"}
    assert not any(t.sliced for t in group.tasks if t.settings["carrier"] == "processes")


@pytest.mark.parametrize("size", SIZES)
def test_every_profile_has_settings_that_its_variants_take(size):
    found = {group.id: group for group in plan.groups(profiles.load(size), ["streamcloud"])}
    assert set(found) == {
        "streamcloud-calls", "streamcloud-numbers", "spark-calls", "spark-numbers",
    }  # fmt: skip
    for group in found.values():
        family = registry.family(group.family)
        for task in group.tasks:
            family.resolve(registry.variant(group.family, task.variant), task.settings)


def test_what_figures_show_is_a_quantity_of_the_family():
    for figure in PAPER.figures:
        known = set(quantities.of_family(figure.family))
        assert {*figure.quantities, *figure.extended_quantities} <= known


def test_the_lines_of_hops_are_named_by_their_hops():
    titles = [series.drawn("streamcloud", Series(line)).title for line in FIGURES["11x"].lines]
    assert titles == ["Function call", "Ring of tuples", "Ring of blobs", "Socket of blobs"]


@pytest.mark.parametrize(("profile", "minutes"), [("quick", (2, 3)), ("laptop", (18, 30))])
def test_measuring_takes_its_share_of_a_profile(profile, minutes):
    lines = plan.plan(profiles.load(profile), ["streamcloud"])
    for family, most in zip(("streamcloud", "micro_batches"), minutes, strict=True):
        assert 0 < sum(each.minutes for each in lines if each.group.family == family) <= most
