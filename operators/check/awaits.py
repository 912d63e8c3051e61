"""The loops in which a thread waits for others, and those in which a graph of states has waited.

A graph of states shows a wake-up that is lost only where a thread has gone round its loop. Such a
loop tries an update again, or looks at a word until another thread has changed it.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from operators import registry
from operators.contract import Variant
from operators.core.sources import import_closure

# A loop with one of these waits; and so does one that looks at a word in its condition and else
# changes nothing.
_AGAIN = {"cas", "exchange", "pause", "wait_a_little", "yield_thread"}
_LOOKS = {"load"}


class Position(NamedTuple):
    """Where a thread stands in a frame."""

    frame: FrameType
    instruction: int
    line: int


class Loop(NamedTuple):
    """A loop of a source file.

    Attributes
    ----------
    name : str
        Module, function and condition.
    first, last : int
        Lines.
    waits : bool
    """

    name: str
    first: int
    last: int
    waits: bool


def waits_of(variant: Variant) -> set[str]:
    """Return the names of the loops in which threads of a variant wait.

    They are those of the variant's module, and of the modules of its folder that it imports and
    that belong to no other variant.
    """
    module = Path(importlib.import_module(registry.module_of(variant)).__file__)
    others = {registry.module_of(each).rpartition(".")[2] for each in registry.variants()}
    own = [
        file
        for file in import_closure(module)
        if file == module or (file.parent == module.parent and file.stem not in others)
    ]
    return {loop.name for file in own for loop in loops_in(str(file)) if loop.waits}


def turned(before: list[Position], after: list[Position]) -> tuple[str, int, int] | None:
    """Return file and two lines of a loop in which a step took a thread back, or None.

    Parameters
    ----------
    before, after : list of Position
        The frames before and after the step, the outermost first.
    """
    last = None
    for old, new in zip(before, after, strict=False):
        if old.frame is not new.frame:
            break
        last = old, new
        if old.instruction != new.instruction:
            break
    if last is None or last[1].instruction > last[0].instruction:
        return None
    if last[0].instruction == last[1].instruction and len(before) > len(after):
        return None
    return last[0].frame.f_code.co_filename, last[0].line, last[1].line


def waited_in(turns: Iterable[tuple[str, int, int]]) -> set[str]:
    """Return the names of the loops in which steps took threads back."""
    found = set()
    for file, *lines in turns:
        around = [
            loop for loop in loops_in(file) if loop.first <= min(lines) and max(lines) <= loop.last
        ]
        if around:
            found.add(max(around, key=lambda loop: loop.first).name)
    return found


@cache
def loops_in(file: str) -> list[Loop]:
    """Return the loops of a source file."""
    path = Path(file)
    return list(_loops(ast.parse(path.read_text(encoding="utf-8")), path.stem, ""))


def _loops(node: ast.AST, stem: str, function: str) -> Iterator[Loop]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.While):
            name = f"{stem}.{function}: while {ast.unparse(child.test)}"
            yield Loop(name, child.lineno, child.end_lineno or child.lineno, _waits(child))
        yield from _loops(
            child, stem, child.name if isinstance(child, ast.FunctionDef) else function
        )


def _waits(loop: ast.While) -> bool:
    """Return whether a loop waits; a loop inside it is looked at alone."""
    looks = _LOOKS & _calls([loop.test]) and not any(
        isinstance(node, ast.Assign | ast.AugAssign) for node in ast.walk(loop)
    )
    inside = [node for node in loop.body if not isinstance(node, ast.While)]
    return bool(looks or _AGAIN & _calls([loop.test, *inside]))


def _calls(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        node.func.id
        for each in nodes
        for node in ast.walk(each)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
