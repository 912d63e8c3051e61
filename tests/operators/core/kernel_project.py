"""A copy of the core with separate kernels, for tests of compilation in a separate process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from operators.core.jit import INTERPRETED
from operators.core.sources import ROOT

HELPER = """
from operators.core.jit import inlined

FACTOR = 10

@inlined
def scaled(word):
    return word * FACTOR
"""
KERNELS = """
from typing import NamedTuple
import numpy as np
from operators.core.atomics import SEQ_CST, fetch_add
from operators.core.jit import inlined, kernel
from operators.core.layout import aligned_words
from operators.core.mutex import acquire, make_mutexes, release
from operators.probe.helper import scaled

class State(NamedTuple):
    words: np.ndarray
    step: int

@inlined
def advance(state, times):
    for _ in range(times):
        fetch_add(state.words, 0, scaled(state.step), SEQ_CST)

def make_driver(operation, times):
    @kernel
    def drive(state):
        operation(state, times)
        return state.words[0]
    return drive

@kernel
def locked(mutexes, state):
    acquire(mutexes, 0)
    advance(state, 1)
    release(mutexes, 0)
    return state.words[0]

def state():
    return State(aligned_words(8), 1)
"""
PROGRAM = """
import json
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    from operators.probe.kernels import *
    answers = [make_driver(advance, 2)(state()), make_driver(advance, 3)(state())]
    answers.append(locked(make_mutexes(1), state()))
names = [e.data["dispatcher"].__name__ for _, e in compiled.buffer if e.is_start]
print(json.dumps({"answers": list(map(int, answers)), "compiled": names}))
"""


def make_project(folder: Path) -> SimpleNamespace:
    """Return a copy of the core with two files of kernels, and a way to run a process in it."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "operators/core", folder / "operators/core", ignore=ignored)
    for name in ("__init__.py", "contract.py"):
        shutil.copy(ROOT / "operators" / name, folder / "operators" / name)
    probe = folder / "operators/probe"
    probe.mkdir()
    (probe / "__init__.py").write_text("")
    (probe / "helper.py").write_text(HELPER)
    (probe / "kernels.py").write_text(KERNELS)
    cache = folder / "cache"

    def run(program=PROGRAM, **environment):
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            cwd=folder,
            env={
                **os.environ,
                "NUMBA_CACHE_DIR": str(cache),
                "NUMBA_DISABLE_JIT": "0",
                "PYTHONPATH": str(folder),
                # Python recognizes a changed file by modification second and length.
                "PYTHONDONTWRITEBYTECODE": "1",
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ended.returncode == 0, ended.stderr
        return SimpleNamespace(**json.loads(ended.stdout))

    def cached():
        return {str(path): path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}

    return SimpleNamespace(run=run, cached=cached, helper=probe / "helper.py", root=folder)


# Whether such a process compiles is set explicitly, regardless of this process.
compiled_anyway = pytest.mark.skipif(INTERPRETED, reason="it was run with the compiled tests")
