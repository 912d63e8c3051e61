"""Statements that surely do the same in either order: to swap them is no fault.

Local names, elements of arrays and attributes are looked at. A function that reads memory and
changes nothing is recognised by its source, with all that it calls.
"""

from __future__ import annotations

import ast
from functools import cache

from operators.check.mutants import source_file

# Functions of numbers that reach no memory.
_PURE = ("len", "min", "max", "abs", "int", "bool")
_READING, _WRITING = ("load", "peek"), ("poke", "store")
_PACKAGE = "operators."
# Whose order other threads see.
_ATOMICS = "operators.core.atomics"


class Functions:
    """The functions that a module has or imports, and whether they only read memory."""

    def __init__(self, text: str) -> None:
        body = ast.parse(text).body
        self._own = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
        self._imported = {
            alias.name: each.module or ""
            for each in body
            if isinstance(each, ast.ImportFrom)
            for alias in each.names
            if alias.asname is None
        }
        # A function that calls itself is taken for one that changes something.
        self._known: dict[str, bool] = {}

    def only_read(self, node: ast.AST) -> bool:
        """Return whether code changes nothing but local names, in whatever it calls as well."""
        for each in ast.walk(node):
            if isinstance(each, ast.Subscript | ast.Attribute):
                if not isinstance(each.ctx, ast.Load):
                    return False
            if isinstance(each, ast.Call) and not self._call_reads(each.func):
                return False
        return True

    def _call_reads(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name):
            return called.id in ("peek", *_PURE) or self._reads(called.id)
        # A conversion, as ``np.uint64(x)``.
        return isinstance(called, ast.Attribute) and getattr(called.value, "id", "") == "np"

    def _reads(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = False
            module, function = self._imported.get(name, ""), self._own.get(name)
            if module.startswith(_PACKAGE):
                self._known[name] = module != _ATOMICS and _functions_of(module)._reads(name)
            elif function is not None:
                self._known[name] = all(map(self.only_read, function.body))
        return self._known[name]


@cache
def _functions_of(module: str) -> Functions:
    return Functions(source_file(module).read_text(encoding="utf-8"))


def commute(functions: Functions, one: ast.stmt, other: ast.stmt) -> bool:
    """Return whether two statements surely do the same in either order.

    They use other names than those the other one sets; and at most one of them reaches memory, or
    both only read it, or both reach it by plain and RELAXED accesses alone and neither writes what
    the other one may access. Between RELAXED accesses of different words the source asks for no
    order; but a store before a load that it follows would be load buffering, which RC11 rules out.

    Parameters
    ----------
    functions : Functions
        Those of the module in which they stand.
    one, other : ast.stmt
    """
    (read, written), (read_too, written_too) = map(_names_of, (one, other))
    if written & (read_too | written_too) or written_too & read:
        return False
    if not (_reaches_memory(one) and _reaches_memory(other)):
        return True
    if functions.only_read(one) and functions.only_read(other):
        return True
    here, there = _cells_of(one), _cells_of(other)
    if here is None or there is None or _buffers_a_load(one, other):
        return False
    return all(
        _apart(cell, other_cell)
        for cell, writes in here
        for other_cell, writes_too in there
        if writes or writes_too
    )


def _buffers_a_load(one: ast.stmt, other: ast.stmt) -> bool:
    return _calls(one, "load") and _calls(other, "store")


def _calls(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
        for node in ast.walk(statement)
    )


def _names_of(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement reads, and those that it sets."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    written = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    # ``x += 1`` has its name as one that is set alone.
    return read | (written if isinstance(statement, ast.AugAssign) else set()), written


def _reaches_memory(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Call | ast.Subscript)
        or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        for node in ast.walk(statement)
    )


def _cells_of(statement: ast.stmt) -> list[tuple[tuple[str, ast.expr], bool]] | None:
    """Return the elements and attributes that a statement accesses, and whether it writes them.

    None, if it reaches memory in another way as well.
    """
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript):
            cell = node.value, node.slice
        elif isinstance(node, ast.Attribute):
            cell = ast.Name(f".{node.attr}"), ast.Constant(0)
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            if called in ("load", "store") and getattr(node.args[-1], "id", "") != "RELAXED":
                return None
            if called not in (*_READING, *_WRITING, *_PURE):
                return None
            if called in _PURE:
                continue
            cell = node.args[0], node.args[1]
        else:
            continue
        writes = isinstance(getattr(node, "ctx", None), ast.Store)
        writes = writes or isinstance(node, ast.Call) and node.func.id in _WRITING
        found.append(((ast.unparse(cell[0]), cell[1]), writes))
        if writes and isinstance(statement, ast.AugAssign):
            found.append((found[-1][0], False))
    return found


def _apart(one: tuple[str, ast.expr], other: tuple[str, ast.expr]) -> bool:
    """Return whether two elements surely are not the same.

    Arrays have no words in common, and fields of a record, ``at + FIELD``, no words either.
    """
    if one[0] != other[0]:
        return True
    (base, field), (other_base, other_field) = map(_field_of, (one[1], other[1]))
    return base == other_base and field != other_field


def _field_of(index: ast.expr) -> tuple[str, str]:
    """Return an index as its base and a sum of constants."""
    if all(name.id.isupper() for name in ast.walk(index) if isinstance(name, ast.Name)):
        return "", ast.unparse(index)
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
        base, field = _field_of(index.right)
        if not base:
            return ast.unparse(index.left), field
    return ast.unparse(index), ""
