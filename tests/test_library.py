"""The examples of docs/library.md run, and print what the page says."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import runpy
from importlib import import_module
from pathlib import Path

import numba
import pytest

from operators import registry
from operators.running.crew import RunFailed
from tests.covering import interpreted_is_enough

PAGE = (Path(__file__).parents[1] / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLES = {
    section.partition("\n")[0]: code
    for section in PAGE.split("\n## ")[1:]
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
}


@interpreted_is_enough
@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_prints_what_the_page_says(title, tmp_path):
    file = tmp_path / "example.py"
    file.write_text(EXAMPLES[title], encoding="utf-8")
    said = re.findall(r"^print\(.*\)  # (.*)$", EXAMPLES[title], re.MULTILINE)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(file))
    assert said and printed.getvalue().splitlines() == said


@interpreted_is_enough
@pytest.mark.parametrize("family", ["aggregation", "gate", "index", "reorder"])
def test_the_example_of_the_function_is_true(family):
    tried = doctest.testmod(import_module(f"operators.{family}.run"))
    assert tried.attempted > 0 and tried.failed == 0


def types_of(argument):
    """Return what kernels are compiled for; of a callable nothing, which is compiled in."""
    if isinstance(argument, tuple):
        return type(argument), *map(types_of, argument)
    return None if callable(argument) else numba.typeof(argument)


@interpreted_is_enough
@pytest.mark.parametrize("title", EXAMPLES)
def test_kernels_are_compiled_before_threads_start_and_for_the_types_of_the_run(
    title, tmp_path, monkeypatch
):
    compiled = {}
    started = []

    def compile_roles(roles):
        compiled.update({role.kernel: types_of(role.arguments) for role in roles})

    def run(roles, **limits):
        for role in roles:
            assert compiled.get(role.kernel) == types_of(role.arguments), role.name
        started.extend(roles)
        raise RunFailed("far enough")

    monkeypatch.setattr("operators.running.library.compile_roles", compile_roles)
    monkeypatch.setattr("operators.running.crew.run", run)
    file = tmp_path / "example.py"
    file.write_text(EXAMPLES[title], encoding="utf-8")
    with pytest.raises(RunFailed, match="far enough"):
        runpy.run_path(str(file))
    assert started


def test_each_family_has_an_example():
    # The core's structures are what operators are made of, and are given no tuples.
    shown = set(re.findall(r"^from operators\.(\w+)\.run import", PAGE, re.MULTILINE))
    assert shown == set(registry.family_names()) - {"core"}
