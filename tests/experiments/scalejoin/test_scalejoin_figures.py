"""The declared figures of the third paper, typed a second time from its text and the notes."""

from __future__ import annotations

import math

import pytest

from experiments import papers, plan, profiles
from experiments.declare import SIZES, Sweep, order_of
from experiments.families.theta_join.columns import HIGHEST, REAL_TIME
from experiments.judging.points import gather
from experiments.records import quantities
from experiments.scalejoin import ideal
from experiments.timing import rounds
from operators import registry
from tests.invented_scalejoin import rows_at
from tests.required import required_runs

PAPER = papers.paper("scalejoin")
FIGURES = {figure.id: figure for figure in PAPER.figures}
JOINS = {"scale-join", "handshake", "handshake-low-latency"}
CHAINS = ("handshake:messages={}", "handshake-low-latency:messages={}")
# Compared setting, x axis, and the setting of the lines.
FROM_THE_PAPER = {
    "5a": ({"scale-join"}, "threads", "window_s"),
    "5b": ({"scale-join"}, "threads", "window_s"),
    "5c": ({"scale-join"}, "threads", "window_s"),
    "5x": ({"scale-join"}, "streams", None),
    "6a": (JOINS, "threads", None),
    "6c": (JOINS, "threads", None),
    "6x": (
        {each.format(n) for n in (16, 1024) for each in CHAINS}
        | {"scale-join:ahead=64", "scale-join:ahead=16384"}
        | JOINS,
        "lines",
        None,
    ),
    "7a": ({"t-gate"}, "sources", "readers"),
    "7b": ({"scale-join"}, "threads", "window_s"),
    "7x": (JOINS, "window_s", "density"),
    "8a": ({"scale-join"}, "lines", None),
    "8b": ({"scale-join"}, "lines", None),
    "8c": ({"scale-join"}, "lines", None),
}


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {
        figure.id: (
            set(figure.lines),
            figure.x.setting if isinstance(figure.x, Sweep) else figure.x,
            figure.sweeps[0].setting if figure.sweeps else None,
        )
        for figure in PAPER.figures
    }
    assert declared == FROM_THE_PAPER
    assert [figure.id for figure in PAPER.figures] == sorted(FIGURES, key=order_of)


def test_windows_and_threads_are_the_papers():
    for name in ("5a", "5b", "5c", "7b"):
        (sweep,) = FIGURES[name].sweeps
        # In a quick run, the longest and the shortest show the dependence on the window.
        assert sweep.values == {
            "quick": (300, 900), "laptop": (300, 600, 900), "paper": (300, 600, 900)
        }  # fmt: skip
        assert FIGURES[name].x.values["paper"][-1] == 48
    skew = {"8a": ("constant", 10), "8b": ("sinusoid", 12), "8c": ("peaks", 14)}
    for name, (profile, threads) in skew.items():
        assert FIGURES[name].settings == {"profile": profile, "threads": threads}


@pytest.mark.parametrize("size", SIZES)
def test_every_profile_has_settings_that_its_variants_take(size):
    profile = profiles.load(size)
    found = {group.id: group for group in plan.groups(profile, ["scalejoin"])}
    assert set(found) == {"theta_join-streams", "gate-readers"}
    for group in found.values():
        family = registry.family(group.family)
        for task in group.tasks:
            family.resolve(registry.variant(group.family, task.variant), task.settings)


def test_searches_are_made_once_a_process_minutes_once_and_latencies_twice():
    group = plan.group("theta_join-streams", profiles.load("laptop"))
    searched = [task for task in group.tasks if task.seldom]
    real = [task for task in group.tasks if task.once]
    assert {task.seldom for task in searched} == {(HIGHEST,)}
    twice = [task for task in group.tasks if task.twice]
    assert {task.once for task in real} == {task.twice for task in twice} == {(REAL_TIME,)}
    assert {task.settings["profile"] for task in real} == {"constant", "sinusoid", "peaks"}
    assert {task.settings["profile"] for task in twice} == {"even"}
    for repetition, number, expected in ((1, 1, (1, 1, 1)), (2, 1, (1, 0, 1)), (1, 2, (0, 0, 0))):
        made = rounds.closed_round(group, number, repetition)
        of_study = [r.task in real for r in made if r.phase == REAL_TIME]
        found = (
            sum(run.phase == HIGHEST for run in made) / len(searched),
            of_study.count(True) / len(real),
            of_study.count(False) / len(twice),
        )
        assert found == expected, (repetition, number)
    lengths = profiles.load("laptop").lengths
    first, third = (required_runs(group, lengths, n) for n in (1, 3))
    assert {run.phase for run in first} - {run.phase for run in third} == {REAL_TIME}


def test_what_is_run_once_counts_once_in_the_plan():
    laptop = profiles.load("laptop")
    group = plan.group("theta_join-streams", laptop)
    # A minute for each panel of figure 8, and two windows and a half, twice each, in figure 7x.
    latencies = 4 * 2.5 * 14
    for repetition, wanted in ((1, 3 * 60 + latencies), (2, latencies), (3, 0)):
        found = plan._seldom_seconds(group, laptop, repetition)
        assert found == pytest.approx(wanted, rel=0.02), repetition


@pytest.mark.parametrize("size", SIZES)
def test_latencies_are_compared_at_the_rate_of_pairs_of_the_paper(size):
    figure = FIGURES["7x"]
    (density,) = figure.sweeps[0].values[size]
    # Section VI: 2 WS T^2 comparisons/s, of which one in 250,000 is a pair.
    rates = [2 * window * density**2 / 250_000 / figure.settings["threads"]
             for window in figure.x.values[size]]  # fmt: skip
    # 4 billion comparisons/s by 48 threads.
    assert math.prod(rates) ** (1 / len(rates)) == pytest.approx(4e9 / 250_000 / 48, rel=0.05)
    assert max(rates) / min(rates) <= 4.01


def test_what_figures_show_is_a_quantity():
    for figure in PAPER.figures:
        known = quantities.of_family(figure.family)
        assert {*figure.quantities, *figure.extended_quantities} <= set(known)


@pytest.mark.parametrize(("name", "growth"), [("5a", lambda n: n), ("5b", math.sqrt)])
def test_the_bound_grows_with_the_threads_up_to_the_cores(name, growth):
    figure = FIGURES[name]
    given = []
    for threads in (1, 2, 4):
        at = {"threads": threads, "window_s": 300}
        given += rows_at(figure, "scale-join", at, 1e4, cores=2)
    points = gather(given, figure)
    estimates = ideal.predict(lambda figure_id: points, figure)
    one = next(p.value for p in points if p.settings["threads"] == 1
               and p.quantity == figure.quantities[0])  # fmt: skip
    found = {each.settings["threads"]: each for each in estimates.values}
    for threads in (1, 2, 4):
        assert found[threads].value == pytest.approx(growth(min(threads, 2)) * one)
    assert [found[threads].fitted for threads in (1, 2, 4)] == [True, False, False]
    assert ideal.predict(lambda figure_id: [], figure).lacking
