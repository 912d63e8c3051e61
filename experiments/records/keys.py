"""The conditions of a measured value, as digests: equal keys, equal conditions.

A row's key is made of the setting and phase, the digests of the data, of the variant's sources and
of the timing code, the lock file, the profile's lengths and rates, and the machine. Not part of it:
the profile's name, its sizes and repetitions, load, steal, the sentinel, the command line. Rows of
different keys are never mixed, and never deleted.

Sources are digested by syntax tree: comments, docstrings and layout do not count, and neither does
the presentation of a variant. So rewording a sentence invalidates no measurement. The sources
follow from imports, and from the families whose variants a module takes from the registry
(`experiments.records.asked`): a join has every index under it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba

from experiments.records import asked
from operators import registry
from operators.core.jit import INTERPRETED, PLAIN
from operators.core.noise import NOISE
from operators.core.sources import ROOT, by_text, import_closure

# Fields of a VARIANT for listing and drawing, which no measured value depends on.
SHOWN_ONLY = {"title", "paper", "section", "look", "extends", "shown", "extended"}
# Imports of the timing code that only serve reporting: names, words and the lookup of modules.
SAYS_ONLY = ("experiments.declare", "experiments.discovery", "experiments.papers",
             "experiments.text", "experiments.records.columns", "experiments.records.quantities",
             "experiments.records.results", "experiments.timing.progress")  # fmt: skip
# Key-making code asks for any family that it is given, and takes no variant into a measured run.
MAKES_KEYS = {Path(__file__).resolve(), Path(asked.__file__).resolve()}
LENGTH = 16


def digest_of(content: Any) -> str:
    """Return a hash of any JSON-serializable content."""
    text = json.dumps(content, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


class _Said(ast.NodeTransformer):
    """Removes from a syntax tree the parts that only people read."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop a string statement: a docstring, or words below a constant."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Drop the arguments of a VARIANT that only serve presentation."""
        self.generic_visit(node)
        if getattr(node.func, "id", "") == "Variant":
            node.keywords = [each for each in node.keywords if each.arg not in SHOWN_ONLY]
        return node


@by_text
def _text_digest(text: str) -> str:
    return hashlib.sha256(ast.dump(_Said().visit(ast.parse(text))).encode()).hexdigest()


def sources_digest(files: Iterable[Path]) -> str:
    """Return a hash of the syntax trees of some source files, in any order."""
    found = sorted((file.name, _text_digest(file)) for file in set(files))
    return digest_of(found)


def file_of(module: str) -> Path:
    """Return the source file of a module, importing no more than the parent packages."""
    return Path(importlib.util.find_spec(module).origin).resolve()


def closure_of(*modules: str) -> set[Path]:
    """Return the files of `modules`, and of all project modules that they import or ask for."""
    found: set[Path] = set()
    waiting = [file_of(module) for module in modules]
    while waiting:
        new = set(import_closure(waiting.pop())) - found
        found |= new
        for family in {family for file in new for family in asked.families_asked(file)}:
            waiting += [Path(module.__file__) for module in registry.modules_of(family)]
    return found


def measured_closure(*modules: str) -> set[Path]:
    """Return the same for measured code, where every requested family must be readable.

    Raises
    ------
    UsageError
        When a file asks the registry for a family that is no literal in the text.
    """
    files = closure_of(*modules)
    asked.refuse_unreadable(files - MAKES_KEYS)
    return files


def module_digest(*modules: str) -> str:
    """Return the digest of some modules and of all project modules that they import or ask for."""
    return sources_digest(closure_of(*modules))


@cache
def variant_digest(family: str, variant_id: str) -> str:
    """Return the digest of a variant's sources."""
    module = registry.module_of(registry.variant(family, variant_id))
    return sources_digest(measured_closure(module))


@cache
def timing_digest(family: str) -> str:
    """Return the digest of the code that runs and times a family: the bench, and the runner."""
    columns = f"experiments.families.{family}.columns"
    own = [columns] if importlib.util.find_spec(columns) else []
    said = {file_of(module) for module in (*SAYS_ONLY, *own)}
    files = measured_closure(f"experiments.families.{family}.bench", "experiments.timing.runner")
    return sources_digest(files - said)


@cache
def lock_digest() -> str | None:
    """Return the digest of the packages' lock file, None where there is none."""
    path = ROOT / "requirements.lock"
    if not path.is_file():
        return None
    return hashlib.sha256(path.read_bytes()).hexdigest()[:LENGTH]


def conditions(family: str, data: object, lengths: Mapping[str, Any], machine: str) -> dict:
    """Return the common part of the keys of all rows of a process.

    Parameters
    ----------
    family : str
    data : object
        Digest of the data, or of the inputs that decide it; None where the driver makes the tuples.
    lengths : mapping
        The profile's lengths and rates.
    machine : str
    """
    return {
        "data": data,
        "timing": timing_digest(family),
        "lock": lock_digest(),
        "lengths": dict(lengths),
        "machine": machine,
        "compiler": [
            numba.__version__,
            llvmlite.__version__,
            INTERPRETED,
            NOISE,
            *["plain"] * PLAIN,
        ],
    }


def row_key(
    common: Mapping[str, Any],
    family: str,
    variant: str,
    settings: Mapping[str, Any],
    phase: str,
    rate_fraction: float | None,
    number: int,
) -> str:
    """Return the key of a row of round `number`; `common` is the result of ``conditions``."""
    return digest_of(
        {
            "common": dict(common),
            "variant": variant_digest(family, variant),
            "row": [family, variant, dict(settings), phase, rate_fraction, number],
        }
    )
