"""Without the parts that inside_numba takes from numba, kernels give the same answers."""

from __future__ import annotations

import ast

from tests.operators.core.kernel_project import PROGRAM, compiled_anyway, make_project

# Imitates a numba that has moved some modules: numba itself finds them, the project does not.
MOVED = """
import builtins, importlib, pkgutil
found = builtins.__import__
def find(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if importer.startswith("operators.") and name in MOVED:
        raise ImportError(f"{importer} needs {name}")
    return found(name, globals, locals, fromlist, level)
builtins.__import__ = find
import operators.core
for module in pkgutil.iter_modules(operators.core.__path__, "operators.core."):
    if not module.ispkg:
        importlib.import_module(module.name)
"""


def taken_from_numba(folder):
    """Return numba's internal modules that the files of a folder import."""
    trees = [ast.parse(file.read_text("utf-8")) for file in folder.glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return sorted({node.module for node in imports if node.module.startswith("numba.core.")})


@compiled_anyway
def test_plain_numba_gives_the_same_answers_and_keeps_no_kernel(tmp_path):
    project = make_project(tmp_path)
    package = project.root / "operators/core/inside_numba"
    moved = taken_from_numba(package)
    assert {"numba.core.caching", "numba.core.codegen", "numba.core.lowering"} < set(moved)
    # Fails if the core needs that package, or the parts of numba that `inside_numba` takes.
    (package / "__init__.py").write_text("raise ImportError\n")
    plain = project.run(f"MOVED = {moved}\n{MOVED}{PROGRAM}", MILLRACE_PLAIN_NUMBA="1")
    assert plain.answers == [20, 30, 10]
    assert {"drive", "locked"} <= set(plain.compiled)
    assert not [name for name in project.cached() if name.endswith((".nbi", ".nbc"))]
