"""Which kernels a run compiles before anything is timed: each once, and what all processes need."""

from __future__ import annotations

from experiments import kernels, plan, profiles


def wanted(name):
    """Return what the groups of a paper want compiled in a quick run."""
    groups = plan.groups(profiles.load("quick"), [name])
    return kernels._wanted([group.id for group in groups], "quick")


def test_the_setting_of_all_processes_is_compiled_where_no_group_has_it():
    everywhere = [each for each in wanted("pim_tree") if each.group is None]
    assert [each.phase for each in everywhere] == ["closed"]
    # The groups of the first paper have the T-Gate themselves.
    found = wanted("multiway_aggregation")
    assert found and all(each.group for each in found)
    assert len(found) == len(set(found))
