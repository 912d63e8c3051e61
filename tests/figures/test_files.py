"""The imports of planning and drawing: every job of a run pays for them again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from experiments import papers
from figures import files, forms
from tests.second_paper import FIGURES


@pytest.mark.parametrize(
    ("module", "dear"),
    [("figures.files", "matplotlib"), ("figures.files", "pandas"), ("figures.draw", "nbformat")],
)
def test_a_module_does_not_import_what_takes_seconds(module, dear):
    code = f"import sys, {module}; print({dear!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_form_is_named_where_it_is_found():
    assert files.form_name(FIGURES[0]) == f"{forms.__name__}.{FIGURES[0].form}"


@pytest.mark.parametrize(
    ("paper", "figure", "more"),
    [
        ("scalejoin", "5a", False),
        ("scalejoin", "6a", True),
        ("multiway_aggregation", "13", True),
        ("multiway_aggregation", "10", False),
    ],
)
def test_an_extended_form_that_shows_no_more_is_no_file(paper, figure, more):
    forms_of = files.forms_of(papers.figure(paper, figure))
    assert forms_of == (("", files.EXTENDED) if more else ("",))
