"""Which modules faults and weaker orders are put into: those that threads of the programs run."""

from __future__ import annotations

import pytest

from operators.check.families import checked, name_of
from operators.check.mutants import source_file
from operators.check.replaced import asked, elsewhere, modules, text_of, variants_of


@pytest.mark.parametrize(
    ("module", "variant"),
    [
        ("operators.pipeline.runtime", "pipeline/ct"),
        ("operators.pipeline.ending", "pipeline/ct"),
        ("operators.pipeline.blocks.turns", "core/block-ring"),
        ("operators.streamcloud.carriers.threads", "streamcloud/operator-cluster"),
        ("operators.pipeline.stage", "pipeline/ct"),
        ("operators.index.pim_merge", "index/pim-tree-parallel"),
    ],
)
def test_a_module_is_asked_about_at_the_structure_whose_programs_reach_it(module, variant):
    assert module in modules()
    assert variants_of(module)[0] == variant


def test_structures_that_families_name_are_among_the_checked():
    names = {name_of(variant) for variant in checked()}
    assert set().union(*asked().values()) <= names and set(asked()) <= set(modules())


def test_oracles_are_left_alone():
    assert not [each for each in modules() if each.endswith(".reference")]


def test_modules_judged_elsewhere_exist_and_are_left_out():
    assert elsewhere(), "no family declares any"
    there = [each.partition(" ") for each in elsewhere()]
    assert all(source_file(module).is_file() for module, _, _ in there)
    assert not {module for module, _, function in there if not function} & set(modules())
    for module, _, function in there:
        assert not function or f"def {function}(" in text_of(module)
