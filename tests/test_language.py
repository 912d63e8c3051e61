"""The language of docstrings and comments: how often words stand in them that make them hard.

A sentence of relative pronouns has to be read twice. Libraries that are read with ease have under
one *what* in a thousand words, and one *its*. Identifiers do not count: what stands in backticks,
in a drawing, and the names of parameters.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("operators", "datasets", "experiments", "figures", "workflow", "tests")
# Of a thousand words, so many at most.
MOST = {"what": 3.0, "its": 4.0, "place": 0.3, "beside": 0.3, "told": 0.3, "own": 0.3}
# Words of everyday language that do not say what a module is about.
NO_MODULES = {
    "beside", "told", "place", "doors", "words", "offer", "made", "finding", "joining", "runs",
    "saturated", "picks", "choices", "shares", "front", "inline", "cycle", "point",
}  # fmt: skip
# Nor what a function does, or a class is.
NO_NAMES = {"beside", "spoil", "foretold", "crowded", "lacks"}
CODE = re.compile(r"``[^`]*``|`[^`]*`|^\s*\w+(, \w+)* : .*$|^\s*(>>>|\.\.\.).*$", re.MULTILINE)
DRAWING = re.compile(r"::\n\n(?:(?: {4}.*)?\n)+")


def prose_of(source: str) -> Iterator[str]:
    """Yield the docstrings and comments of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield CODE.sub("", DRAWING.sub("", text))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield CODE.sub("", token.string.lstrip("# "))


def sources() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def rates_of(texts: Iterator[str]) -> dict[str, float]:
    """Return how often each word of ``MOST`` stands in a thousand."""
    counted = Counter(word for text in texts for word in re.findall(r"[a-z']+", text.lower()))
    every = sum(counted.values())
    return {word: 1_000 * counted[word] / every for word in MOST}


def test_prose_names_things_and_does_not_point_at_them():
    found = rates_of(
        text for path in sources() for text in prose_of(path.read_text(encoding="utf-8"))
    )
    assert {word: rate for word, rate in found.items() if rate > MOST[word]} == {}


@pytest.mark.parametrize(
    ("source", "counted"),
    [
        ('"""Say what came."""\n', 1),
        ("# What came.\nx = 1\n", 1),
        ('"""Return ``what``, and `what` too.\n\n    what : int\n"""\n', 0),
        ('"""Draw.\n\n::\n\n    what --> what\n\nIt is what it is.\n"""\n', 1),
        ('x = "what"\n', 0),
    ],
)
def test_prose_alone_is_counted(source, counted):
    words = [w for text in prose_of(source) for w in re.findall(r"\w+", text.lower())]
    assert words.count("what") == counted


def test_no_module_or_function_has_a_riddle_for_a_name():
    found = []
    for path in (path for path in sources() if path.parts[-2] != "tests"):
        # An adapter is called as the rule that it belongs to.
        if path.stem in NO_MODULES and path.parts[-2] != "scripts":
            found.append(str(path.relative_to(ROOT)))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name.lower() in NO_NAMES:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert found == []
