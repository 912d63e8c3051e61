"""Which tests a change can reach, and, in suites over all variants, for which variants.

A test file is run when a file that it imports or names has changed, or a variant of a family that
it requests (`reach.NARROW`, `reach.FAMILY`). Where only variants have changed, those of its tests
that take a variant are run only with the variants that are made of a changed file.

A test that finds things by names composed at run time reaches nearly everything. So with
`reach.WIDE` only these are run:

* of the suites over the whole registry, the tests of changed variants;
* the tests in the folder that mirrors the folder of the changed file; for a helper, a toy or a
  sample below tests, the tests in the same folder;
* if a family's bench or replay has changed, every test that is not slow and has the name of the
  family or of one of its variants in a string;
* if a declaration has changed (a paper, a data set, a family, a `VARIANT`), every test that is not
  slow, because declarations are drawn, listed and judged by code that discovers them;
* the tests of the proving ground, if its programs or mutants have changed.

Slow tests reach everything through the command line, the papers and the workflow, so for them the
dependencies of these hubs count as `reach.WIDE`. All tests are run when a file that all of them
depend on has changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tests.changes.reach import FAMILY, NARROW, TEST, WIDE, Graph

# Read by pytest or by pip, independent of imports.
UNDER_ALL = {"pyproject.toml", "requirements.lock", "tests/conftest.py"}
# Rules about the repository's files; takes some seconds.
ALWAYS = "tests/test_tidy.py"
SUITES = ("tests/contract/", "tests/interleaving/", "tests/stress/")
# Kernels, Spark or Snakemake: minutes of tests that reach everything through a hub.
SLOW = (*SUITES, "tests/benchmarks/", "tests/datasets/", "tests/experiments/families/",
        "tests/experiments/replay/", "tests/experiments/timing/", "tests/operators/",
        "tests/workflow/", "tests/experiments/test_soak.py", "tests/experiments/test_kernels.py",
        "tests/figures/test_notebook.py")  # fmt: skip
HUBS = frozenset({"experiments/cli.py", "experiments/papers.py", "workflow/Snakefile"})
# The folders of experiments that belong to no paper.
SHARED = ("families/", "timing/", "replay/", "commands/", "judging/", "records/")
DECLARING = (
    rf"experiments/(?!{'|'.join(SHARED)})\w+/.*", r"experiments/families/\w+/columns\.py",
    r"datasets/\w+/tables\.py", r"operators/\w+/family\.py", r"figures/\w+/.*",
)  # fmt: skip
# Files that `millrace bench` and `millrace replay` find by the name of a family.
OF_FAMILY = re.compile(r"experiments/(?:families|replay)/(\w+)/.*")
CHECK = re.compile(r"operators/\w+/check/.*")
DECLARED = {"VARIANT", "VARIANTS"}
ID = re.compile(r"keyword\(arg='id', value=Constant\(value='([\w-]+)'\)\)")


@dataclass
class Selection:
    """The tests to run.

    Attributes
    ----------
    files : set of str
        Test files that are run whole.
    cut : dict
        For each other test file, whether tests that take no variant are run too.
    sources : set of str
        Changed files under ``operators``, and files that depend on one.
    """

    files: set[str] = field(default_factory=set)
    cut: dict[str, bool] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)


def select(graph: Graph, changed: set[str], before: Callable[[str], str | None]) -> Selection:
    """Return the tests that a change can reach.

    Parameters
    ----------
    graph : Graph
        Of all files, present and deleted.
    changed : set of str
        Paths of files that differ, are new or are gone.
    before : callable
        Returns the text of a file before the change, None where there was none.
    """
    tests = {f for f in graph.files if TEST.fullmatch(f) and (graph.root / f).is_file()}
    if changed & UNDER_ALL:
        return Selection(files=tests)
    chosen = Selection(files={ALWAYS} & tests)
    folders = {folder for test in tests for folder in PurePosixPath(test).parents}
    operators = [f for f in graph.files if re.fullmatch(r"operators/\w+/\w+\.py", f)]
    chosen.sources = {f for f in operators if graph.closure(f, kind=FAMILY) & changed}
    declaring = {file for file in changed if _declares(graph, file, before)}
    names = {file: _names_of_family(graph, file) for file in changed}
    for test in tests - chosen.files:
        hubs = HUBS if test.startswith(SLOW) else frozenset()
        narrow = graph.closure(test, kind=NARROW, hubs=hubs) & changed
        if narrow - _variants(graph, narrow):
            chosen.files.add(test)
        elif narrow or graph.closure(test, kind=FAMILY, hubs=hubs) & changed:
            chosen.cut[test] = True
        elif any(_lies_in(test, _mirror_of(file, folders)) for file in changed):
            chosen.files.add(test)
        elif reached := graph.closure(test, kind=WIDE) & changed:
            checked = test.startswith("tests/interleaving/") and any(map(CHECK.fullmatch, reached))
            named = any(names[file] & graph.words(test) for file in reached)
            if checked or ((named or reached & declaring) and not test.startswith(SLOW)):
                chosen.files.add(test)
            elif test.startswith(SUITES) and chosen.sources:
                chosen.cut[test] = False
    return chosen


def _names_of_family(graph: Graph, file: str) -> set[str]:
    """Return the family whose bench or replay contains a file, and the family's variants."""
    of_family = OF_FAMILY.fullmatch(file)
    if of_family is None:
        return set()
    modules = (path.read_text() for path in (graph.root / "operators" / of_family[1]).glob("*.py"))
    return {of_family[1], *(id_ for text in modules for id_ in ID.findall(_declared(text)))}


def _variants(graph: Graph, files: set[str]) -> set[str]:
    """Return those of some files that declare variants."""
    found = set()
    for file in files:
        path = graph.root / file
        if file.startswith("operators/") and path.is_file() and _declared(path.read_text()):
            found.add(file)
    return found


def _declares(graph: Graph, file: str, before: Callable[[str], str | None]) -> bool:
    """Return whether a change is one of a declaration."""
    if any(re.fullmatch(each, file) for each in DECLARING):
        return True
    if not re.fullmatch(r"operators/\w+/\w+\.py", file):
        return False
    path = graph.root / file
    now = _declared(path.read_text(encoding="utf-8")) if path.is_file() else ""
    try:
        return now != _declared(before(file) or "")
    except SyntaxError:
        # The file does not parse, so the change may be anything.
        return True


def _declared(text: str) -> str:
    """Return the variants that a module declares, in a form independent of the layout."""
    return "".join(
        ast.dump(node)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and {getattr(t, "id", "") for t in node.targets} & DECLARED
    )


def _mirror_of(file: str, folders: set[PurePosixPath]) -> PurePosixPath | None:
    """Return the test folder that mirrors a file's folder, or the nearest existing one above it.

    The mirror of a helper below tests is the helper's folder; a test has no mirror.
    """
    if TEST.fullmatch(file):
        return None
    mirror = PurePosixPath("" if file.startswith("tests/") else "tests", file)
    return next(folder for folder in mirror.parents if folder in folders)


def _lies_in(test: str, mirror: PurePosixPath | None) -> bool:
    """Return whether a test belongs to a mirror; a whole package's mirror excludes subfolders."""
    if mirror is None:
        return False
    folder = PurePosixPath(test).parent
    return folder == mirror or (len(mirror.parts) > 2 and mirror in folder.parents)


def left_out(
    params: Mapping[str, object], selection: Selection, test: str, of: Callable[[object], set[str]]
) -> bool:
    """Return whether a test of a cut file belongs to no changed variant.

    Parameters
    ----------
    params : mapping
        The parameters of the test.
    selection : Selection
    test : str
        The file of the test.
    of : callable
        Returns the source files of a parameter that is a variant or a mutant of one, else none.
    """
    if test not in selection.cut:
        return False
    sources = set().union(*map(of, params.values()))
    if not sources:
        return not selection.cut[test]
    return not sources & selection.sources
