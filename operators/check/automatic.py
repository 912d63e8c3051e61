"""Automatic mutants: faults that nobody chose, in the syntax trees of the checked source.

The catalogue (``mutants``) holds faults that somebody thought of, and tests were written for them.
These are drawn at random from all places of a few kinds, so that the share of those that a check
kills says how much the checks notice:

``compare``     ``<`` to ``<=``, ``==`` to ``!=``, and so on
``one``         ``+ 1`` or ``- 1`` left out
``constant``    0 to 1, 1 to 0, True to False
``drop``        a statement left out
``swap``        two neighbouring statements in the other order, if that can make a difference
``and``         ``and`` to ``or``, ``or`` to ``and``
``not``         a condition negated

Marks, assertions (also that ``zip`` is strict), the making of a state, the functions that check
invariants, those that refuse arguments and those that make instructions are left alone: threads do
not run them. A mutant that no check can kill is *equivalent*; ``EQUIVALENT`` of
``operators.<family>.check.equivalent`` names it with the reason.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from operators.check.commuting import Functions, commute
from operators.check.families import declared_in
from operators.check.reached import NOTE
from operators.check.replaced import TIME, ask_all, elsewhere, modules, text_of

_COMPARE = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
# Functions around a structure, which threads do not run.
LEFT_OUT = ("make_", "check_", "explain", "_check", "inspect", "footprint", "generate", "merge_ns")
# Calls that tell the checks something, or let a thread wait.
_FOR_CHECKS = (
    "mark", "poison", "take_over", "enter_alone", "leave_alone", "pause", "yield_thread",
)  # fmt: skip
KILLED, MISSED, TIMED_OUT, SAME = "killed", "missed", "timed out", "equivalent"
# The checker itself broke; the other mutants are checked all the same.
BROKE = "no answer"


class Automatic(NamedTuple):
    """A fault.

    Attributes
    ----------
    module, function, kind : str
    line : int
    old, new : str
        The passage, as in the source, and the replacement.
    begin, end : int
        Where the passage stands in the text.
    number : int
        0 for the first fault of this kind with these texts in the function, 1 for the second, ...
    """

    module: str
    function: str
    kind: str
    line: int
    old: str
    new: str
    begin: int
    end: int
    number: int = 0

    @property
    def name(self) -> str:
        """Return a name that stays the same when other functions change."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        again = f" ({self.number + 1})" if self.number else ""
        return f"{self.module} {self.function}: {self.kind} {old} -> {new}{again}"


class Outcome(NamedTuple):
    """How a mutant ended: KILLED, MISSED, TIMED_OUT, SAME or BROKE; by which check, or why."""

    mutant: Automatic
    ended: str
    by: str


# --- finding them --------------------------------------------------------------------------------


class _Text:
    """A module's text, with the position of each node."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text
        self.functions = Functions(text)
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        # Columns are counted in bytes.
        self._bytes = [line.encode() for line in text.splitlines(keepends=True)]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends."""
        return (
            self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)
        )  # fmt: skip

    def _at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + len(self._bytes[line - 1][:column].decode())

    def mutant(
        self, function: str, kind: str, node: ast.AST, new: str, last: ast.AST | None = None
    ) -> Automatic:
        """Return the mutant that replaces a node, or all from a node to the last one."""
        begin, end = self.span(node)[0], self.span(last or node)[1]
        old = self.text[begin:end]
        return Automatic(self.module, function, kind, node.lineno, old, new, begin, end)

    def source(self, node: ast.AST) -> str:
        begin, end = self.span(node)
        return self.text[begin:end]


def mutants_in(module: str, text: str) -> Iterator[Automatic]:
    """Yield all mutants of a module, in source order; no two have the same name."""
    source = _Text(module, text)
    seen: Counter[str] = Counter()
    nodes = list(ast.walk(ast.parse(text)))
    every = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    compiled = {id(inner) for node in nodes if _is_compiled(node) for inner in ast.walk(node)}
    for node in every:
        if not (id(node) in compiled or node.name.startswith(LEFT_OUT) or _refuses(node)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            for each in _of_block(source, node.name, body):
                yield each._replace(number=seen[each.name])
                seen[each.name] += 1


def _is_compiled(node: ast.AST) -> bool:
    """Return whether a function makes instructions, or the methods of a class do.

    Programs run interpreted, without them.
    """
    if isinstance(node, ast.ClassDef):
        return any(isinstance(each, ast.FunctionDef) and _is_compiled(each) for each in node.body)
    return isinstance(node, ast.FunctionDef) and (
        any(each.arg == "builder" for each in node.args.args)
        or any(getattr(each.func, "id", "") == "compiled_as"
               for each in node.decorator_list if isinstance(each, ast.Call))
    )  # fmt: skip


def _refuses(function: ast.FunctionDef) -> bool:
    """Return whether a function refuses arguments: itself, not a function inside it."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Raise) and "UsageError" in ast.unparse(node):
            return True
        if isinstance(node, ast.Expr) and ast.unparse(node).startswith("check_"):
            return True
        if not isinstance(node, ast.FunctionDef):
            left += ast.iter_child_nodes(node)
    return False


def _of_block(source: _Text, function: str, block: Sequence[ast.stmt]) -> Iterator[Automatic]:
    """Yield the mutants of some statements in a row, and of those inside them."""
    for statement, following in zip_longest(block, block[1:]):
        if _is_left_alone(statement):
            continue
        if _is_simple(statement):
            if not isinstance(statement, ast.Return):
                yield source.mutant(function, "drop", statement, "pass")
            yield from _of_expressions(source, function, statement)
        else:
            for field in ("test", "iter"):
                if hasattr(statement, field):
                    yield from _of_expressions(source, function, getattr(statement, field))
            if isinstance(statement, ast.If):
                negated = f"not ({source.source(statement.test)})"
                yield source.mutant(function, "not", statement.test, negated)
        if following is not None and _can_swap(source.functions, statement, following):
            between = source.text[source.span(statement)[1] : source.span(following)[0]]
            swapped = source.source(following) + between + source.source(statement)
            yield source.mutant(function, "swap", statement, swapped, following)
        for inner in ("body", "orelse"):
            # A function inside is visited as such.
            if not isinstance(statement, ast.FunctionDef):
                yield from _of_block(source, function, getattr(statement, inner, []))


def _is_simple(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)


def _is_left_alone(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert | ast.FunctionDef | ast.Pass | ast.Raise):
        return True
    # A condition of nothing but a mark.
    if isinstance(statement, ast.If) and all(_calls(each, "mark") for each in statement.body):
        return not statement.orelse and not any(map(_acts, ast.walk(statement.test)))
    said = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return said or _calls(statement, *_FOR_CHECKS)


def _calls(statement: ast.stmt, *names: str) -> bool:
    """Return whether a statement is the call of one of these functions."""
    called = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(called, ast.Call) and getattr(called.func, "id", "") in names


def _acts(node: ast.AST) -> bool:
    """Return whether an expression may do more than read."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") not in ("peek", "load")


def _can_swap(functions: Functions, one: ast.stmt, other: ast.stmt) -> bool:
    simple = ast.Assign | ast.AugAssign | ast.Expr
    return (
        isinstance(one, simple) and isinstance(other, simple)
        and one.col_offset == other.col_offset
        and not _is_left_alone(other)
        and not commute(functions, one, other)
    )  # fmt: skip


def _of_expressions(source: _Text, function: str, root: ast.AST) -> Iterator[Automatic]:
    asserted = {
        id(node.value)
        for node in ast.walk(root)
        if isinstance(node, ast.keyword) and node.arg == "strict"
    }
    for node in ast.walk(root):
        if id(node) in asserted:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            kind = type(node.ops[0])
            if kind in _COMPARE:
                left, right = source.source(node.left), source.source(node.comparators[0])
                new = f"{left} {_COMPARE[kind]} {right}"
                yield source.mutant(function, "compare", node, new)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            if isinstance(node.right, ast.Constant) and node.right.value == 1:
                yield source.mutant(function, "one", node, source.source(node.left))
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            sign = "or" if isinstance(node.op, ast.And) else "and"
            left, right = map(source.source, node.values)
            yield source.mutant(function, "and", node, f"({left} {sign} {right})")
        elif isinstance(node, ast.Constant) and node.value in (0, 1):
            if isinstance(node.value, bool):
                yield source.mutant(function, "constant", node, str(not node.value))
            elif isinstance(node.value, int):
                yield source.mutant(function, "constant", node, str(1 - node.value))


def sample(count: int, seed: int, variant: str | None = None) -> list[Automatic]:
    """Return mutants drawn at random, evenly among all; the same seed gives the same."""
    every = [
        each
        for module in modules(variant)
        for each in mutants_in(module, text_of(module))
        if f"{module} {each.function}" not in elsewhere()
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


@cache
def equivalents() -> Mapping[str, str]:
    """Return by the name of a mutant why no check can kill it."""
    return declared_in("equivalent", "EQUIVALENT")


# --- killing them --------------------------------------------------------------------------------


def changed_text(mutant: Automatic) -> str:
    """Return the module's text with the fault, and with a note where the function begins."""
    text = text_of(mutant.module)
    changed = text[: mutant.begin] + mutant.new + text[mutant.end :]
    function = min(
        (
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and node.name == mutant.function
            if node.lineno < mutant.line <= node.end_lineno
        ),
        key=lambda node: node.end_lineno - node.lineno,
    )
    first = function.body[1 if ast.get_docstring(function) else 0]
    line = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    lines = changed.splitlines(keepends=True)
    lines.insert(line - 1, f"{' ' * first.col_offset}{NOTE}\n")
    return "".join(lines)


def run(
    chosen: Sequence[Automatic], workers: int, progress: Callable[[str], None]
) -> list[Outcome]:
    """Check each mutant in a separate process, with the schedules of a run of the tests."""

    def one(mutant: Automatic) -> Outcome:
        if mutant.name in equivalents():
            return Outcome(mutant, SAME, equivalents()[mutant.name])
        try:
            variant, check = ask_all({mutant.module: changed_text(mutant)}, "share")
        except RuntimeError as error:
            progress(f"{BROKE} {mutant.name}: {error}")
            return Outcome(mutant, BROKE, str(error))
        ended = MISSED if check is None else TIMED_OUT if check == TIME else KILLED
        progress(f"{ended} {mutant.module}:{mutant.line} {mutant.name} ({check}, {variant})")
        return Outcome(mutant, ended, f"{check} ({variant})" if check else "")

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, chosen))


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the counts: what no check ended on in time is neither killed nor missed."""
    counted = Counter(each.ended for each in outcomes)
    judged = counted[KILLED] + counted[MISSED]
    share = f", {counted[KILLED] / judged:.0%} of those judged" if judged else ""
    ends = f"{counted[SAME]} equivalent, {counted[TIMED_OUT]} timed out"
    if counted[BROKE]:
        ends += f", {counted[BROKE]} without an answer"
    return (
        f"{len(outcomes)} automatic mutants: {counted[KILLED]} killed{share},"
        f" {counted[MISSED]} missed, {ends}"
    )
