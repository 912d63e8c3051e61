"""The JIT policy, in separate processes: which kernels are recompiled, and which must not be.

Each test copies the core into a new folder, adds kernels in two files, and counts the compilations
of fresh processes there: numba itself reports each compilation as an event.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.codegen import CPUCodeLibrary
from numba.core.errors import NumbaError

from operators.core import kernel_keys
from operators.core.atomics import RELAXED, fetch_add
from operators.core.jit import INTERPRETED, PLAIN, inlined, kernel
from tests.operators.core.kernel_project import HELPER, make_project


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path)


inside_numba = pytest.mark.skipif(INTERPRETED or PLAIN, reason="plain numba does it otherwise")


@inside_numba
def test_a_second_process_compiles_nothing_and_the_cache_does_not_grow(project):
    first = project.run()
    assert first.answers == [20, 30, 10]
    assert {"drive", "locked"} <= set(first.compiled)
    files = project.cached()
    assert files
    for _ in range(2):
        again = project.run()
        assert (again.answers, again.compiled) == ([20, 30, 10], [])
    assert project.cached() == files


@inside_numba
def test_editing_a_helper_in_another_file_gives_the_new_answer(project):
    assert project.run().answers == [20, 30, 10]
    before = project.helper.stat()
    project.helper.write_text(HELPER.replace("10", "70"))
    # Even a restored modification time does not hide the edit.
    os.utime(project.helper, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.run().answers == [140, 210, 70]
    project.helper.write_text(HELPER)
    again = project.run()
    assert (again.answers, again.compiled) == ([20, 30, 10], [])


# A user's file: the values come from the environment and from a neighbouring file.
OUTSIDE = """
import os
import more
from more import TABLE, halved

LIMIT = int(os.environ["LIMIT"])

def judged(word):
    return word * LIMIT + halved(TABLE[0]) + more.OFFSET
"""
MORE = """
import numpy as np
from operators.core.jit import inlined

TABLE = np.array([8])
OFFSET = 0

@inlined
def halved(word):
    return word // SHARE

SHARE = 2
"""
OF_OUTSIDE = """
import json
from numba.core import event
from operators.core.jit import inlined
with event.install_recorder("numba:compile") as compiled:
    from outside import judged
    from operators.probe.judging import make_judge
    answers = [make_judge(inlined(judged))(3)]
names = [e.data["dispatcher"].__name__ for _, e in compiled.buffer if e.is_start]
print(json.dumps({"answers": list(map(int, answers)), "compiled": names}))
"""
JUDGING = """
from operators.core.jit import kernel

def make_judge(judged):
    @kernel
    def judge(word):
        return judged(word)
    return judge
"""


@inside_numba
def test_values_that_a_function_from_elsewhere_finds_in_its_module_are_never_stale(project):
    (project.root / "operators/probe/judging.py").write_text(JUDGING)
    (project.root / "outside.py").write_text(OUTSIDE)
    more = project.root / "more.py"
    more.write_text(MORE)
    assert project.run(OF_OUTSIDE, LIMIT="10").answers == [34]
    again = project.run(OF_OUTSIDE, LIMIT="10")
    assert (again.answers, again.compiled) == ([34], [])
    assert project.run(OF_OUTSIDE, LIMIT="100").answers == [304]
    for old, new, answer in (
        ("[8]", "[20]", 40),
        ("SHARE = 2", "SHARE = 4", 32),
        ("OFFSET = 0", "OFFSET = 7", 41),
        ("// SHARE", "* SHARE", 46),
    ):
        more.write_text(MORE.replace(old, new))
        assert project.run(OF_OUTSIDE, LIMIT="10").answers == [answer], old


def test_interpreted_the_same_program_gives_the_same_answers(project):
    ended = project.run(NUMBA_DISABLE_JIT="1")
    assert (ended.answers, ended.compiled) == ([20, 30, 10], [])
    assert project.cached() == {}


@inside_numba
def test_what_is_inlined_is_optimised_in_its_kernel_only(monkeypatch, tmp_path):
    optimised = []
    optimise = CPUCodeLibrary._optimize_final_module

    def noting(library):
        optimised.append(library.name)
        optimise(library)

    monkeypatch.setattr(CPUCodeLibrary, "_optimize_final_module", noting)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @inlined
    def inner(words, place):
        return fetch_add(words, place, 5, RELAXED)

    @inlined
    def outer(words):
        return inner(words, 0) + inner(words, 1)

    @kernel
    def entered(words):
        return outer(words)

    words = np.array([3, 40], np.int64)
    assert (entered(words), words.tolist()) == (43, [8, 45])
    # The first kernel of a process brings numba's runtime.
    assert [name.split(".")[-1] for name in optimised if name != "nrt"] == ["entered"]
    (assembly,) = entered.inspect_asm().values()
    calls = [line for line in assembly.splitlines() if "call" in line]
    assert not [line for line in calls if "inner" in line or "outer" in line]


def test_what_was_edited_since_the_start_is_cached_for_this_process_only(monkeypatch):
    digest = kernel_keys.closure_digest.__wrapped__  # bypasses the cache of digests
    assert digest(Path(__file__)) == digest(Path(__file__))
    monkeypatch.setattr(kernel_keys, "STARTED_NS", 0)
    assert digest(Path(__file__)) != digest(Path(__file__))


def test_a_kernel_closes_over_plain_things_only():
    def make(value):
        @kernel
        def drive():
            return value

        return drive

    assert make(5)() == 5
    if not INTERPRETED and not PLAIN:
        for value in (make(5), np.zeros(3), np.int64(5)):
            with pytest.raises(TypeError, match="a kernel closes over .*only @inlined functions"):
                make(value)


def test_an_allocation_in_a_kernel_is_a_compile_error():
    @inlined
    def helper(count):
        return np.zeros(count)[0]

    @kernel
    def allocates(count):
        return helper(count)

    if INTERPRETED:
        assert allocates(3) == 0
    else:
        with pytest.raises(NumbaError):
            allocates(3)


def test_a_kernel_divides_without_raising():
    # Python's check for zero would need the interpreter lock in the middle of a kernel.
    @kernel
    def quotient(a, b):
        return a / b

    if not INTERPRETED:
        assert quotient(1.0, 0.0) == np.inf


class Inner(NamedTuple):
    words: np.ndarray
    count: int


class Mixed(NamedTuple):
    """The kinds of fields a state may have: arrays of any numbers, other values, and states."""

    words: np.ndarray
    reals: np.ndarray
    flags: np.ndarray
    none: np.ndarray
    part: np.ndarray
    grid: np.ndarray
    inner: Inner
    both: tuple[Inner, Inner]
    factor: float


@inlined
def last_of(row, into, at):
    into[at], into[at + 1] = len(row), row[len(row) - 1]
    row[0] += 1


@inlined
def told(state, into):
    """Read and write all fields of a state, through the state that was passed."""
    last_of(state.words, into, 0)
    last_of(state.part, into, 2)
    last_of(state.inner.words, into, 4)
    last_of(state.both[1].words, into, 6)
    into[8], into[9] = state.reals[1:][0], state.reals[0] + state.reals[-1]
    into[10], into[11] = len(state.none), state.flags[::2][1]
    into[12], into[13] = state.grid[1, 2], state.grid.shape[1]
    into[14] = state.inner.count + state.factor + state.flags.itemsize
    state.grid[0, 0] = 7


@inlined
def handed_on(state, into):
    told(state, into)


def test_a_state_is_whole_in_the_functions_that_it_is_handed_to():
    def make():
        inner = [Inner(np.arange(n, dtype=np.int64), n) for n in (3, 4, 5)]
        return Mixed(
            np.arange(9, dtype=np.int64), np.array([0.5, 1.5]), np.array([0, 1, 1], dtype=np.int8),
            np.zeros(0, dtype=np.int64), np.arange(12, dtype=np.int64)[::3],
            np.arange(6, dtype=np.int64).reshape(2, 3), inner[0], (inner[1], inner[2]), 0.25,
        )  # fmt: skip

    @kernel
    def tell(state, into):
        handed_on(state, into)

    plain, compiled = make(), make()
    wanted, found = np.zeros(16), np.zeros(16)
    told(plain, wanted)
    tell(compiled, found)
    assert found.tolist() == wanted.tolist()
    assert wanted[:8].tolist() == [9, 8, 4, 9, 3, 2, 5, 4]
    assert wanted[8:15].tolist() == [1.5, 2.0, 0, 1, 5, 3, 4.25]
    for state in (plain, compiled):
        assert (state.words[0], state.part[0], state.inner.words[0], state.both[1].words[0]) == (
            1, 1, 1, 1)  # fmt: skip
        assert state.grid[0, 0] == 7


def test_an_inlined_function_stays_a_plain_function():
    @inlined
    def twice(word):
        return 2 * word

    assert twice(2**70) == 2**71
