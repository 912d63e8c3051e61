"""The paper's cost model: formulas by hand, recovered constants, and missing cases."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest

from experiments.judging.points import gather
from experiments.pim_tree import cost_model
from experiments.pim_tree.cost_model import FORMULAS, Constants, Setting, subindexes
from operators import registry
from operators.core.jit import INTERPRETED
from tests.modelled import (
    CONSTANTS,
    DECLARED,
    FIT_AT,
    LARGER,
    TREES,
    all_steps,
    costs_at,
    rate_of,
    steps_of,
)
from tests.operators.index import scripts

# Three levels of four: every logarithm is a whole number.
AT = Setting(64, 2.0, 4, 4, chain_length=4, merge_ratio=0.5, insertion_depth=1, cores=4)
OF = Constants(search=2.0, insert=5.0, delete=7.0, compare=1.0, immutable=1.0, merge=0.5)
BY_HAND = {
    # search, scan, delete, insert, merge
    "b_plus_tree": (3 * 2, 2, 3 * 7, 3 * 5, 0),
    # H_c = 2; a sixth of an expired tuple for each partner.
    "b_chain": (4 * 2 * 2, 2 + 2 / 6, 0, 2 * 5, 0),
    # One search in the active subindex, three in immutable ones; each tuple is moved once.
    "ib_chain": (2 * 2 + 3 * 2 * 1, 2 + 2 / 6, 0, 2 * 5, 0.5),
    "round_robin": (4 * 2 * 2, 2, 2 * 7, 2 * 5, 0),
    # T_I has 16 tuples on average; a merge moves 96 elements for each 32 tuples.
    "im_tree": (2 * 2 + 3 * 1, 2 * 1.25, 0, 2 * 5, 3 * 0.5),
    # Four subindexes of four tuples: H'_I = 1.
    "pim_tree": (3 * 1 + 1 * 2, 2 * 1.25, 0, 1 * 1 + 1 * 5, 3 * 0.5),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_each_formula_gives_what_it_gives_by_hand(name):
    costs = getattr(cost_model, name)(AT, OF)
    assert tuple(costs) == pytest.approx(BY_HAND[name])
    assert costs.whole == pytest.approx(sum(BY_HAND[name]))


def test_memory_is_that_of_both_components_the_buffer_and_what_is_not_merged():
    assert tuple(cost_model.memory_of(AT)) == (32, 64, 64, 96)


@pytest.mark.skipif(INTERPRETED, reason="forty thousand steps")
def test_footprints_are_the_models_where_nodes_are_full_and_figure_11c_says_where_not():
    window, element = 1 << 14, 8
    keys = np.random.default_rng(2).permutation(3 * window)
    script = scripts.sliding(keys, window, 0, np.iinfo(np.int32))
    script = script[script[:, 0] != scripts.SEARCH]
    wanted = cost_model.memory_of(AT._replace(window=window, merge_ratio=1))

    def used_by(name, **own):
        operations = registry.variant("index", name).operations
        state = operations.make_state(window, **own)
        scripts.run(operations, state, script, window)
        return operations.footprint(state)

    tree = used_by("pim-tree", merge_ratio=1)
    assert tree["search"] == pytest.approx(element * wanted.immutable, rel=0.05)
    assert tree["buffer"] == pytest.approx(element * wanted.buffer, rel=0.05)
    # Right before a merge; nodes are as full as splits leave them.
    assert tree["insert"] == pytest.approx(1.6 * element * wanted.mutable, rel=0.05)
    assert used_by("b-plus-tree")["insert"] == pytest.approx(1.8 * element * window, rel=0.05)


@pytest.mark.parametrize(
    ("power", "asked", "depth", "count"),
    [(20, 2, 2, 1024), (20, 9, 2, 1024), (20, 1, 1, 32), (17, 2, 2, 128), (12, 2, 1, 4),
     (10, 2, 0, 1), (4, 2, 0, 1)],
)  # fmt: skip
def test_subindexes_hang_at_the_lowest_inner_nodes_at_most(power, asked, depth, count):
    assert subindexes(Setting(1 << power, 2.0, 32, 32, insertion_depth=asked)) == (depth, count)


def test_an_empty_tree_costs_nothing():
    small = AT._replace(window=2, chain_length=4, merge_ratio=0.01)
    for formula in FORMULAS.values():
        assert all(cost >= 0 for cost in formula(small, OF))


# Consequences of the formulas that the text states.


def test_a_longer_chain_costs_more_to_search_and_less_to_insert():
    for chain in (cost_model.b_chain, cost_model.ib_chain):
        at = Setting(1 << 20, 2.0, 32, 32)
        found = [chain(at._replace(chain_length=length), OF) for length in (2, 3, 5, 9, 17, 33)]
        searches, inserts = ([getattr(c, step) for c in found] for step in ("search", "insert"))
        assert searches == sorted(searches) and searches[0] < searches[-1]
        assert inserts == sorted(inserts, reverse=True) and inserts[0] > inserts[-1]


def test_round_robin_searches_more_and_updates_less_the_more_cores_there_are():
    at = Setting(1 << 20, 2.0, 32, 32)
    one, many = (cost_model.round_robin(at._replace(cores=cores), OF) for cores in (1, 16))
    assert one == cost_model.b_plus_tree(at, OF)
    assert many.search > one.search and many.insert < one.insert and many.delete < one.delete


@pytest.mark.parametrize("line", ["im-tree", "pim-tree"])
def test_a_late_merge_costs_less_to_merge_and_more_to_search_and_insert(line):
    at = Setting(1 << 20, 2.0, 32, 32)
    early, late = (FORMULAS[line](at._replace(merge_ratio=m), OF) for m in (1 / 64, 1))
    assert late.merge < early.merge
    assert late.search > early.search and late.insert > early.insert and late.scan > early.scan


def test_a_larger_window_costs_no_less_in_any_step():
    for formula in FORMULAS.values():
        found = [formula(Setting(1 << power, 2.0, 32, 32), OF) for power in (10, 15, 20, 25)]
        for small, large in zip(found, found[1:], strict=False):
            assert large.whole > small.whole
            assert all(one <= other + 1e-9 for one, other in zip(small, large, strict=True))


# Constants.


def points(rows, figure="10a"):
    return gather(rows, DECLARED[figure])


def test_constants_are_found_again_in_what_they_made():
    found = cost_model.fit(points(all_steps()))
    assert found.window == FIT_AT
    assert tuple(found.constants) == pytest.approx(tuple(CONSTANTS), rel=1e-9)


def test_only_the_smallest_window_is_fitted_to():
    slow = Constants(*(5 * value for value in CONSTANTS))
    rows = all_steps((FIT_AT,)) + all_steps((LARGER,), constants=slow)
    assert tuple(cost_model.fit(points(rows)).constants) == pytest.approx(tuple(CONSTANTS))
    found = cost_model.fit(points(all_steps((LARGER,), constants=slow)))
    assert found.window == LARGER and tuple(found.constants) == pytest.approx(tuple(slow))


def test_what_several_trees_tell_is_least_squares():
    rows = [steps_of(line, FIT_AT) for line in TREES[:2]]
    rows.append(steps_of("pim-tree", FIT_AT, CONSTANTS._replace(immutable=6.0)))
    found = cost_model.fit(points(rows)).constants
    # Both search T_S equally deep: the middle of 3 and 6.
    assert found.immutable == pytest.approx(4.5)
    assert found.search == pytest.approx(CONSTANTS.search)


def test_a_constant_that_nothing_tells_is_none_and_so_is_what_needs_it():
    rows = [row for row in all_steps() if row["variant"] == "b-plus-tree"]
    found = cost_model.fit(points(rows)).constants
    assert math.isnan(found.immutable) and math.isnan(found.merge)
    assert found.insert == pytest.approx(CONSTANTS.insert)
    estimates = predicted([*rows, *rates("10b", 1e6)], "10b")
    assert {each.variant for each in estimates.values} == {"b-plus-tree"}
    assert "an element of a merge" in estimates.lacking and "w = 4,096" in estimates.lacking


def test_a_step_takes_no_less_than_nothing():
    # The search of the IM-Tree takes less time than its B+-Tree part alone.
    rows = [
        steps_of("b-plus-tree", FIT_AT),
        steps_of("im-tree", FIT_AT, Constants(1, 1, 1, 1, 0, 1)),
    ]
    assert math.isnan(cost_model.fit(points(rows)).constants.immutable)


# Predictions.


def rates(figure, tps):
    declared = DECLARED[figure]
    swept = [
        {"window": LARGER, "chain_length": length} if figure == "8b" else {"window": window}
        for window, length in zip((1 << 10, FIT_AT, LARGER), (2, 3, 9), strict=True)
    ]
    return [rate_of(figure, line, tps, **at) for line in declared.lines for at in swept]


def predicted(rows, figure):
    def measured(figure_id):
        return points(rows, figure_id)

    return cost_model.predict(measured, DECLARED[figure])


@pytest.mark.parametrize("figure", ["8b", "10b"])
def test_throughput_is_one_over_the_cost_at_each_measured_place(figure):
    declared = DECLARED[figure]
    estimates = predicted(all_steps() + rates(figure, 1e6), figure)
    places = [(each.variant, each.settings[declared.x.setting]) for each in estimates.values
              if each.settings["window"] == LARGER or figure == "10b"]  # fmt: skip
    assert len(places) == len(set(places)) == 9
    for each in estimates.values:
        swept = {sweep.setting: each.settings[sweep.setting] for sweep in declared.free}
        cost = costs_at(declared, each.variant, **swept).whole
        assert each.value == pytest.approx(1e9 / cost) and each.quantity == "throughput_tps"
        assert not each.fitted
    assert estimates.source == "model, fitted at w = 4,096" and not estimates.lacking


def test_steps_are_fitted_at_the_smallest_window_and_predicted_at_the_others():
    estimates = predicted(all_steps(), "10a")
    assert len(estimates.values) == 2 * len(TREES) * len(DECLARED["10a"].quantities)
    for each in estimates.values:
        window = each.settings["window"]
        costs = costs_at(DECLARED["10a"], each.variant, window=window)
        assert each.value == pytest.approx(getattr(costs, each.quantity.removesuffix("_ns")))
        assert each.fitted == (window == FIT_AT)


def test_without_steps_nothing_is_predicted():
    estimates = predicted(rates("10b", 1e6), "10b")
    assert not estimates.values and estimates.lacking == "no step was measured for figure 10a"
    invalid = [{**row, "valid": False, "invalid_reason": "timed out"} for row in all_steps()]
    assert not predicted([*invalid, *rates("10b", 1e6)], "10b").values


def test_where_nothing_was_measured_nothing_is_predicted():
    assert not predicted(all_steps(), "10b").values


def test_the_model_stands_beside_the_operators_and_knows_none():
    tree = ast.parse(Path(cost_model.__file__).read_text(encoding="utf-8"))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [module for module in modules if module.startswith("operators")]


def test_the_figures_that_the_paper_compares_by_it_name_the_model():
    named = {figure.id for figure in DECLARED.values() if figure.model}
    assert named == {"8b", "10a", "10b"}
    assert {DECLARED[each].model for each in named} == {"cost_model"}
