"""Each adapter of the workflow makes a call that the named function accepts."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
RULES = SCRIPTS.parent / "rules"
OURS = ("datasets", "experiments", "figures")


def imported(tree: ast.Module) -> dict[str, str]:
    """Return name to module of an adapter's imports from Millrace."""
    return {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in OURS
        for alias in node.names
    }


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_the_call_fits_the_function(script):
    tree = ast.parse(script.read_text())
    modules = imported(tree)
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in modules
    ]
    assert {node.func.id for node in calls} == modules.keys(), "an import that is not called"
    for node in calls:
        function = getattr(importlib.import_module(modules[node.func.id]), node.func.id)
        named = {keyword.arg: None for keyword in node.keywords}
        inspect.signature(function).bind(*node.args, **named)


def test_each_adapter_belongs_to_a_rule():
    rules = "".join(path.read_text() for path in sorted(RULES.glob("*.smk")))
    for script in SCRIPTS.glob("*.py"):
        assert f'"../scripts/{script.name}"' in rules
