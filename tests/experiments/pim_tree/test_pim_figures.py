"""The declared figures of the fourth paper, typed a second time from its text and the notes."""

from __future__ import annotations

import pytest

from experiments import papers, plan, profiles, series
from experiments.declare import SIZES, Series, Sweep, order_of
from experiments.pim_tree.cost_model import Setting, subindexes
from experiments.records import quantities
from operators import registry

PAPER = papers.paper("pim_tree")
FIGURES = {figure.id: figure for figure in PAPER.figures}
TREES = {"b-plus-tree", "im-tree", "pim-tree"}
PARALLEL, BW_TREE = "pim-tree-parallel", "bw-tree"


def depths(variant: str) -> set[str]:
    return {f"{variant}:insertion_depth={depth}" for depth in range(4)}


# Compared setting, x axis, panels.
FROM_THE_PAPER = {
    "8a": (
        {"nested-loop-scalar", "b-plus-tree", BW_TREE}
        | {
            f"round-robin-as-printed:index={each}" for each in ("nested-loop-scalar", "b-plus-tree")
        },
        "window",
        None,
    ),
    "8b": ({"b-chain", "ib-chain", "b-plus-tree"}, "chain_length", "window"),
    "8c": (depths("pim-tree"), "window", None),
    "9a": (depths(PARALLEL), "window", None),
    "9b": ({"im-tree"}, "merge_ratio", "window"),
    "9c": ({"pim-tree"}, "merge_ratio", "window"),
    "9d": ({PARALLEL}, "merge_ratio", "window"),
    "10a": (TREES, "lines", "window"),
    "10b": (TREES, "window", None),
    "10c": (TREES | {PARALLEL}, "match_rate", "window"),
    "11a": ({PARALLEL}, "task_size", None),
    "11b": ({PARALLEL}, "task_size", None),
    "11c": ({"b-plus-tree", "pim-tree:merge_ratio=1"}, "lines", "window"),
    "12a": ({"pim-tree", "pim-tree:merge_ratio=1", PARALLEL}, "threads", "kind"),
    "12b": (
        {"b-plus-tree", "pim-tree", BW_TREE, PARALLEL, f"{PARALLEL}:merge=blocking"},
        "window",
        None,
    ),
    "12c": ({"b-plus-tree", "pim-tree", PARALLEL}, "window", None),
    "13a": ({PARALLEL}, "keys", "window"),
    "13b": ({"pim-tree:merge_ratio=1"}, "drift", "window"),
    "13c": ({PARALLEL}, "drift", "window"),
}


def test_each_figure_is_declared_as_the_paper_has_it():
    declared = {
        figure.id: (
            set(figure.lines),
            figure.x.setting if isinstance(figure.x, Sweep) else figure.x,
            figure.panels and figure.panels.setting,
        )
        for figure in PAPER.figures
    }
    assert declared == FROM_THE_PAPER
    assert {figure.family for figure in PAPER.figures} == {"join"}
    assert [figure.id for figure in PAPER.figures] == sorted(FIGURES, key=order_of)


def test_sweeps_go_as_far_as_the_paper_and_no_further():
    ends = {"8a": (14, 25), "8c": (10, 25), "9a": (10, 25), "9b": (16, 23), "9d": (16, 23),
            "10b": (10, 25), "12b": (10, 25), "12c": (10, 25)}  # fmt: skip
    for name, (first, last) in ends.items():
        sweep = FIGURES[name].panels or FIGURES[name].x
        assert sweep.values["paper"] == tuple(1 << power for power in range(first, last + 1))
        assert max(sweep.values["quick"]) <= 1 << 17 and max(sweep.values["laptop"]) <= 1 << 23
    assert FIGURES["9c"].x.values["paper"] == tuple(2.0**power for power in range(-6, 1))
    rates = FIGURES["10c"].x.values
    for size in SIZES:
        # Between 2**-4 and 2**4 little should change, and up to 2**10 much.
        assert {0.0625, 16, 1024} <= set(rates[size])
    for name in ("13b", "13c"):
        assert FIGURES[name].x.values["paper"] == (0, 0.1, 0.2, 0.4, 0.6, 0.8, 1)
    for name in ("11a", "11b"):
        assert FIGURES[name].x.values["paper"] == tuple(range(1, 11))
        assert {1, 4, 5, 8, 10} <= set(FIGURES[name].x.values["laptop"])
    threads = FIGURES["12a"].x.values
    assert (min(threads["paper"]), max(threads["paper"])) == (1, 16)
    assert {"uniform", "gaussian", "gamma-3-3", "gamma-1-5"} == set(
        FIGURES["13a"].x.values["quick"]
    )
    assert 2 in FIGURES["8b"].x.values["quick"]


def test_the_three_deviations_of_the_drift_are_run():
    (sweep,) = FIGURES["13b"].sweeps
    assert sweep.values["laptop"] == (0.0125, 0.125, 0.3536)
    assert abs(0.3536**2 - 0.125) < 1e-3


def test_a_large_window_of_several_threads_is_measured_in_one_process():
    laptop = profiles.load("laptop")
    group = plan.group("join-keys", laptop)
    left_out = {t.identity: t for t in group.tasks}
    for task in group.in_process(2).tasks:
        del left_out[task.identity]
    assert {task.settings["window"] for task in left_out.values()} == {1 << 20, 1 << 23}
    assert {task.variant for task in left_out.values()} >= {PARALLEL, BW_TREE}
    for task in group.tasks:
        large = task.settings["window"] >= 1 << 20 and "task_size" in task.settings
        assert (task.identity in left_out) == large
    assert not any(t.processes for t in plan.group("join-drift", laptop).tasks)


def test_a_plan_knows_how_long_cycles_of_merges_are():
    def seconds(size: str, **wanted: object) -> float:
        profile = profiles.load(size)
        (task,) = (
            t for t in plan.tasks_of(FIGURES["9d"], profile)
            if {n: t.settings[n] for n in wanted} == wanted
        )  # fmt: skip
        own = ("join", task, profile)
        return plan.task_seconds(*own) + plan.started_seconds(*own)

    # A cycle of 2**21 tuples is four slices long, one of 2**15 a sixteenth of one.
    large = seconds("laptop", window=1 << 20, merge_ratio=1)
    assert large > 2 * seconds("laptop", window=1 << 20, merge_ratio=1 / 64) > 2
    small = [seconds("laptop", window=1 << 16, merge_ratio=m) for m in (1, 1 / 64)]
    assert small[0] == pytest.approx(small[1], rel=0.05)


@pytest.mark.parametrize(("profile", "minutes"), [("quick", 2), ("laptop", 20)])
def test_joins_of_several_threads_take_their_share_of_a_profile(profile, minutes):
    chosen = profiles.load(profile)
    seconds = sum(
        min(task.processes or chosen.repetitions, chosen.repetitions)
        * plan.task_seconds("join", task, chosen)
        for group in plan.groups(chosen, ["pim_tree"])
        for task in group.tasks
        if "task_size" in task.settings
    )
    assert seconds <= 60 * minutes


@pytest.mark.parametrize("size", SIZES)
def test_every_profile_has_settings_that_its_variants_take(size):
    profile = profiles.load(size)
    found = {group.id: group for group in plan.groups(profile, ["pim_tree"])}
    assert set(found) == {"join-keys", "join-drift"}
    for group in found.values():
        for task in group.tasks:
            registry.family("join").resolve(registry.variant("join", task.variant), task.settings)


def test_a_tree_without_a_chain_is_the_same_at_each_chain_length():
    figure = FIGURES["8b"]
    assert series.meaningless(figure, Series("b-plus-tree")) == {"chain_length"}
    assert series.meaningless(figure, Series("b-chain")) == set()
    settings = series.resolved(figure, Series("b-plus-tree"), {"chain_length": 9, "window": 4096})
    assert "chain_length" not in settings and settings["window"] == 4096


def test_what_figures_show_is_a_quantity_of_joins():
    known = quantities.of_family("join")
    for figure in PAPER.figures:
        assert {*figure.quantities, *figure.extended_quantities} <= set(known)


def test_parallel_joins_have_two_threads_and_the_papers_parameters():
    usual = {"threads": 2, "task_size": 8, "merge": "non-blocking", "merge_ratio": 1}
    for figure in PAPER.figures:
        for line in figure.lines:
            if line.variant == PARALLEL:
                swept = {sweep.setting for sweep in figure.free} | set(line.settings)
                found = series.resolved(figure, line, {})
                assert {n: found[n] for n in usual if n not in swept} == {
                    n: value for n, value in usual.items() if n not in swept
                }


def test_a_join_without_locks_is_the_same_at_each_number_of_threads():
    figure = FIGURES["12a"]
    assert series.meaningless(figure, Series("pim-tree")) == {"threads"}
    kinds = [sweep.values["quick"] for sweep in figure.columned]
    assert kinds == [("two-way", "self"), (1 << 17,)]


def test_published_studies_of_the_bw_tree_stand_beside_its_figure():
    for named in ("SIGMOD 2018", "OSDI 2026", "VLDB 2023"):
        assert named in FIGURES["12b"].about


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["8c", "9a"])
def test_no_depth_is_measured_that_a_tree_does_not_have(name, size):
    tasks = plan.tasks_of(FIGURES[name], profiles.load(size))
    assert {task.settings["insertion_depth"] for task in tasks} >= {0, 1, 2}
    for task in tasks:
        window, depth = task.settings["window"], task.settings["insertion_depth"]
        assert subindexes(Setting(window, 2.0, 32, 32, insertion_depth=depth))[0] == depth
    # The default depth, at a window whose tree is not that deep: other figures measure it.
    assert not FIGURES[name].includes(
        {**tasks[0].settings, "window": 1 << 12, "insertion_depth": 2}
    )
