"""Programs of gates that come from a table of dimensions: every pair of values occurs."""

from __future__ import annotations

from itertools import product

from operators.check.families import uncovered
from operators.gate import multi_queue, t_gate
from operators.gate.check import programs
from operators.gate.check.programs import DIMENSIONS, derived_programs
from operators.gate.check.scenarios import performing, scenarios
from operators.gate.t_gate import HEIGHT, TIMESTAMP

ALL = derived_programs(2, {"levels"})


def test_every_pair_of_sources_room_and_levels_occurs():
    for one, other in (("sources", "ahead"), ("sources", "levels"), ("ahead", "levels")):
        there = {(getattr(p, one), getattr(p, other)) for p in ALL}
        assert there == set(product(DIMENSIONS[one], DIMENSIONS[other]))
    assert {program.readers for program in ALL} == {1, 2}


def test_there_are_far_fewer_than_combinations():
    assert len(ALL) < 30
    assert all(len(program.threads) <= 4 and all(program.threads) for program in ALL)
    assert len({program.name for program in ALL}) == len(ALL)


def test_what_a_gate_cannot_have_is_said_with_the_reason():
    assert programs.uncovered(2, {"levels"}) == []
    assert uncovered(t_gate.VARIANT) == []
    assert uncovered(multi_queue.VARIANT) == [
        "levels 2: the gate has no levels", "reading twice: the gate takes one reader",
    ]  # fmt: skip
    assert all(program.readers == program.levels == 1 for program in derived_programs(1, ()))


def test_some_programs_have_tall_and_short_nodes_and_three_sources():
    names = {scenario.name for scenario in scenarios(t_gate.VARIANT)}
    assert {program.name for program in ALL} <= names
    perform = performing(t_gate.VARIANT.operations)
    mixed = set()
    for program in ALL:
        state = t_gate.make_state(program.sources, program.readers, max(program.ahead, 3),
                                  program.levels)  # fmt: skip
        for call in (*program.before, *(call for thread in program.threads for call in thread)):
            perform(state, call)
        nodes = state.nodes.reshape(-1, state.stride)
        heights = {int(node[HEIGHT]) for node in nodes if 0 < node[TIMESTAMP] < 90}
        if heights == {1, 2}:
            mixed.add(program.sources)
    assert 3 in mixed
