"""The variant that CONTRIBUTING.md offers as a template is whole and right."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from operators import registry
from operators.check.suite import SHARE, check_variant
from operators.gate import multi_queue
from tests.contract.test_gate import SUITE

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Write the page's variant to a file, load it, and register it beside the real ones."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## A new variant")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    file = tmp_path_factory.mktemp("template") / "one_lock.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("operators.gate.one_lock", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found, where = (dict(each) for each in registry._all_variants())
    registry.register(found, where, module.VARIANT, spec.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_all_variants", lambda: (found, where))
        patch.setitem(sys.modules, spec.name, module)
        yield module.VARIANT


# The template is excused from what the multi-queue inside it is excused from, and from no more.
CASES = SUITE.cases_for(multi_queue.VARIANT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_template_keeps_the_contract(template, case):
    assert case in SUITE.cases_for(template)
    case.body(template)


def test_template_is_checked_by_being_declared(template):
    report = check_variant(template, replace(SHARE, random=200))
    assert not report.findings and report.blocking
