"""On how many states each assertion of the invariants could have failed.

An assertion in a loop over nothing holds whatever the structure does, and so does one about an
empty collection. The assertions are found in the syntax trees of the functions that run, and of
those of their modules that these name; nothing is registered.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

_SIZED = (list, tuple, set, frozenset, dict)


class Assertion(NamedTuple):
    """An ``assert`` statement.

    Attributes
    ----------
    name : str
        Module, function and condition.
    subjects : tuple of code
        The names and slices in the condition.
    least : int
        The least length of the longest of them with which the condition can be false: 2 for a list
        that is compared with itself in order.
    """

    name: str
    subjects: tuple[CodeType, ...]
    least: int

    def can_fail(self, frame: FrameType) -> bool:
        """Return whether the condition is about anything: not about empty collections alone."""
        values = frame.f_locals
        lengths = []
        for subject in self.subjects:
            try:
                value = eval(subject, frame.f_globals, values)
            except (NameError, TypeError, IndexError):
                continue
            # A state is a NamedTuple, and is no collection.
            if type(value) in _SIZED:
                lengths.append(len(value))
        return not lengths or max(lengths) >= self.least


class Assertions:
    """Runs invariants and counts by assertion the states on which it could have failed."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._known: set[CodeType] = set()
        self._now: set[str] = set()

    def judge(self, invariants: Callable[[Any], None], state: Any) -> None:
        """Run the invariants on a state.

        Raises
        ------
        AssertionError
        """
        self._now = set()
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            invariants(state)
        finally:
            sys.settrace(before)
            self.counts.update(self._now)

    def _enter(self, frame: FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        if code not in self._known:
            for each in _with_callees(code, frame.f_globals, self._known):
                for assertion in assertions_of(each).values():
                    self.counts[assertion.name] += 0
        assertions = assertions_of(code)
        if not assertions:
            return None

        def at_line(frame: FrameType, event: str, value: Any) -> Any:
            found = assertions.get(frame.f_lineno) if event == "line" else None
            if found is not None and found.name not in self._now and found.can_fail(frame):
                self._now.add(found.name)
            return at_line

        return at_line


def idle(counts: Mapping[str, int], declared: Mapping[str, str]) -> list[str]:
    """Return the assertions that could have failed on no state and of which no reason says why.

    Those that could have failed although a reason says that they cannot are returned, too: the
    reason is out of date.

    Parameters
    ----------
    counts : mapping of str to int
        By assertion the number of states.
    declared : mapping of str to str
        By assertion the reason.
    """
    left = sorted(name for name, count in counts.items() if not count and name not in declared)
    return left + sorted(f"{name} (which has a reason)" for name in declared if counts.get(name))


def _with_callees(
    code: CodeType, names: dict[str, Any], known: set[CodeType]
) -> Iterator[CodeType]:
    """Yield code and that of the functions of its module that it names, unless known.

    Of other modules those that are called count alone: one name may choose among structures.
    """
    if code in known:
        return
    known.add(code)
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _with_callees(inner, names, known)
    for each in dis.get_instructions(code):
        function = names.get(each.argval) if each.opname == "LOAD_GLOBAL" else None
        if isinstance(function, FunctionType) and function.__code__.co_filename == code.co_filename:
            yield from _with_callees(function.__code__, function.__globals__, known)


@cache
def assertions_of(code: CodeType) -> dict[int, Assertion]:
    """Return by line of the condition the assertions of a function, not of inner functions."""
    function = _functions_in(code.co_filename).get((code.co_firstlineno, code.co_name))
    found = {}
    for node in _statements(function.body) if function is not None else ():
        if isinstance(node, ast.Assert):
            where = f"{Path(code.co_filename).stem}.{code.co_name}"
            name = f"{where}: {ast.unparse(node.test)}"
            bare = isinstance(node.test, ast.Name)
            subjects = () if bare else tuple(_subjects(node.test))
            assertion = Assertion(name, subjects, _least(node.test))
            for line in range(node.lineno, (node.test.end_lineno or node.lineno) + 1):
                found[line] = assertion
    return found


@cache
def _functions_in(file: str) -> dict[tuple[int, str], ast.FunctionDef]:
    """Return by first line and name the functions of a source file."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except OSError:
        return {}
    return {
        (min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.name): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))


def _subjects(node: ast.AST) -> Iterator[CodeType]:
    """Yield the names of a condition, and the slices of names, whose items it is about.

    Not those that must be empty, or must not, and those of which the length alone is asked.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield compile(ast.Expression(node), "a subject", "eval")
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield compile(ast.Expression(node), "a subject", "eval")
    else:
        for child in ast.iter_child_nodes(node):
            yield from _subjects(child)


def _least(test: ast.expr) -> int:
    """Return the least length with which a condition can be false: `x == sorted(x)` needs two."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return 1
    left, right = ast.unparse(test.left), test.comparators[0]
    ordered = isinstance(right, ast.Call) and ast.unparse(right.func) == "sorted"
    return 2 if ordered and ast.unparse(right) in (f"sorted({left})", f"sorted(set({left}))") else 1
