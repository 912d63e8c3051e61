"""The examples of docs/library.md run, and print the output on the page."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import numba
import pytest

from operators import registry
from operators.running.run_threads import RunFailed
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


def types_of(argument):
    """Return the types that kernels are compiled for; None for a callable, which is compiled in."""
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
    monkeypatch.setattr("operators.running.run_threads.run", run)
    file = tmp_path / "example.py"
    file.write_text(EXAMPLES[title], encoding="utf-8")
    with pytest.raises(RunFailed, match="far enough"):
        runpy.run_path(str(file))
    assert started


def test_each_family_with_a_function_over_arrays_has_an_example():
    # The core's structures are parts of operators and take no tuples; operators that run on Spark
    # in micro-batches are reached through StreamCloud's function.
    shown = set(re.findall(r"^from operators\.(\w+)\.run import", PAGE, re.MULTILINE))
    assert shown == {name for name in registry.family_names() if find_spec(f"operators.{name}.run")}
    assert shown == set(registry.family_names()) - {"core", "micro_batches"}
