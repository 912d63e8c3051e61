"""What planning and drawing import: every job of a run pays for it once more."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
