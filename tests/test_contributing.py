"""The variants that CONTRIBUTING.md and a notebook offer as templates are complete and correct."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from operators import registry
from operators.check.suite import SHARE, check_variant
from operators.gate import multi_queue
from tests.contract.test_gate import SUITE

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
NOTEBOOK = ROOT / "notebooks" / "own_operator.ipynb"


def of_the_page() -> str:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## A new variant")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return code


def of_the_notebook() -> str:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    (code,) = ["".join(c["source"][1:]) for c in cells if c["source"][0].startswith("%%writefile")]
    return code


@pytest.fixture(
    scope="module",
    params=[("one_lock", of_the_page), ("lock_and_heap", of_the_notebook)],
    ids=lambda param: param[0],
)
def template(request, tmp_path_factory):
    """Write a variant to a file, load it, and register it with the real ones."""
    stem, source_of = request.param
    file = tmp_path_factory.mktemp("template") / f"{stem}.py"
    file.write_text(source_of(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"operators.gate.{stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found, where = (dict(each) for each in registry._all_variants())
    registry.register(found, where, module.VARIANT, spec.name)
    with pytest.MonkeyPatch.context() as patch:
        folders = set(registry._seen()[2])
        patch.setattr(registry, "_all_variants", lambda: (found, where))
        patch.setattr(registry, "_seen", lambda: (found, where, folders))
        patch.setitem(sys.modules, spec.name, module)
        yield module.VARIANT


# They take one reader, and are excused from exactly the cases that excuse the multi-queue.
CASES = SUITE.cases_for(multi_queue.VARIANT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_template_keeps_the_contract(template, case):
    assert case in SUITE.cases_for(template)
    case.body(template)


def test_template_is_checked_by_being_declared(template):
    report = check_variant(template, replace(SHARE, random=200))
    assert not report.findings and report.blocking
