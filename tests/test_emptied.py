"""A module of which no run takes a test is noticed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.emptied import OPTIONAL, ROOT, empty_modules, interpreted_paths

HERE = ROOT / "tests" / "interleaving" / "test_here.py"
OTHER = ROOT / "tests" / "stress" / "test_other.py"
ALONE = ROOT / "tests" / "test_alone.py"


def item(path, **marks):
    """Return a test with marks by name, each with the first argument."""

    def iter_markers(name):
        return [SimpleNamespace(args=(marks[name],))] if name in marks else []

    return SimpleNamespace(path=path, iter_markers=iter_markers)


def test_a_module_with_a_test_is_not_empty():
    both = [item(HERE), item(HERE, skip="why")]
    assert empty_modules(both, both, [], True) == []


@pytest.mark.parametrize("marks", [{"skip": "why"}, {"skipif": True}])
def test_a_module_of_skipped_tests_is_empty(marks):
    skipped = [item(HERE, **marks)]
    assert empty_modules(skipped, skipped, [], True) == ["tests/interleaving/test_here.py"]


def test_a_condition_that_does_not_hold_skips_nothing():
    run = [item(HERE, skipif=False)]
    assert empty_modules(run, run, [], False) == []


def test_a_module_whose_tests_are_all_left_out_is_empty():
    assert empty_modules([item(ALONE)], [], [], False) == ["tests/test_alone.py"]


def test_a_module_without_any_test_is_empty():
    assert empty_modules([], [], [HERE], True) == ["tests/interleaving/test_here.py"]


def test_compiled_a_module_may_leave_all_to_the_interpreted_run():
    assert empty_modules([item(OTHER)], [], [], False) == []
    assert empty_modules([item(OTHER)], [], [], True) == []


def test_the_makefile_names_tests_that_are_there():
    named = interpreted_paths((ROOT / "Makefile").read_text(encoding="utf-8"))
    assert "tests/interleaving" in named and len(named) > 40
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_module_that_few_machines_can_run_is_left_out(name):
    assert (ROOT / name).exists()
    assert empty_modules([item(ROOT / name)], [], [], True) == []
