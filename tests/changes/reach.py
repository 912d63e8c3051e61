"""The dependencies of each file of the repository, read from its text.

There are three kinds of dependency, from the most certain to the widest:

``NARROW``
    Imports, also those of a program in a string; modules and files that are named in full; and the
    ``__init__`` of the packages above. A rule of the workflow depends on all of the workflow.
``FAMILY``
    The variants of a family that is requested by a literal: `experiments.records.asked`.
``WIDE``
    Files found by a name that is composed at run time: for ``f"datasets.{name}.tables"`` every file
    that matches, for a family in a variable all variants.

A file that is read and not imported (YAML, a notebook, the Makefile) counts as read by every file
that has its name, the name of its folder, or ``*.yaml`` in a string. Toys and samples, which are
folders below tests without a test, count as read, modules included, by the files in the folder
above that name them.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from experiments.records.asked import families_asked, unreadable
from operators.core.sources import by_text

NARROW, FAMILY, WIDE = range(3)
PACKAGES = ("operators", "datasets", "experiments", "figures", "tests")
MODULE = re.compile(rf"({'|'.join(PACKAGES)})(\.[\w*]+)+")
IMPORT = re.compile(r"^[\s\"]*(?:from ([\w.]+) import ([\w., ()]+)|import ([\w.]+))", re.MULTILINE)
TEST = re.compile(r"tests/(.*/)?test_\w+\.py")
WORKFLOW = "workflow/Snakefile"
# Words that stand for a file: a program that starts or reads the file does not contain its path.
STARTS = {"snakemake": WORKFLOW, "make": "Makefile", "Snakefile": WORKFLOW}

# Modules that compose even the package of a name, and the files that they may find.
FINDING = {
    "figures/files.py": r"figures/\w+/\w+\.py",
    "operators/check/families.py": r"operators/\w+/check/\w+\.py",
}


class Graph:
    """The files of a repository and their dependencies.

    Parameters
    ----------
    root : Path
    files : iterable of str
        All files, present and deleted: a file that names a deleted one still depends on it.
    """

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self.root = root
        self.files = frozenset(files)
        self._by_name: dict[str, set[str]] = defaultdict(set)
        self._in_folder: dict[str, set[str]] = defaultdict(set)
        for file in self.files:
            path = PurePosixPath(file)
            if path.suffix != ".py":
                self._by_name[path.name].add(file)
            for folder in path.parents[:-1]:
                self._in_folder[str(folder)].add(file)
        self._modules = {_module_of(file): file for file in self.files if file.endswith(".py")}
        self._edges: dict[str, tuple[set[str], set[str], set[str]]] = {}

    def closure(self, file: str, *, kind: int, hubs: frozenset[str] = frozenset()) -> set[str]:
        """Return a file and the files it depends on, by dependencies up to a kind.

        Parameters
        ----------
        file : str
        kind : int
        hubs : frozenset of str
            Files whose dependencies are left out.
        """
        found: set[str] = set()
        waiting = [file]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                if current not in hubs:
                    waiting.extend(set().union(*self.edges(current)[: kind + 1]) - found)
        return found

    def edges(self, file: str) -> tuple[set[str], set[str], set[str]]:
        """Return the direct dependencies of a file, by kind."""
        if file not in self._edges:
            self._edges[file] = self._read(file)
        return self._edges[file]

    def _read(self, file: str) -> tuple[set[str], set[str], set[str]]:
        path = self.root / file
        if not path.is_file():
            return set(), set(), set()
        if path.name == "conftest.py":
            # A test that takes a fixture depends on the imports of that fixture: see `_conftests`.
            return self._data_named(self._parsed(file)["words"], file), set(), set()
        if path.suffix == ".py":
            return self._of_python(file, path)
        if path.suffix in (".smk", ".ipynb") or path.name == "Snakefile":
            found = self._imported(_imports_in(path.read_text(encoding="utf-8")))
            if path.suffix != ".ipynb":
                found |= self._in_folder["workflow"]
            return found, set(), set()
        return set(), set(), set()

    def _of_python(self, file: str, path: Path) -> tuple[set[str], set[str], set[str]]:
        parsed = self._parsed(file)
        narrow = self._imported(parsed["imports"])
        if file.startswith("tests/"):
            narrow |= self._conftests(file, parsed["arguments"])
            narrow |= self._data_named(parsed["words"], file)
        wide: set[str] = set()
        for name in parsed["modules"]:
            if "*" in name:
                fits = re.compile(name.replace(".", r"\.").replace("*", r"\w+"))
                wide |= {file for module, file in self._modules.items() if fits.fullmatch(module)}
            else:
                narrow |= self._imported([name, f"{name}.__main__"])
        for word in parsed["words"]:
            narrow |= self._mentioned(word, file)
        if file in FINDING:
            wide |= {f for f in self.files if re.fullmatch(FINDING[file], f)}
        family: set[str] = set()
        for name in families_asked(path):
            family |= self._in_family(name)
        if unreadable(path):
            wide |= {f for f in self.files if re.fullmatch(r"operators/\w+/\w+\.py", f)}
        return narrow, family, wide

    def words(self, file: str) -> frozenset[str]:
        """Return the short strings in a Python file that are not modules."""
        return frozenset(self._parsed(file)["words"])

    def _parsed(self, file: str) -> Mapping[str, Any]:
        try:
            return _parsed(self.root / file)
        except SyntaxError as error:
            error.filename = file
            raise

    def _imported(self, names: Iterable[str]) -> set[str]:
        """Return the files that are run by importing some names: modules, or names in a module."""
        found = set()
        for name in names:
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                found.add(self._modules.get(".".join(parts[:length])))
        return found - {None}

    def _conftests(self, file: str, arguments: Iterable[str]) -> set[str]:
        """Return the files of fixtures above a test, and the imports of the fixtures that it takes.

        Following all imports of these files would make each test depend on Spark and this module.
        """
        above = [f"{folder}/conftest.py" for folder in PurePosixPath(file).parents[:-1]]
        found = {f for f in above if f in self.files - {file} and (self.root / f).is_file()}
        # Two fixtures of one name both count: the nearer one may take the other.
        fixtures: dict[str, list[tuple[list[str], list[str]]]] = defaultdict(list)
        waiting = list(arguments)
        for conftest in found.copy():
            for name, (imports, needs, automatic) in self._parsed(conftest)["fixtures"].items():
                fixtures[name].append((imports, needs))
                waiting += [name] if automatic else []
        while waiting:
            for imports, needs in fixtures.pop(waiting.pop(), ()):
                found |= self._imported(imports)
                waiting += needs
        return found

    def _mentioned(self, word: str, by: str) -> set[str]:
        """Return the non-module files that a word in the file `by` names."""
        word = STARTS.get(word, word).strip("/")
        if word.startswith("*."):
            package = self._in_folder[by.partition("/")[0]]
            found = {f for f in package if f.endswith(word[1:]) and not f.endswith(".py")}
        elif word in self.files:
            found = {word}
        else:
            found = set(self._by_name.get(word, ()))
            in_folder = self._in_folder.get(word, set())
            if word.partition("/")[0] not in PACKAGES or self._is_data(word):
                found |= in_folder
            elif word not in PACKAGES:
                # Modules of the package count only when imported.
                found |= {f for f in in_folder if not f.endswith(".py")}
        return found

    def _data_named(self, words: Iterable[str], by: str) -> set[str]:
        """Return the toys and samples that a file names in its folder."""
        folder = PurePosixPath(by).parent
        names = [str(folder / word.strip("/")) for word in words]
        found = {name for name in names if name in self.files and not name.endswith(".py")}
        return found.union(*(self._in_folder.get(n, set()) for n in names if self._is_data(n)))

    def _is_data(self, folder: str) -> bool:
        """Return whether a folder lies below tests and contains no test."""
        files = self._in_folder.get(folder, set())
        return folder.startswith("tests/") and not any(TEST.fullmatch(file) for file in files)

    def _in_family(self, name: str) -> set[str]:
        folder = f"operators/{name}"
        return {f for f in self._in_folder[folder] if PurePosixPath(f).parent.name == name}


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@by_text
def _parsed(text: str) -> Mapping[str, Any]:
    """Return the imports of a Python text, and the modules and other words in its strings.

    For tests, also return the fixtures that they take; for fixtures, by name, their imports, the
    fixtures that they take, and whether they are automatic.
    """
    tree = ast.parse(text)
    imports: set[str] = set()
    modules: set[str] = set()
    words: set[str] = set()
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imports.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ):
            string = _pattern(node)
            if "\n" in string:
                imports.update(_imports_in(string))
            elif MODULE.fullmatch(string):
                modules.add(string)
            elif len(string) < 100:
                # Of a command, also the arguments that are paths.
                words.update((string, *(word for word in string.split() if "/" in word)))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {
        "imports": sorted(imports),
        "modules": sorted(modules),
        "words": sorted(words),
        "arguments": sorted({name for each in functions for name in _arguments(each)}),
        "fixtures": {
            each.name: [_imports_used(tree, each), sorted(_arguments(each)), "autouse" in decorated]
            for each in functions
            if "fixture" in (decorated := " ".join(map(ast.unparse, each.decorator_list)))
        },
    }


def _arguments(function: ast.FunctionDef) -> set[str]:
    """Return the fixtures that a function takes.

    They are its arguments, and the literals of ``usefixtures`` and of ``getfixturevalue``.
    """
    asked = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "getfixturevalue"
    ]
    naming = [node for each in (*function.decorator_list, *asked) for node in ast.walk(each)]
    named = {str(node.value) for node in naming if isinstance(node, ast.Constant)}
    taken = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {each.arg for each in taken} | named


def _imports_used(tree: ast.Module, function: ast.FunctionDef) -> list[str]:
    """Return the imports of a module that a function or a helper of it uses, by full name."""
    defined = {name: node for node in tree.body for name in _names_bound(node)}
    imports: set[str] = set()
    waiting = _names_in(function)
    while waiting:
        name = waiting.pop()
        # None once the definition was read.
        node, defined[name] = defined.get(name), None
        if isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            used = {alias.name for alias in node.names if (alias.asname or alias.name) == name}
            imports.update(f"{node.module}.{each}" for each in used)
        elif node is not None:
            waiting |= _names_in(node)
    return sorted(imports)


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _names_bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return {each.id for each in targets if isinstance(each.ctx, ast.Store)}


def _pattern(node: ast.JoinedStr | ast.Constant) -> str:
    """Return a string's text, with "*" for the parts that are filled in at run time."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values
    )


def _imports_in(text: str) -> set[str]:
    """Return the imports of the statements of a program in another text."""
    found = set()
    for module, names, whole in IMPORT.findall(text):
        found.update(f"{module}.{name}" for name in re.findall(r"\w+", names))
        found.add(whole)
    return found - {""}
