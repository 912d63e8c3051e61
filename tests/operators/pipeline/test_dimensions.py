"""Programs of pipelines that come from tables of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

from operators import registry
from operators.check.families import scenarios, uncovered
from operators.check.scenario import NO_END
from operators.contract import END, NOT_READY, READY
from operators.pipeline.check import block_dimensions, dimensions
from operators.pipeline.check.block_ring import MOST_OUTPUTS

FIRST, *OTHERS = registry.variants("pipeline")
NO_KEYS = "none of its operators has keys"
RING = registry.variant("core", "block-ring")


def assert_covers(
    names: Sequence[str], dimensions: Mapping[str, tuple], told: Sequence[str]
) -> None:
    cases = [dict(zip(dimensions, name.split("-"), strict=True)) for name in names]
    left_out = {line.partition(":")[0] for line in told}
    for one, other in combinations(dimensions, 2):
        assert {(case[one], case[other]) for case in cases} == {
            (str(x), str(y))
            for x, y in product(dimensions[one], dimensions[other])
            if f"{one} {x} with {other} {y}" not in left_out
        }


def test_every_pair_of_values_of_blocks_occurs_but_those_named():
    unkeyed = ("ordered", "columns")
    told = [
        *(f"pipeline {p} with parts {n}: {NO_KEYS}" for p in unkeyed for n in (2, 3)),
        *(f"pipeline {p} with division ranges: {NO_KEYS}" for p in unkeyed),
        "parts 1 with division ranges: the only part has all keys",
    ]
    assert uncovered(RING) == told
    names = [program.name for program in block_dimensions.derived_programs()]
    assert_covers(names, block_dimensions.DIMENSIONS, told)
    assert len(names) < 25


def test_programs_of_blocks_begin_before_the_end_and_worker_by_worker_come_to_it():
    programs = {program.name: program for program in block_dimensions.derived_programs()}
    found = [scenario for scenario in scenarios(RING) if scenario.name in programs]
    assert len(found) == len(programs)
    counts = {"new": set(), "reuse": set(), "late": set()}
    for scenario in found:
        state = scenario.make()
        counts[next(kind for kind in counts if f"-{kind}-" in scenario.name)].add(
            state.state.sink.words.sum() > 0
        )
        answers = [
            scenario.perform(state, thread[0]) for thread in scenario.programs * MOST_OUTPUTS
        ]
        assert set(answers) <= {READY, NOT_READY, END}
        assert answers[-1] == END
    # Some of those that begin late have put out records, and none of the new ones.
    assert counts["new"] == {False} and True in counts["late"]


def test_every_pair_of_values_of_whole_pipelines_occurs_but_those_named():
    told = [
        *(f"first stateless with flush {which}: the operator has no rows"
          for which in ("first", "both")),
        "first partitioned with slots 1: its worklist takes at least two",
        *(f"last stateless with flush {which}: the operator has no rows"
          for which in ("last", "both")),
        "last partitioned with slots 1: its worklist takes at least two",
        "workers 3 with turns all: two that find nothing to do may wake each other for ever",
        *(f"markers each with begin {begin}: a marker that is on its way has a time, and no two"
          " beginnings would be equal" for begin in ("half", "late")),
    ]  # fmt: skip
    assert uncovered(FIRST) == told
    names = [program.pipeline.name for program in dimensions.derived_pipelines()]
    assert_covers(names, dimensions.DIMENSIONS, told)
    assert len(names) < 25
    for variant in OTHERS:
        assert [line for line in uncovered(variant) if FIRST.id in line] == uncovered(variant) != []
        assert not {scenario.name for scenario in scenarios(variant)} & set(names)


def test_whole_pipelines_come_to_the_end_that_a_serial_run_has():
    programs = {each.pipeline.name: each for each in dimensions.derived_pipelines()}
    found = [scenario for scenario in scenarios(FIRST) if scenario.name in programs]
    assert len(found) == len(programs)
    for scenario in found:
        state = scenario.make()
        answers: list[int] = []
        for _ in range(NO_END):
            answers = [scenario.perform(state, thread[0]) for thread in scenario.programs]
            assert set(answers) <= {READY, NOT_READY, END}
            if set(answers) == {END}:
                break
        assert set(answers) == {END}
        # Judges the outputs, and how many markers came.
        scenario.finish(state, [])
