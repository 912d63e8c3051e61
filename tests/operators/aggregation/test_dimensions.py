"""Programs of aggregates that come from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.aggregation.check.dimensions import DIMENSIONS, derived_programs
from operators.aggregation.check.scenarios import performing, scenarios
from operators.check.families import uncovered
from operators.contract import ACCEPTED, FULL

WIML = registry.variant("aggregation", "wiml")
PANES = registry.variant("aggregation", "private-panes")


def test_every_pair_of_values_that_an_aggregate_can_have_occurs():
    names = [program.name.split("-") for program in derived_programs(WIML)]
    # A window is two numbers of a name.
    cases = [(words[0], "-".join(words[1:3]), *words[3:]) for words in names]
    texts = {
        "function": [name for name in DIMENSIONS["function"] if name != "first"],
        "window": [f"{size}-{advance}" for size, advance in DIMENSIONS["window"]],
        **{name: [*map(str, DIMENSIONS[name])] for name in [*DIMENSIONS][2:]},
    }
    for one, other in combinations(range(len(texts)), 2):
        there = {(case[one], case[other]) for case in cases}
        assert there == set(product(*([*texts.values()][at] for at in (one, other))))
    assert len(names) < 30


def test_what_an_aggregate_cannot_have_is_said_with_the_reason():
    texts = [
        f"function {name}-ip: as {name}, with a predicate that has its own tests"
        for name in ("count-mail", "first-mail")
    ]
    assert uncovered(WIML) == ["function first: the aggregate does not have it", *texts]
    assert uncovered(PANES) == [
        "function first: the aggregate does not have it",
        "levels 2: the aggregate has no levels",
        *texts,
    ]


@pytest.mark.parametrize("variant", registry.variants("aggregation"), ids=lambda v: v.id)
def test_programs_put_out_rows_find_no_room_and_begin_with_used_tables(variant):
    derived = {program.name: program for program in derived_programs(variant)}
    perform = performing(variant.operations)
    answers, rows, before = set(), 0, 0
    for scenario in scenarios(variant):
        if scenario.name not in derived:
            continue
        state = scenario.make()
        before += "reuse" in scenario.name
        for call in (call for thread in scenario.programs for call in thread):
            answer = perform(state, call)
            answers.add(answer[0] if isinstance(answer, tuple) else answer)
            rows += isinstance(answer, tuple) and len(answer) > 1
    assert rows > 4 and before > 3 and ACCEPTED in answers
    if variant is WIML:
        assert FULL in answers
