"""Programs of pipelines that come from tables of dimensions: every pair of values occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

from operators import registry
from operators.check.families import scenarios, uncovered
from operators.contract import END, NOT_READY, READY
from operators.pipeline.check import block_dimensions
from operators.pipeline.check.block_ring import MOST_OUTPUTS

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
    told = [
        *(f"pipeline ordered with parts {n}: none of its operators has keys" for n in (2, 3)),
        "pipeline ordered with division ranges: none of its operators has keys",
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
