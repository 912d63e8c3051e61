"""Faults that the checks must find: each a small change to the text of one production module.

Nothing is copied. `apply` puts a loader before Python's standard one: on import it reads the
module's text, changes one passage, and compiles it under the module's file name without leaving
bytecode. Call it in a fresh process, before anything imports the module. The trace of a schedule
then shows the lines that ran.

`run_catalogue` starts such a process for each mutant and records which check killed it. `table`
formats the result for docs/mutants.md, where it stands between two markers.
"""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

from operators.contract import UsageError

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 120
TABLE_BEGINS = "<!-- mutants -->"
TABLE_ENDS = "<!-- /mutants -->"
LIVES = "nothing: it lives"
_HEADER = ("mutant", "where", "what it breaks", "caught by")


@dataclass(frozen=True)
class Mutant:
    """A fault.

    Attributes
    ----------
    name : str
        Unique; lower case with hyphens.
    variant : str
        ``family/id`` of the structure whose checks must kill it.
    module : str
        The module whose text is changed.
    old, new : str
        A passage that occurs exactly once in that text, and the replacement.
    breaks : str
        One clause for a reader: which rule no longer holds.
    canary : bool
        Whether every run of the tests tries it; one a family.
    """

    name: str
    variant: str
    module: str
    old: str
    new: str
    breaks: str
    canary: bool = False

    @property
    def family(self) -> str:
        """Return the family of `variant`."""
        return self.variant.partition("/")[0]


# --- one mutant, in the process that checks it ---------------------------------------------------


def spec_of(module: str) -> ModuleSpec | None:
    """Return the spec of a module, or None if it does not exist; import packages only."""
    try:
        return find_spec(module)
    except ModuleNotFoundError as error:
        # A missing parent package means no module; any other missing import is an error.
        if error.name is None or not module.startswith(f"{error.name}."):
            raise
        return None


def source_file(module: str) -> Path:
    """Return the file of a production module, without importing it.

    Raises
    ------
    UsageError
        When there is no such module.
    """
    spec = spec_of(module)
    if spec is None or spec.origin is None:
        raise UsageError(f"there is no module {module} to put a fault into")
    return Path(spec.origin)


def mutated_text(mutant: Mutant) -> str:
    """Return the module's text with the fault applied.

    Raises
    ------
    UsageError
        When the text to be replaced does not occur exactly once.
    """
    text = source_file(mutant.module).read_text(encoding="utf-8")
    count = text.count(mutant.old)
    if count != 1:
        raise UsageError(
            f"mutant {mutant.name} no longer fits {mutant.module}: what it replaces stands there"
            f" {count} times and not once: {mutant.old!r}"
        )
    return text.replace(mutant.old, mutant.new)


class _Loader(SourceFileLoader):
    """Loads a module from its mutated text, ignoring cached bytecode."""

    def __init__(self, module: str, file: str, text: str) -> None:
        super().__init__(module, file)
        self._text = text

    def get_source(self, fullname: str) -> str:
        """Return the text that runs."""
        return self._text

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text. The inherited method would read and write bytecode."""
        return self.source_to_code(self._text.encode(), self.path)


class _Finder:
    """Finds one module, ahead of ``sys.path``."""

    def __init__(self, module: str, loader: _Loader) -> None:
        self._module, self._loader = module, loader

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        """Return the module's spec, or None for any other module."""
        if fullname != self._module:
            return None
        return spec_from_file_location(fullname, self._loader.path, loader=self._loader)


def apply(mutant: Mutant) -> None:
    """Let this process import the mutant's module with the fault applied.

    Raises
    ------
    UsageError
        When the module was imported already, or its text no longer fits.
    """
    replace_modules({mutant.module: mutated_text(mutant)})


def replace_modules(texts: Mapping[str, str]) -> None:
    """Let this process import some modules with other texts.

    Raises
    ------
    UsageError
        When one of them was imported already.
    """
    for module, text in texts.items():
        if module in sys.modules:
            raise UsageError(
                f"{module} was imported before it could be changed; start a fresh process"
            )
        file = str(source_file(module))
        sys.meta_path.insert(0, _Finder(module, _Loader(module, file, text)))
        # Without a modification time the entry stays, so a trace shows the lines that ran.
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


# --- the catalogue, a process a mutant -----------------------------------------------------------


def run_catalogue(
    mutants: Iterable[Mutant],
    workers: int = 2,
    progress: Callable[[str], None] = lambda line: None,
    limit_s: float = LIMIT_S,
    share: bool = False,
) -> list[dict[str, Any]]:
    """Check each mutant in a separate process.

    Parameters
    ----------
    mutants : iterable of Mutant
    workers : int
        Processes at a time.
    progress : callable
        Called with a line on how each mutant ended, in the order in which they end.
    limit_s : float
        Seconds after which a mutant counts as alive.
    share : bool
        Whether to limit the schedules to those of an ordinary run of the tests. Otherwise these
        come first all the same: nearly every mutant dies of them, in a part of the time.

    Returns
    -------
    list of dict
        In the order of `mutants`: ``mutant``, ``variant``, ``killed_by`` (the check; None if it
        lives) and ``schedule`` (replays the failure; None if it lives).

    Raises
    ------
    RuntimeError
        When a process ended without reporting findings.
    """
    mutants = list(mutants)
    ended: list[str] = []

    def check(mutant: Mutant) -> dict[str, Any]:
        began = time.monotonic()
        result, end = _check(mutant, limit_s, share=True)
        # Of a structure that the tests leave out, so few schedules do not pass every mark.
        if not share and result["killed_by"] in (None, "mark"):
            result, end = _check(mutant, limit_s, share=False)
        ended.append(mutant.name)
        seconds = time.monotonic() - began
        progress(f"{len(ended)}/{len(mutants)} {mutant.name}: {end} ({seconds:.1f} s)")
        return result

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(check, mutants))


def _check(mutant: Mutant, limit_s: float, share: bool) -> tuple[dict[str, Any], str]:
    result = {"mutant": mutant.name, "variant": mutant.variant, "killed_by": None, "schedule": None}
    command = [sys.executable, "-m", "operators.check", "--json", "--mutant", mutant.name]
    command += ["--share"] if share else []
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [*command, mutant.variant],
            env=os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return result, f"lives: nothing found in {limit_s:g} s"
    try:
        report = json.loads(done.stdout)
        findings = report["findings"]
        if done.returncode != int(bool(findings)):
            raise ValueError(f"exit status {done.returncode} with {len(findings)} findings")
    except (ValueError, KeyError) as error:
        last = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-15:])
        raise RuntimeError(
            f"checking mutant {mutant.name} ended with status {done.returncode}: {error}\n{last}"
        ) from error
    if not findings and report.get("missing_marks"):
        result["killed_by"] = "mark"
        return result, f"killed: no schedule passes {report['missing_marks'][0]!r}"
    if not findings:
        return result, "lives"
    first = findings[0]
    result["killed_by"], result["schedule"] = first["check"], first["schedule"]
    return result, f"killed by {first['check']} at {first['schedule']}"


# --- the table in docs/mutants.md ----------------------------------------------------------------


def table(mutants: Iterable[Mutant], results: Iterable[dict[str, Any]]) -> str:
    """Return the catalogue as a table in Markdown.

    Parameters
    ----------
    mutants : iterable of Mutant
    results : iterable of dict
        For each mutant ``mutant`` and ``killed_by``, as from `run_catalogue` or `written_results`.
    """
    caught = {result["mutant"]: result["killed_by"] for result in results}
    rows = [
        (f"`{m.name}`", f"`{m.variant}`", m.breaks, caught.get(m.name) or LIVES) for m in mutants
    ]
    lines = [_HEADER, ("---",) * len(_HEADER), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def written_table(text: str) -> str:
    """Return the table between the markers of a document.

    Raises
    ------
    UsageError
        When the markers are missing, repeated or out of order.
    """
    begin, end = _markers(text)
    return text[begin:end]


def with_table(text: str, new: str) -> str:
    """Return a document with `new` between its markers."""
    begin, end = _markers(text)
    return text[:begin] + new + text[end:]


def _markers(text: str) -> tuple[int, int]:
    if text.count(TABLE_BEGINS) != 1 or text.count(TABLE_ENDS) != 1:
        raise UsageError(f"a document needs {TABLE_BEGINS} and {TABLE_ENDS} once each")
    begin = text.index(TABLE_BEGINS) + len(TABLE_BEGINS) + 1
    end = text.index(TABLE_ENDS)
    if begin > end:
        raise UsageError(f"{TABLE_ENDS} stands before {TABLE_BEGINS}")
    return begin, end


def written_results(text: str) -> list[dict[str, Any]]:
    """Return the rows of a document's table: ``mutant``, ``variant`` and ``killed_by`` each."""
    results = []
    for line in written_table(text).splitlines()[2:]:
        name, variant, _, caught = line.strip("| ").split(" | ")
        results.append(
            {
                "mutant": name.strip("`"),
                "variant": variant.strip("`"),
                "killed_by": None if caught == LIVES else caught,
            }
        )
    return results
