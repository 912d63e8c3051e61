"""The examples of docs/library.md run, and print what the page says."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

from operators import registry
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


def test_each_family_that_runs_over_arrays_has_an_example():
    folders = Path(registry.__file__).parent
    runs = {each.parent.name for each in folders.glob("*/run.py")}
    shown = set(re.findall(r"^from operators\.(\w+)\.run import", PAGE, re.MULTILINE))
    assert shown == runs
