"""The code of a module in pieces, with every global name traced to its definition.

A *piece* is a function, a method, a class without its methods, or an assignment of a module.
Comments, docstrings and import statements belong to no piece, and the order of pieces does not
count. Imports still count by the names they bind: a name of something imported, or of something
in the module itself, is replaced by the dotted name of the definition. So ``machine.cores`` below
``from experiments.timing import machine`` equals ``cores`` below ``from experiments.timing.machine
import cores``, and neither equals a ``cores`` of another module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.same.renames import module_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef, ast.Lambda)
# Statements of a module that define no name form one piece under this name.
STATEMENTS = "(statements)"


def imported(node: ast.Import | ast.ImportFrom, module: str, package: bool) -> dict[str, str]:
    """Return the names that an import binds, each with the dotted name that it stands for."""
    if isinstance(node, ast.Import):
        # Without `as`, the first part of a dotted name is bound.
        named = ((a.asname, a.name) if a.asname else (a.name.split(".")[0],) * 2
                 for a in node.names)  # fmt: skip
        return dict(named)
    above = module.split(".")[: len(module.split(".")) + package - node.level]
    begins = [*above, node.module] if node.level else [node.module]
    origin = ".".join(part for part in begins if part)
    return {alias.asname or alias.name: f"{origin}.{alias.name}" for alias in node.names}


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope; of nested scopes only the node itself."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from inside(child)


def bound_in(node: ast.AST) -> set[str]:
    """Return the names that a scope binds itself, without imports."""
    found: set[str] = set()
    outside: set[str] = set()
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        found |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    for each in inside(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del):
            found.add(each.id)
        elif isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            found.add(each.name)
        elif isinstance(each, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and each.name:
            found.add(each.name)
        elif isinstance(each, ast.Global | ast.Nonlocal):
            outside |= set(each.names)
    return found - outside


@dataclass
class Module:
    """A parsed source file.

    Attributes
    ----------
    path : str
    tree : ast.Module
    globals : dict
        By global name of the module, the dotted name that it stands for.
    """

    path: str
    tree: ast.Module
    globals: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The dotted name of the module."""
        return module_of(self.path)

    def imports_in(self, scope: ast.AST) -> dict[str, str]:
        """Return the names that the imports of a scope bind."""
        package = self.path.endswith("__init__.py")
        found: dict[str, str] = {}
        for each in inside(scope):
            if isinstance(each, ast.Import | ast.ImportFrom):
                found |= imported(each, self.name, package)
        return found


def read_modules(folder: Path, paths: Iterable[str]) -> dict[str, Module]:
    """Return modules by path, parsed but not run."""
    found = {}
    for path in paths:
        module = Module(path, ast.parse((folder / path).read_text(encoding="utf-8"), path))
        module.globals = {name: f"{module.name}.{name}" for name in bound_in(module.tree)}
        module.globals |= module.imports_in(module.tree)
        found[path] = module
    return found


class Tracer(ast.NodeTransformer):
    """Replaces global names by dotted ones, and leaves out imports and docstrings.

    A dotted name is an ``ast.Name`` whose ``id`` has dots.
    """

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = {module.name: module for module in modules.values()}
        self._globals: dict[str, str] = {}
        # The enclosing scopes, each with whether it is a class; None stands for a local name.
        self._scopes: list[tuple[bool, dict[str, str | None]]] = []
        self._defined_as = cache(self._follow)

    def trace(self, module: Module) -> ast.Module:
        """Return the tree of a module, which is changed."""
        self._module, self._globals = module, module.globals
        return self.generic_visit(module.tree)

    def _follow(self, dotted: str) -> str:
        """Return where a name is defined, past the modules that only import it."""
        seen: set[str] = set()
        while dotted not in seen and dotted not in self._modules:
            seen.add(dotted)
            parts = dotted.split(".")
            for length in range(len(parts) - 1, 0, -1):
                owner = self._modules.get(".".join(parts[:length]))
                if owner is not None:
                    stands_for = owner.globals.get(parts[length])
                    if stands_for is not None:
                        dotted = ".".join([stands_for, *parts[length + 1 :]])
                    break
        return dotted

    def _dotted(self, node: ast.AST) -> str | None:
        """Return the target of a name, or of an attribute of one; None for a local name."""
        if isinstance(node, ast.Attribute):
            owner = self._dotted(node.value)
            return None if owner is None else f"{owner}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        for depth, (of_class, names) in enumerate(reversed(self._scopes)):
            # Methods do not see the names of their class.
            if node.id in names and not (of_class and depth):
                return names[node.id]
        return self._globals.get(node.id)

    def _traced(self, node: ast.Name | ast.Attribute) -> ast.AST:
        dotted = self._dotted(node)
        if dotted is None:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(self._defined_as(dotted), node.ctx), node)

    visit_Name = visit_Attribute = _traced

    def _visit_fields(self, node: ast.AST, names: Iterable[str]) -> None:
        for name in names:
            value = getattr(node, name, None)
            if isinstance(value, list):
                seen = (self.visit(each) if isinstance(each, ast.AST) else each for each in value)
                setattr(node, name, [each for each in seen if each is not None])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))

    def _scope(self, node: ast.AST) -> ast.AST:
        """Visit a scope: the body from the inside, decorators and defaults from outside."""
        within = ("body",) if hasattr(node, "body") else node._fields
        self._visit_fields(node, [name for name in node._fields if name not in within])
        names = dict.fromkeys(bound_in(node)) | self._module.imports_in(node)
        self._scopes.append((isinstance(node, ast.ClassDef), names))
        self._visit_fields(node, within)
        self._scopes.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _scope

    def _leave_out(self, node: ast.AST) -> None:
        return None

    visit_Import = visit_ImportFrom = visit_Pass = _leave_out

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop a docstring, or a string below a constant."""
        constant = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if constant else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Drop a condition that contains only imports, such as ``TYPE_CHECKING``."""
        self.generic_visit(node)
        return node if node.body or node.orelse else None


def pieces_of(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Return the pieces of a traced module by name; statements without one by ``STATEMENTS``."""
    found: dict[str, list[ast.AST]] = {}
    for node in tree.body:
        found.setdefault(_name_of(node), []).append(node)
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, FUNCTIONS):
                    found.setdefault(f"{node.name}.{method.name}", []).append(method)
            node.body = [each for each in node.body if not isinstance(each, FUNCTIONS)]
    return found


def _name_of(node: ast.AST) -> str:
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    bound = [each.id for target in targets for each in ast.walk(target)
             if isinstance(each, ast.Name)]  # fmt: skip
    return ",".join(dotted.split(".")[-1] for dotted in bound) or STATEMENTS
