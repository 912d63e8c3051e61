"""Kernels that a run compiles before anything is timed: each once, as all processes need."""

from __future__ import annotations

import pytest
from numba import typeof

from experiments import kernels, plan, profiles
from experiments.families.join.bench import WORDS
from operators import registry

# Joins whose kernel depends on some parameters, with the parameter.
CHOICES = [
    (variant.id, each.name)
    for variant in registry.variants("join")
    for each in variant.parameters
    if each.choices
]
# A join over a shared index takes 25 to 45 s of a core to compile.
MOST_SHARED = 5


def wanted(name):
    """Return the kernels that a paper's groups need compiled in a quick run."""
    groups = plan.groups(profiles.load("quick"), [name])
    return kernels._wanted([group.id for group in groups], "quick")


def test_the_setting_of_all_processes_is_compiled_where_no_group_has_it():
    everywhere = [each for each in wanted("pim_tree") if each.group is None]
    assert [each.phase for each in everywhere] == ["closed"]
    # The groups of the first paper include the T-Gate.
    found = wanted("multiway_aggregation")
    assert found and all(each.group for each in found)
    assert len(found) == len(set(found))


def test_a_quick_run_compiles_few_joins_of_several_threads():
    tasks = {group.id: group.tasks for group in plan.groups(profiles.load("quick"), ["pim_tree"])}
    found = [tasks[each.group][each.task] for each in wanted("pim_tree") if each.group]
    shared = [task.variant for task in found if "task_size" in task.settings]
    assert set(shared) == {"pim-tree-parallel", "bw-tree", "olc-tree"}
    assert len(shared) <= MOST_SHARED


@pytest.mark.parametrize(("join", "name"), CHOICES)
def test_a_parameter_chooses_a_kernel_unless_it_is_a_word(join, name):
    variant = registry.variant("join", join)
    given = {each.name: each.default for each in variant.parameters}
    (parameter,) = (each for each in variant.parameters if each.name == name)
    entered = set()
    for choice in parameter.choices:
        own = given | {name: choice}
        state = variant.operations.make_state(64, 1, two_way=True, key_bits=32, span=0, **own)
        step = variant.operations.make_step(None, None, **own)
        entered.add((step, typeof(state.shared), typeof(state.threads[0]), typeof(state.output)))
    assert len(entered) == (1 if name in WORDS else len(parameter.choices))
