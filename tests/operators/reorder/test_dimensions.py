"""Programs of reorder buffers that come from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.check.families import uncovered
from operators.check.scenario import first_word
from operators.contract import ACCEPTED, FULL
from operators.reorder.check.dimensions import DIMENSIONS, derived_programs
from operators.reorder.check.scenarios import scenarios

NEVER = {("slots", 1, "begin", "waiting")}


def test_every_pair_of_values_occurs_but_those_named():
    cases = [dict(zip(DIMENSIONS, p.name.split("-"), strict=True)) for p in derived_programs()]
    for one, other in combinations(DIMENSIONS, 2):
        there = {(case[one], case[other]) for case in cases}
        wanted = {
            (str(x), str(y))
            for x, y in product(DIMENSIONS[one], DIMENSIONS[other])
            if (one, x, other, y) not in NEVER
        }
        assert there == wanted
    assert len(cases) < 20


@pytest.mark.parametrize("variant", registry.variants("reorder"), ids=lambda v: v.id)
def test_programs_are_among_the_scenarios_and_meet_both_answers(variant):
    assert uncovered(variant) == [
        "slots 1 with begin waiting: the only slot is that of the next output"
    ]
    names = {program.name for program in derived_programs()}
    found = [scenario for scenario in scenarios(variant) if scenario.name in names]
    assert len(found) == len(names)
    answers = set()
    for scenario in found:
        state = scenario.make()
        for call in (call for thread in scenario.programs[::-1] for call in thread):
            answers.add(first_word(scenario.perform(state, call)))
    assert {ACCEPTED, FULL} <= answers
