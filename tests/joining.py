"""A family defined in a test, in a folder that joins ``operators`` from outside."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import operators
from operators import registry
from operators.check import families

ROOT = Path(__file__).resolve().parents[1]

FAMILY = """
from typing import Any, NamedTuple
from operators.contract import Family

class Operations(NamedTuple):
    make_state: Any
    say: Any

FAMILY = Family(id="echo", title="a counter", operations=Operations)
"""

VARIANT = """
from typing import NamedTuple
import numpy as np
from operators.contract import Variant
from operators.core.atomics import RELAXED, fetch_add, load
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.echo.family import Operations

class State(NamedTuple):
    total: np.ndarray

def make_state():
    return State(aligned_words(1))

@inlined
def say(state, number):
    return fetch_add(state.total, 0, number, RELAXED)

VARIANT = Variant(
    id="toy", family="echo", title="Toy", paper="none", section="1",
    operations=Operations(make_state, say), order="none", progress="lock-free",
    threads={"speaker": "any"}, capacity="none",
)
"""

SCENARIOS = """
from operators.check.scenario import Call, Scenario

def scenarios(variant):
    def perform(state, call):
        return int(variant.operations.say(state, *call.arguments))

    def finish(state, history):
        said = sum(o.arguments[0] for o in history)
        assert state.total[0] == said, f"{state.total[0]} and not {said}"

    programs = ((Call("say", (1,)), Call("say", (2,))), (Call("say", (3,)),))
    return [Scenario("two", variant.operations.make_state, programs, perform, finish=finish)]
"""

MUTANTS = """
from operators.check.mutants import Mutant

MUTANTS = (
    Mutant(
        "echo-by-load-and-store", "echo/toy", "operators.echo.toy",
        "return fetch_add(state.total, 0, number, RELAXED)",
        "before = load(state.total, 0, RELAXED)\\n"
        "    state.total[0] = before + number\\n"
        "    return before",
        "what two say at once counts once",
        canary=True,
    ),
)
"""


def write_family(folder: Path, family: str = "echo", /, **texts: str) -> None:
    """Write a family with the variant "toy", its scenarios and a mutant, below `folder`.

    Parameters
    ----------
    folder : Path
    family : str
        Id of the family.
    **texts : str
        File texts by path, with "__" for "/" and without the suffix: new files, or replacements of
        the usual ones. An empty text leaves a file out.
    """
    usual = {
        "family": FAMILY,
        "toy": VARIANT,
        "check__scenarios": SCENARIOS,
        "check__toy_mutants": MUTANTS,
    }
    for name, text in (usual | texts).items():
        if text:
            file = folder.joinpath("operators", family, *name.split("__")).with_suffix(".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("echo", family), encoding="utf-8")


@contextmanager
def joined(folder: Path) -> Iterator[None]:
    """Let `folder` join ``operators`` in this process, as ``PYTHONPATH`` does in a new one."""
    known = list(operators.__path__)
    loaded, names = set(sys.modules), set(vars(operators))
    operators.__path__ = [*known, str(folder / "operators")]
    _forget()
    try:
        yield
    finally:
        operators.__path__ = known
        for name in set(sys.modules) - loaded:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
                del sys.modules[name]
        for name in set(vars(operators)) - names:
            if (folder / "operators" / name).is_dir():
                delattr(operators, name)
                sys.modules.pop(f"operators.{name}", None)
                sys.modules.pop(f"operators.{name}.check", None)
        _forget()


def _forget() -> None:
    importlib.invalidate_caches()
    for cached in (
        registry.family_names, registry.family, registry._all_variants, registry._seen,
    ):  # fmt: skip
        cached.cache_clear()
    families.mutants.cache_clear()


def environment(folder: Path) -> Mapping[str, str]:
    """Return the environment of a process, interpreted, that `folder` joins."""
    path = os.pathsep.join((str(ROOT), str(folder)))
    return os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"}
