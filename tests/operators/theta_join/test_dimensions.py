"""Programs of chains that come from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.check.families import uncovered
from operators.contract import END, NOT_READY, READY
from operators.theta_join.check.dimensions import DIMENSIONS, derived_programs
from operators.theta_join.check.scenarios import scenarios

JOINS = registry.variants("theta_join")
CHAINS = [variant for variant in JOINS if variant.operations.drive]
NEVER = {("begin", "new", "driving", "nobody")}


def test_every_pair_of_values_occurs_but_those_named():
    cases = [dict(zip(DIMENSIONS, p.name.split("-"), strict=True)) for p in derived_programs()]
    for one, other in combinations(DIMENSIONS, 2):
        assert {(case[one], case[other]) for case in cases} == {
            (str(x), str(y))
            for x, y in product(DIMENSIONS[one], DIMENSIONS[other])
            if "own" not in (x, y) and (one, x, other, y) not in NEVER
        }
    assert len(cases) < 25


def test_what_no_program_has_is_said_with_the_reason():
    assert len(CHAINS) == 2
    for variant in JOINS:
        assert uncovered(variant) == (
            [
                "window own: in a chain tuples expire in the opposite window",
                "begin new with driving nobody: no message would come",
            ]
            if variant in CHAINS
            else ["derived programs: they vary a chain, and the join is none"]
        )


@pytest.mark.parametrize("variant", CHAINS, ids=lambda variant: variant.id)
def test_programs_find_no_room_and_all_pairs_come_out(variant):
    programs = {program.name for program in derived_programs()}
    found = [scenario for scenario in scenarios(variant) if scenario.name in programs]
    assert len(found) == len(programs)
    answers: dict[str, set[int]] = {}
    for scenario in found:
        state = scenario.make()
        for call in (call for thread in scenario.programs for call in thread):
            answers.setdefault(call.name, set()).add(scenario.perform(state, call))
        # Judges the pairs, after the rest of the work.
        scenario.finish(state, [])
    assert answers["step"] == answers["drive"] == {READY, NOT_READY}
    assert answers["deliver"] == {READY, END} and READY in answers["take"]
