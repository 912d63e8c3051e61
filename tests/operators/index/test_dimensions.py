"""Programs of indexes that come from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.check.families import scenarios, uncovered
from operators.index.check.dimensions import DIMENSIONS, TUPLES, derived_programs
from operators.index.check.scenarios import ENTER, LEAVE

PIM = registry.variant("index", "pim-tree")
CHAIN = registry.variant("index", "ib-chain")


def test_every_pair_of_values_that_an_index_can_have_occurs():
    cases = [each.case for each in derived_programs(PIM)]
    table = {name: values for name, values in DIMENSIONS.items() if name != "chain"}
    for one, other in combinations(table, 2):
        there = {(case[one], case[other]) for case in cases}
        assert there == set(product(table[one], table[other]))
    assert {case["chain"] for case in cases} == {2} and len(cases) < 30


def test_what_an_index_cannot_have_is_said_with_the_reason():
    no_share = "no merge of the index is due by a share of the window"
    assert uncovered(CHAIN) == [f"ratio {value}: {no_share}" for value in (0.25, 0.5)]
    no_chain = "the index has no chain of subindexes"
    assert uncovered(PIM) == [f"chain {value}: {no_chain}" for value in (3, 5)]


@pytest.mark.parametrize("variant", registry.variants("index"), ids=lambda v: v.id)
def test_programs_fill_windows_and_some_empty_them(variant):
    derived = {each.name: each for each in derived_programs(variant)}
    made = [each for each in scenarios(variant) if each.name in derived]
    assert len(made) == len(derived)
    for scenario in made:
        case = derived[scenario.name].case
        (calls,) = scenario.programs
        state, most, there = scenario.make(), 0, 0
        history = [scenario.perform(state, call) for call in calls]
        scenario.finish(state, history)
        scenario.invariants(state)
        for call in calls:
            there += (call.name == ENTER) - (call.name == LEAVE)
            most = max(most, there)
        assert most == case["window"]
        # What is left: a full window, none of it, or the tuples that came after it was empty.
        assert there == {"slides": most, "drains": 0, "refills": min(most, 8)}[case["leaving"]]
        assert sum(call.name == ENTER for call in calls) == TUPLES
