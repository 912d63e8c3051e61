"""Rules of the repository itself: sizes, direction of imports, intrinsics, dead and kept files.

No rule has a silent gap. An exception to a rule is listed here with its reason, and a test fails
when the exception is no longer needed: the lists can only shrink.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from experiments.papers import papers
from operators import registry

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("operators", "datasets", "experiments", "figures")
# Lines of code: comments, docstrings, imports and blank lines do not count, so that another
# sentence costs nothing.
FILE_LINES = 300
FUNCTION_LINES = 70
ADAPTER_LINES = 15
FILE_BYTES = 1_000_000

# An algorithm with its state and its invariants: splitting the file would hide the algorithm.
ALGORITHM_LINES = 350
ALGORITHMS = {
    "operators/gate/t_gate.py",
    "operators/gate/skip_list.py",
    "operators/aggregation/w_hive.py",
    "operators/index/b_plus_tree.py",
    "operators/theta_join/handshake_low_latency.py",
}
# Any other file or file:function, with the length, and the reason for it.
LONG: dict[str, tuple[int, str]] = {}

# Files that may reach below numba's surface, and for which purpose.
BELOW_NUMBA = {
    "operators/core/atomics.py": "the shared words: LLVM atomics and libc",
    "operators/core/c_library.py": "how atomics and noise call libc",
    "operators/core/noise.py": "yields before an atomic, in tests only",
    "operators/core/jit.py": "the one policy of compiling",
    "operators/core/inside_numba/__init__.py": "the cache, and what numba does otherwise",
    "operators/core/inside_numba/kept.py": "where the cache keeps the kernels of this process",
    "operators/core/inside_numba/lowering.py": "which variables of a kernel are values",
    "operators/core/integers.py": "wrapping arithmetic, which touches no memory",
    "operators/core/vectors.py": "elements of a node at once, and plain loads and stores",
    "operators/core/chosen_lanes.py": "which lanes of a vector are stored",
    "operators/core/prefetch.py": "asking for a cache line, which changes nothing but time",
    "operators/core/marks.py": "compiles to nothing",
}
# Only these words of an LLVM builder order memory, so they must all be in one file.
ATOMIC_WORDS = re.compile(r"\b(load_atomic|store_atomic|cmpxchg|atomic_rmw|\.fence)\(")
SHARED_WORD_CALLS = {"load": 3, "store": 4, "cas": 5, "fetch_add": 4, "exchange": 4, "fence": 1}
ORDERS = {"RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL", "SEQ_CST"}

# Modules that nothing imports because something else starts them.
ENTRY_POINTS = {
    "experiments.cli": "the millrace command of pyproject.toml",
    "experiments.soak": "make soak",
    "operators.check.__main__": "the process that millrace check starts",
}
# Parts, tested and measured, that the families of the next papers build on. A module that
# something imports or that is declared as a variant leaves this list.
BUILT_AHEAD: set[str] = set()
# The same for structures of the core, which are declared and checked whether or not they are used.
STRUCTURES_AHEAD: dict[str, str] = {}
# A family's oracle is used by the tests, even where the harness does not need it; and so is what
# tells the tests which operations the programs of a family call alone.
TESTED_AGAINST = re.compile(r"operators\.(\w+\.reference|check\.alone)")


@cache
def kept_files() -> tuple[str, ...]:
    """Return the files of the repository, as git would keep them."""
    # As in git, a leading slash means the root alone.
    ignored = [
        f"{ROOT if line.startswith('/') else ''}{line.strip().rstrip('/')}"
        for line in (ROOT / ".gitignore").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if path.name == ".git" or any(path.match(pattern) for pattern in ignored):
                continue
            if path.is_dir():
                yield from walk(path)
            else:
                yield path

    return tuple(path.relative_to(ROOT).as_posix() for path in walk(ROOT))


def python_files() -> list[str]:
    return [name for name in kept_files() if name.endswith(".py")]


def source_files() -> list[str]:
    return python_files() + [n for n in kept_files() if n.endswith((".smk", "Snakefile"))]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(text_of(name))


# Tokens that are no code.
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
           tokenize.ENDMARKER}  # fmt: skip


def code_lines(text: str) -> set[int]:
    """Return the numbers of the lines of a text that hold code, of Python or of Snakemake."""
    found: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            statement.append(token)
        elif token.type == tokenize.NEWLINE:
            prose = all(each.type == tokenize.STRING for each in statement)
            if not prose and statement[0].string not in ("import", "from"):
                for each in statement:
                    found.update(range(each.start[0], each.end[0] + 1))
            statement = []
    return found


@cache
def code_of(name: str) -> frozenset[int]:
    return frozenset(code_lines(text_of(name)))


def functions_of(name: str) -> Iterator[tuple[str, int]]:
    """Yield name and length of each function, in lines of code."""
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, len(code_of(name) & set(range(node.lineno, node.end_lineno + 1)))


def imports_of(name: str) -> Iterator[str]:
    """Yield each module, and each module.name, that a file imports."""
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def too_long() -> dict[str, int]:
    lengths = {name: len(code_of(name)) for name in source_files()}
    limits = dict.fromkeys(ALGORITHMS, ALGORITHM_LINES)
    found = {
        name: length for name, length in lengths.items() if length > limits.get(name, FILE_LINES)
    }
    for name in python_files():
        for function, length in functions_of(name):
            if length > FUNCTION_LINES:
                found[f"{name}:{function}"] = length
    return found


def test_files_and_functions_are_short():
    found = {name: length for name, length in too_long().items() if name not in LONG}
    assert not found, f"over {FILE_LINES} lines of code, or {FUNCTION_LINES} in a function: {found}"


def test_code_is_counted_and_prose_is_not():
    text = '''"""A docstring
of two lines."""

import os
from pathlib import (
    Path,
)

LIMIT = 3  # of code


def one(
    given,
):
    """Say nothing.

    More of it.
    """
    # A comment.
    text = """two

    lines"""
    return (
        # Why.
        text
    )
'''
    lines = text.splitlines()
    assert [lines[number - 1].strip() for number in sorted(code_lines(text))] == [
        "LIMIT = 3  # of code", "def one(", "given,", "):", 'text = """two', "", 'lines"""',
        "return (", "text", ")",
    ]  # fmt: skip


def test_exceptions_to_length_only_shrink():
    declaring = {f"{module.replace('.', '/')}.py" for module in loaded_by_name()}
    assert declaring >= ALGORITHMS, "what declares no variant is no algorithm"
    for name in ALGORITHMS:
        assert len(code_of(name)) > FILE_LINES, f"{name} is short: take it from ALGORITHMS"
    found = too_long()
    for name, (length, reason) in LONG.items():
        assert reason, f"{name}: say why it is that long"
        assert name in found, f"{name} is short enough by now: take it from LONG"
        assert found[name] <= length, f"{name} grew from {length} to {found[name]} lines"


def test_adapters_of_the_workflow_are_one_call():
    for name in python_files():
        if name.startswith("workflow/scripts/"):
            lines = text_of(name).count("\n")
            functions = [function for function, _ in functions_of(name)]
            assert lines < ADAPTER_LINES and not functions, f"{name} is more than an adapter"


def test_imports_point_one_way(capsys):
    # The contracts are in pyproject.toml; `make lint` checks the same ones.
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def imported_from_operators(name: str) -> set[str]:
    """Return the packages and modules directly in ``operators`` that a file imports from.

    A module in a family's folder ``check`` appears as ``<family>.check``.
    """
    modules = [m.split(".")[1:] for m in imports_of(name) if m.startswith("operators.")]
    return {".".join(m[:2]) if m[1:2] == ["check"] else m[0] for m in modules if m}


def in_operators(*patterns: str) -> list[str]:
    """Return the source files whose paths inside ``operators`` begin with one of the patterns."""
    begins = re.compile(f"operators/({'|'.join(patterns)})")
    return [name for name in python_files() if begins.match(name)]


def test_the_core_and_the_proving_ground_know_no_family():
    core = {"core", "contract"}
    checks = {"core/check/": core | {"core.check", "check"}, "check/": core | {"check", "registry"}}
    for folder, allowed in {"core/(?!check/)": core, **checks}.items():
        for name in in_operators(folder):
            assert imported_from_operators(name) <= allowed, f"{name} knows a family"


def test_operators_are_checked_from_outside():
    checking = in_operators("check/", r"\w+/check/")
    for name in set(in_operators("")) - set(checking):
        found = {m for m in imported_from_operators(name) if m.split(".")[-1] == "check"}
        assert not found, f"{name} knows how it is checked"


def test_replays_import_operators_data_sets_and_each_other():
    others = re.compile(r"figures\b|experiments\.(?!replay\b)")
    for name in (each for each in python_files() if each.startswith("experiments/replay/")):
        found = [module for module in imports_of(name) if others.match(module)]
        assert not found, f"{name} imports {found}"


def test_nothing_imports_the_scripts_or_the_tests_of_others():
    for name in python_files():
        if not name.startswith("tests/"):
            foreign = [m for m in imports_of(name) if m.split(".")[0] in ("tests", "workflow")]
            assert not foreign, f"{name} imports {foreign}"


def test_below_numba_only_in_the_core():
    reaching = re.compile(r"llvmlite\.|numba\.(core|extending|types|cpython|np)\b")
    outside = [name for name in python_files() if not name.startswith("tests/")]
    modules = {name: {m for m in imports_of(name) if m != "llvmlite"} for name in outside}
    found = {name for name in outside if any(reaching.match(f"{m}.") for m in modules[name])}
    assert not found - BELOW_NUMBA.keys(), "go through operators.core.atomics"
    assert not BELOW_NUMBA.keys() - found, "no longer needed: take it from BELOW_NUMBA"


def test_memory_is_ordered_in_one_file():
    found = [
        n for n in python_files() if n != "tests/test_tidy.py" and ATOMIC_WORDS.search(text_of(n))
    ]
    assert found == ["operators/core/atomics.py"]


def calls_without_order(name: str) -> Iterator[int]:
    """Yield the line of each call of an atomic whose last argument is not the name of an order."""
    if not any(module.startswith("operators.core.atomics") for module in imports_of(name)):
        return
    for node in ast.walk(tree_of(name)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Attribute):
            known = isinstance(function.value, ast.Name) and function.value.id == "atomics"
            called = function.attr if known else ""
        else:
            called = getattr(function, "id", "")
        if called in SHARED_WORD_CALLS:
            last = node.args[-1] if node.args else None
            order = getattr(last, "id", getattr(last, "attr", ""))
            if len(node.args) != SHARED_WORD_CALLS[called] or order not in ORDERS:
                yield node.lineno


@pytest.mark.parametrize("package", ["operators", "experiments"])
def test_each_atomic_call_spells_its_order(package):
    found = [
        f"{name}:{line}"
        for name in python_files()
        if name.startswith(f"{package}/")
        for line in calls_without_order(name)
    ]
    assert not found


def loaded_by_name() -> set[str]:
    """Return the modules found by name: declarations, checks, additions of a family or paper."""
    found = set()
    for name in python_files():
        module = name.removesuffix(".py").replace("/", ".")
        if re.search(r"^(VARIANTS?|DATASET|GENERATOR|RECORDED) = ", text_of(name), re.MULTILINE):
            found.add(module)
        by_name = (
            r"figures\.\w+\.(recommendations|explained|questions)|experiments\.\w+\.(figures|comparators|quantities)"
            r"|experiments\.families\.\w+\.(bench|columns)"
            r"|experiments\.\w+\.peers|experiments\.peers\.(engines|works)\.\w+"
            rf"|experiments\.replay\.({'|'.join(registry.family_names())})"
            r"|operators\.\w+\.(family|check\.(scenarios|mutants|\w+_mutants|orders|equivalent"
            r"|asked|elsewhere))"
        )
        if re.fullmatch(by_name, module):
            found.add(module)
    for paper in papers():
        forms = {figure.form for figure in paper.figures}
        found |= {f"figures.{place}.{form}" for form in forms for place in ("forms", paper.id)}
        found |= {
            f"experiments.{paper.id}.{figure.model}" for figure in paper.figures if figure.model
        }
    # The scenarios of a structure have the name of the structure's module.
    return found | {
        f"{folder}.check.{stem}" for folder, _, stem in (m.rpartition(".") for m in found)
    }


def named_outside_packages() -> set[str]:
    """Return the modules that the workflow, a notebook or an example of the library imports."""
    found = set()
    for name in kept_files():
        if name.startswith(("workflow/", "notebooks/", "docs/library.md")):
            for line in re.findall(r"^\s*\"?(?:from|import) .*", text_of(name), re.MULTILINE):
                module, *names = re.findall(r"[\w.]+", re.sub(r"\b(from|import|as)\b", "", line))
                found.update([module, *(f"{module}.{each}" for each in names)])
    return found


def test_no_module_is_dead():
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    used = {m for module in graph.modules for m in graph.find_modules_directly_imported_by(module)}
    used |= loaded_by_name() | named_outside_packages() | ENTRY_POINTS.keys()
    packages = {m for m in graph.modules if (ROOT / m.replace(".", "/")).is_dir()}
    dead = {m for m in graph.modules - used - packages if not TESTED_AGAINST.fullmatch(m)}
    assert dead >= BUILT_AHEAD, "these are imported or gone by now: take them from BUILT_AHEAD"
    assert not dead - BUILT_AHEAD, "nothing imports or starts these"
    assert ENTRY_POINTS.keys() <= graph.modules, "an entry point is gone: take it from the list"


def test_no_structure_of_the_core_is_without_a_user():
    using = in_operators(r"(?!core/check/)")
    using += [name for name in python_files() if name.startswith("experiments/")]
    users = {module for name in using for module in imports_of(name)}
    structures = {m for m in loaded_by_name() if re.fullmatch(r"operators\.core\.\w+", m)}
    idle = structures - users - {"operators.core.family"}
    assert idle >= STRUCTURES_AHEAD.keys(), "these have a user by now: take them from the list"
    assert idle == STRUCTURES_AHEAD.keys(), "no operator uses these: delete them or say what for"


def test_no_file_is_large():
    large = [n for n in kept_files() if (ROOT / n).stat().st_size > FILE_BYTES]
    assert not large, "large files do not belong into the history"


def test_names_differ_in_more_than_case():
    # Such files overwrite each other on the file systems of macOS and Windows.
    count = Counter(name.lower() for name in kept_files())
    assert not [name for name, times in count.items() if times > 1]


def test_notebooks_are_kept_without_outputs():
    for name in kept_files():
        if name.endswith(".ipynb"):
            for cell in json.loads(text_of(name))["cells"]:
                assert not cell.get("outputs"), f"{name} has outputs: clear them before saving"
                assert cell.get("execution_count") is None, f"{name} was run: clear its outputs"


def test_no_path_or_address_of_one_machine():
    here = [str(ROOT), str(ROOT.parent), str(Path.home()), tempfile.gettempdir()]
    paths = "|".join(re.escape(path) for path in here if len(path) > 1)
    only_here = re.compile(
        rf"(?<![\w.])({paths})/|--(extra-)?index-url|https?://\S*/(simple|packages)/"
    )
    found = []
    for name in kept_files():
        if name != "tests/test_tidy.py" and not name.endswith((".gz", ".parquet", ".png", ".xz")):
            for number, line in enumerate(text_of(name).splitlines(), start=1):
                if only_here.search(line):
                    found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert not found
