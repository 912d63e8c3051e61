"""Programs of worklists that come from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.check.families import uncovered
from operators.check.scenario import first_word
from operators.contract import ACCEPTED, FULL, NOT_READY, READY
from operators.partition.check.dimensions import DIMENSIONS, derived_programs
from operators.partition.check.scenarios import scenarios

ALL = registry.variant("partition", "shared")
APART = [
    "producers 2 with ends again: two that wait under one lock may wake each other for ever",
    "workers 1 with ends mixed: nobody would work beside the producer",
    *(
        f"workers {count} with ends again: a worker whose calls are made may own what the others"
        " wait for"
        for count in (2, 3)
    ),
    "partitions 1 with keys turns: the only partition has all keys",
    "partitions 1 with keys runs: the only partition has all keys",
]


def test_every_pair_of_values_occurs_but_those_named():
    cases = [dict(zip(DIMENSIONS, p.name.split("-"), strict=True)) for p in derived_programs(ALL)]
    named = {line.partition(":")[0] for line in APART}
    for one, other in combinations(DIMENSIONS, 2):
        there = {(case[one], case[other]) for case in cases}
        assert there == {
            (str(x), str(y))
            for x, y in product(DIMENSIONS[one], DIMENSIONS[other])
            if f"{one} {x} with {other} {y}" not in named
        }
    assert len(cases) < 25


@pytest.mark.parametrize("variant", registry.variants("partition"), ids=lambda v: v.id)
def test_programs_refuse_and_give_out_and_the_rest_is_named(variant):
    single = ["producers 2: the worklist takes one"]
    told = APART if variant.threads["producer"] != "one" else single + APART[1:]
    assert uncovered(variant) == told
    programs = {program.name: program for program in derived_programs(variant)}
    found = [scenario for scenario in scenarios(variant) if scenario.name in programs]
    assert len(found) == len(programs)
    answers: dict[str, set[int]] = {}
    for scenario in found:
        state = scenario.make()
        for call in (call for thread in scenario.programs for call in thread):
            answer = scenario.perform(state, call)
            answers.setdefault(call.name, set()).add(first_word(answer))
    assert answers["add_input"] == {ACCEPTED, FULL}
    assert answers["process"] == {NOT_READY, READY}
