"""Programs of joins that come from tables of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.check.families import scenarios, uncovered
from operators.join.check.dimensions import OF_ONE, OF_SEVERAL, derived_joins
from operators.join.family import COUNT

PARALLEL = registry.variant("join", "pim-tree-parallel")
ONE = registry.variant("join", "pim-tree")
IN_A_CHAIN = {"round-robin", "round-robin-as-printed"}
JOINS = [v for v in registry.variants("join") if v.id not in IN_A_CHAIN]


@pytest.mark.parametrize(
    ("variant", "table", "left_out"),
    [
        (PARALLEL, OF_SEVERAL, {("merging", "never")}),
        (ONE, OF_ONE, {("chain", 3)}),
    ],
    ids=["parallel", "one"],
)
def test_every_pair_of_values_that_a_join_can_have_occurs(variant, table, left_out):
    cases = [each.case for each in derived_joins(variant)]
    for one, other in combinations(table, 2):
        there = {(case[one], case[other]) for case in cases}
        values = (
            [value for value in table[name] if (name, value) not in left_out]
            for name in (one, other)
        )
        # A stream that is alone finds nothing, whatever its keys.
        wanted = set(product(*values))
        assert there == wanted - {("silent", "near"), ("silent", "apart")}
    assert len(cases) < 20


def test_what_a_join_cannot_have_is_said_with_the_reason():
    alone = [
        f"streams silent with keys {keys}: one stream of two finds no partners, whatever its keys"
        for keys in ("near", "apart")
    ]
    assert uncovered(PARALLEL) == ["merging never: the index merges", *alone]
    assert uncovered(ONE) == ["chain 3: the index has no chain of subindexes", *alone]
    by_hand = ["values of a table: the programs of a chain of cores are written by hand"]
    for name in IN_A_CHAIN:
        assert uncovered(registry.variant("join", name)) == by_hand


@pytest.mark.parametrize("variant", JOINS, ids=lambda v: v.id)
def test_programs_give_out_every_tuple_with_its_partners(variant):
    derived = {each.name: each for each in derived_joins(variant)}
    made = [each for each in scenarios(variant) if each.name in derived]
    assert len(made) == len(derived)
    found = 0
    for scenario in made:
        state = scenario.make()
        left = [list(program) for program in scenario.programs]
        history = []
        # In turns, as long as answers ask for it: what a call gives out is in the state.
        while any(left):
            for calls in left:
                if calls:
                    answer = scenario.perform(state, calls[0])
                    if answer not in scenario.retry:
                        history.append(calls.pop(0))
        scenario.finish(state, history)
        scenario.invariants(state)
        found += state.output.words[COUNT] > 0
    # The last tuple that is given out has partners in some programs, and none in others.
    assert 0 < found < len(made)
