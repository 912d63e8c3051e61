"""Programs of queues that come from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.check.families import scenarios, uncovered
from operators.check.scenario import first_word
from operators.contract import ACCEPTED, FULL
from operators.core.check.dimensions import DIMENSIONS, derived_programs
from operators.core.check.queues import EMPTY

QUEUES = {
    "michael-scott-queue": [],
    "mpmc-ring": [
        f"capacity {count}: a ring has a power of two of slots, at least 2" for count in (1, 3)
    ],
    "spsc-ring": [
        "producers 2: the ring takes one",
        "consumers 2: the ring takes one",
        "ends mixed: a producer that takes would be a second consumer",
    ],
}


def test_every_pair_of_values_occurs():
    names = [program.name for program in derived_programs(lambda name, value: "")]
    # A value may be two words.
    cases = [name.replace("goes-on", "goes on").split("-") for name in names]
    texts = [[str(v).replace("-", " ") for v in given] for given in DIMENSIONS.values()]
    for one, other in combinations(range(len(texts)), 2):
        assert {(c[one], c[other]) for c in cases} == set(product(texts[one], texts[other]))
    assert len(names) < 20


@pytest.mark.parametrize("name", QUEUES)
def test_programs_of_a_queue_refuse_and_take_and_the_rest_is_named(name):
    variant = registry.variant("core", name)
    assert uncovered(variant) == QUEUES[name]
    found = [s for s in scenarios(variant) if "-new-" in s.name or "-reuse-" in s.name]
    assert len(found) >= 9
    answers = {"enqueue": set(), "dequeue": set()}
    for scenario in found:
        state = scenario.make()
        for call in (call for thread in scenario.programs for call in thread):
            answer = first_word(scenario.perform(state, call))
            answers[call.name].add(answer if call.name == "enqueue" else answer != EMPTY)
    assert answers["enqueue"] == {ACCEPTED, FULL} and True in answers["dequeue"]
