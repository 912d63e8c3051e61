"""What each file of the repository depends on, read out of its text.

There are three kinds of dependency, from the surest to the widest:

``NARROW``
    Imports, also those of a program in a string, modules and files that are named whole, and the
    ``__init__`` of the packages above. A rule of the workflow depends on all of the workflow.
``FAMILY``
    The variants of a family that is asked for by a literal: `experiments.records.asked`.
``WIDE``
    What is found by a name that is put together while the program runs: of
    ``f"datasets.{name}.tables"`` every file that fits, of a family in a variable all variants.

A file that is read and not imported (YAML, a notebook, the Makefile) counts as read by whoever has
its name, the name of its folder, or ``*.yaml`` in a string. Toys and samples, folders below tests
without a test, count so with their modules for who names them in the folder above.
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
# A name that is not in the text of a program which nevertheless starts or reads it.
STARTS = {"snakemake": WORKFLOW, "make": "Makefile", "Snakefile": WORKFLOW}

# A module that puts together even the package of a name, and the files that it may find.
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
        Every file there is, and those that are gone: what names one of these depends on it still.
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
        """Return a file and what it depends on, by dependencies up to a kind.

        Parameters
        ----------
        file : str
        kind : int
        hubs : frozenset of str
            Files whose own dependencies are left out.
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
        """Return what a file itself depends on, by kind."""
        if file not in self._edges:
            self._edges[file] = self._read(file)
        return self._edges[file]

    def _read(self, file: str) -> tuple[set[str], set[str], set[str]]:
        path = self.root / file
        if not path.is_file():
            return set(), set(), set()
        if path.name == "conftest.py":
            # Who takes one of its fixtures depends on what that uses: `_conftests`.
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
        """Return the strings in a Python file that are short, and no modules."""
        return frozenset(self._parsed(file)["words"])

    def _parsed(self, file: str) -> Mapping[str, Any]:
        try:
            return _parsed(self.root / file)
        except SyntaxError as error:
            error.filename = file
            raise

    def _imported(self, names: Iterable[str]) -> set[str]:
        """Return the files that are run by importing some names: modules, or what is in one."""
        found = set()
        for name in names:
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                found.add(self._modules.get(".".join(parts[:length])))
        return found - {None}

    def _conftests(self, file: str, arguments: Iterable[str]) -> set[str]:
        """Return the files of fixtures above a test, and what the fixtures that it takes import.

        All that these files import beside would make each test depend on Spark, and on this module.
        """
        above = [f"{folder}/conftest.py" for folder in PurePosixPath(file).parents[:-1]]
        found = {f for f in above if f in self.files - {file} and (self.root / f).is_file()}
        # Of two fixtures of one name either may be meant: the nearer one may take the other.
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
        """Return the files that are no modules and that a word in a file names."""
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
                # The modules of a package are imported.
                found |= {f for f in in_folder if not f.endswith(".py")}
        return found

    def _data_named(self, words: Iterable[str], by: str) -> set[str]:
        """Return the toys and samples in the folder of a file that it names."""
        folder = PurePosixPath(by).parent
        names = [str(folder / word.strip("/")) for word in words]
        found = {name for name in names if name in self.files and not name.endswith(".py")}
        return found.union(*(self._in_folder.get(n, set()) for n in names if self._is_data(n)))

    def _is_data(self, folder: str) -> bool:
        """Say whether a folder lies below tests and has no test in it."""
        files = self._in_folder.get(folder, set())
        return folder.startswith("tests/") and not any(TEST.fullmatch(file) for file in files)

    def _in_family(self, name: str) -> set[str]:
        folder = f"operators/{name}"
        return {f for f in self._in_folder[folder] if PurePosixPath(f).parent.name == name}


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@by_text
def _parsed(text: str) -> Mapping[str, Any]:
    """Return what a Python text imports, and the modules and other words in its strings.

    Of tests also the fixtures that they take, and of fixtures by name what each imports, which it
    takes, and whether all take it.
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
                # Of a command its arguments that are paths.
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
    """Return those of a module's imports that a function uses, or a helper of it, by full name."""
    defined = {name: node for node in tree.body for name in _names_bound(node)}
    imports: set[str] = set()
    waiting = _names_in(function)
    while waiting:
        name = waiting.pop()
        # None once its definition was read.
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
    """Return a string's text, with "*" for what is filled in while the program runs."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values
    )


def _imports_in(text: str) -> set[str]:
    """Return what the statements of a program in another text import."""
    found = set()
    for module, names, whole in IMPORT.findall(text):
        found.update(f"{module}.{name}" for name in re.findall(r"\w+", names))
        found.add(whole)
    return found - {""}
