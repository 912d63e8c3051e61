"""Checks of a changed source: module texts that a separate process runs instead of the files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from operators import registry
from operators.check.families import checked, declared_in, scenario_modules
from operators.check.mutants import ROOT, source_file
from operators.core.sources import import_closure

# Code around the kernels, which does not run on the machine, and the machine.
LEFT_OUT = ("operators.check.", "operators.running.", "operators.core.atomics")
# The code that starts threads, and the oracles: a fault in an oracle is none of the structure.
ENDS_LEFT_OUT = (".run", ".reference")
# The most structures that are asked about one module, the nearest, unless a family names more.
MOST_VARIANTS = 2
# Of processor time: another process on the machine must not make a check miss its limit.
LIMIT_S = 45
# By the clock: calls outside the machine may wait for a lock that nobody gives back.
WALL_S = 10 * LIMIT_S
TIME = "time"
# A shell sets the limit and becomes the check.
_LIMITED = ["/bin/sh", "-c", f'ulimit -t {LIMIT_S}; exec "$@"', "check"]
_OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)


class _Needed(NamedTuple):
    """The module of a checked variant, what it needs, and what its scenarios need beyond that."""

    module: str
    own: frozenset[str]
    run_by_programs: frozenset[str]


@cache
def _closures() -> dict[str, _Needed]:
    """Return by ``family/id`` the modules that each checked variant needs.

    A scheduler does not import the runtime that asks it, nor a strategy the threads that run its
    plans: the scenarios import both.
    """
    found = {}
    for variant in checked():
        module = registry.module_of(variant)
        own = _closure(module)
        others = frozenset[str]().union(*map(_closure, scenario_modules(variant)))
        found[f"{registry.called(variant.family)}/{variant.id}"] = _Needed(
            module, own, others - own
        )
    return found


def _closure(module: str) -> frozenset[str]:
    return frozenset(
        ".".join(f.relative_to(ROOT).with_suffix("").parts)
        for f in import_closure(source_file(module))
        if f.is_relative_to(ROOT) and f.stem != "__init__"
    )


def variants_of(module: str) -> list[str]:
    """Return the structures whose checks are asked about a module, the nearest first.

    They are those that need it, and only if there are none, those whose programs run it. First
    come those that the family names in ``ASKED`` of ``operators.<family>.check.asked``, if the
    nearest hardly reach the module.
    """
    every = _closures().items()
    near = [(each.module != module, len(each.own), name)
            for name, each in every if module in each.own]  # fmt: skip
    near = near or [
        (False, len(each.own), name) for name, each in every if module in each.run_by_programs
    ]
    named = asked().get(module, ())
    ordered = dict.fromkeys([*named, *(name for *_, name in sorted(near))])
    return list(ordered)[: max(MOST_VARIANTS, len(named))]


@cache
def asked() -> Mapping[str, tuple[str, ...]]:
    """Return by module the structures whose programs together reach most of it."""
    declared = declared_in("asked", "ASKED").items()
    return {module: (one,) if isinstance(one, str) else one for module, one in declared}


def modules(variant: str | None = None) -> list[str]:
    """Return the modules of all checked structures, or those nearest to one of them."""
    every = sorted(set().union(*(each.own | each.run_by_programs for each in _closures().values())))
    return [
        module
        for module in every
        if not (module.startswith(LEFT_OUT) or ".check" in module or module.endswith(ENDS_LEFT_OUT))
        if module not in elsewhere()
        if variant is None or variant in variants_of(module)
    ]


@cache
def elsewhere() -> Mapping[str, str]:
    """Return by module which other tests judge it, for modules that no thread of a program runs.

    A key may also be a module, a space and a function. A family declares them as ``ELSEWHERE`` in
    ``operators.<family>.check.elsewhere``.
    """
    return declared_in("elsewhere", "ELSEWHERE")


def text_of(module: str) -> str:
    """Return the source of a module."""
    return source_file(module).read_text(encoding="utf-8")


def ask(variant: str, texts: Mapping[str, str], size: str) -> str | None:
    """Return the check of a structure that fails with other texts, ``TIME``, or None.

    Parameters
    ----------
    variant : str
        ``family/id``.
    texts : mapping of str to str
        By module.
    size : str
        "few-orders", "more-orders" or "share": the numbers of schedules, as in ``suite``.

    Raises
    ------
    RuntimeError
        When the check ended without an answer.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(dict(texts), file)
        file.flush()
        command = [sys.executable, "-m", "operators.check", variant, "--json", f"--{size}"]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        try:
            done = subprocess.run(
                [*_LIMITED, *command, "--replace", file.name],
                env=os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"},
                capture_output=True,
                text=True,
                timeout=WALL_S,
            )
        except subprocess.TimeoutExpired:
            return TIME
    if done.returncode in _OUT_OF_TIME:
        return TIME
    try:
        report = json.loads(done.stdout)
        findings = report["findings"]
    except (ValueError, KeyError) as error:
        last = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise RuntimeError(f"checking {variant} with other texts of {[*texts]}: {last}") from error
    if findings:
        return findings[0]["check"]
    # With few schedules some rare branches are not reached in any source.
    return "mark" if report["missing_marks"] and size == "share" else None


def ask_all(texts: Mapping[str, str], size: str) -> tuple[str, str | None]:
    """Return the structure whose check fails with other texts and the check, or the last asked."""
    variant, found = "", None
    for variant in dict.fromkeys(v for module in texts for v in variants_of(module)):
        found = ask(variant, texts, size)
        if found is not None:
            break
    return variant, found
