"""Which families a source file takes variants from, which imports do not show.

A join has every index under it without importing one: it asks the registry for the variants of the
family "index". A key that misses them would accept old rows after an edit of an index. So the
family is read from the source text wherever possible, and other requests are refused:

* The registry, or functions of it, may be imported in any way, but not renamed: under another name
  a third module could import them from there. Calls are followed by name.
* The family is a literal. Refused are a family in a variable, a function of the registry that is
  passed on or imported from another module, a lookup by attribute name, names of the project that
  are imported by ``*``, and a relative import, which closures do not follow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from operators.contract import UsageError
from operators.core.sources import PACKAGES, by_text

REGISTRY = "operators.registry"
# Functions that return variants, or their modules, of the family in the first argument.
ASKING = {"declared_in", "modules_of", "variant", "variants"}
# Functions that find variants by something other than the id of a family.
UNREADABLE = {"named", "_all_variants"}
FINDING = ASKING | UNREADABLE


def families_asked(file: Path) -> list[str]:
    """Return the families that a source file asks the registry for by literal names."""
    return _read(file)[0]


def unreadable(file: Path) -> list[tuple[int, str]]:
    """Return line and reason of each request whose family cannot be read from the text."""
    return [(line, problem) for line, problem in _read(file)[1]]


def refuse_unreadable(files: Iterable[Path]) -> None:
    """Raise when a source file has a request whose family cannot be read from the text.

    Raises
    ------
    UsageError
        With the file, the line and the remedy.
    """
    for file in sorted(files):
        for line, problem in unreadable(file):
            raise UsageError(
                f"{file}:{line}: {problem}, so that rows measured before an edit of those variants"
                ' would count as rows after it; call registry.declared_in("family") or'
                ' registry.variant("family", id), with the family as a literal'
            )


@by_text
def _read(text: str) -> list[list]:
    """Return the families that a text asks for, and line and problem of each unreadable request."""
    reader = _Reader(ast.parse(text))
    return [sorted(reader.families), sorted(reader.problems)]


class _Reader(ast.NodeVisitor):
    """Follows the names of one module to the registry."""

    def __init__(self, tree: ast.Module) -> None:
        self.families: set[str] = set()
        self.problems: list[tuple[int, str]] = []
        # From local name to imported name.
        self._imported: dict[str, str] = {}
        imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        for node in imports:
            self._import(node)
        self.visit(tree)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._keeps_its_name(node, alias.name, alias.asname)
                top = alias.name.partition(".")[0]
                self._imported[alias.asname or top] = alias.name if alias.asname else top
            return
        module = node.module or ""
        if node.level:
            self._refuse(node, "a relative import is in no key")
        for alias in node.names:
            full = f"{module}.{alias.name}"
            self._imported[alias.asname or alias.name] = full
            self._keeps_its_name(node, full, alias.asname)
            if module.partition(".")[0] not in PACKAGES:
                continue
            if alias.name == "*":
                self._refuse(node, f"names of {module}, which may be the registry's, come by *")
            elif alias.name in {"registry", *FINDING} and not full.startswith(REGISTRY):
                self._refuse(node, f"{alias.name} is imported from {module}, not from the registry")

    def _keeps_its_name(self, node: ast.stmt, full: str, local: str | None) -> None:
        """Refuse another name for the registry or a function of it."""
        module, _, name = full.rpartition(".")
        is_asked = full == REGISTRY or (module == REGISTRY and name in FINDING)
        if is_asked and local not in (None, name):
            self._refuse(node, f"{name} is imported as {local}, which others could import")

    def visit_Call(self, node: ast.Call) -> None:
        """Record the family of a call of the registry."""
        if self._function(node.func) in ASKING:
            given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "family_id")]
            family = given[0] if given else None
            if isinstance(family, ast.Constant) and isinstance(family.value, str):
                self.families.add(family.value)
            else:
                self._refuse(node, "the family that the registry is asked for is no literal")
            for each in (*node.args, *node.keywords):
                self.visit(each)
        else:
            self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Refuse access to variants other than by a call."""
        if self._is_refused(node) or self._function(node):
            return
        top = (self._full_name(node) or "").partition(".")[0]
        if node.attr == "registry" or (node.attr in FINDING and top in PACKAGES):
            self._refuse(node, f"{node.attr} is reached through another module")
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        """Refuse the registry, and the functions that return variants, as values."""
        self._is_refused(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Refuse the registry's name as a text, by which it can be imported."""
        if node.value == REGISTRY:
            self._refuse(node, "the registry is imported by its name as a text")

    def _is_refused(self, node: ast.Attribute | ast.Name) -> bool:
        function = self._function(node)
        passed_on = self._full_name(node) == REGISTRY or function in ASKING
        if passed_on:
            self._refuse(node, "the registry is passed on, or a function of it")
        elif function in UNREADABLE:
            self._refuse(node, f"registry.{function} finds variants of any family")
        return passed_on or function in UNREADABLE

    def _function(self, node: ast.expr) -> str | None:
        """Return the name of the registry's function that an expression names, or None."""
        module, _, function = (self._full_name(node) or "").rpartition(".")
        return function if module == REGISTRY else None

    def _full_name(self, node: ast.expr) -> str | None:
        """Return an expression as a dotted name that begins with the imported name."""
        if isinstance(node, ast.Name):
            return self._imported.get(node.id)
        if isinstance(node, ast.Attribute) and (base := self._full_name(node.value)):
            return f"{base}.{node.attr}"
        return None

    def _refuse(self, node: ast.AST, problem: str) -> None:
        self.problems.append((node.lineno, problem))
