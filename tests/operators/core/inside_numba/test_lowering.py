"""Which variables get separate SSA values in a kernel, and that such kernels are right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba.core.compiler import run_frontend

from operators.core.jit import INTERPRETED, PLAIN, inlined, kernel

pytestmark = pytest.mark.skipif(PLAIN, reason="it is about what plain numba does otherwise")
if not PLAIN:
    from operators.core.inside_numba import lowering


class State(NamedTuple):
    words: np.ndarray
    step: int


def over_all(state, rounds):
    words = state.words
    total = 0
    for at in range(rounds):
        if at % 2:
            late = words[at]
        else:
            late = state.step
        total += late
    return total + words[0]


def of_a_branch(state, rounds):
    if rounds > 2:
        found = state.words[1]
    else:
        rounds += 1
    if rounds > 3:
        return found + rounds
    return rounds


def of_the_round_before(state, rounds):
    total, before = 0, 0
    for at in range(rounds):
        total = 10 * total + before
        before = state.words[at]
        while before > 3:
            before -= state.step
    return total


def of_an_inner_loop(state, rounds):
    total = 0
    for at in range(rounds):
        square = state.words[at] * at
        for _ in range(at):
            if square > 5:
                total += square
            else:
                total -= state.step
    return total


@inlined
def handed_out(words, rounds):
    first = words[0]
    for at in range(rounds):
        if at % 2:
            yield words[at] + first
        else:
            yield first


@pytest.mark.parametrize(
    ("function", "values", "places"),
    [
        (over_all, {"state", "rounds", "words"}, {"total", "late"}),
        # Assigned once, but control also passes the use without the assignment.
        (of_a_branch, {"state"}, {"found", "rounds"}),
        (of_the_round_before, {"state", "rounds"}, {"total", "before"}),
        (of_an_inner_loop, {"state", "rounds", "square"}, {"total"}),
    ],
)
def test_what_is_assigned_once_before_every_use_is_a_value(function, values, places):
    found = lowering._values_of(run_frontend(function).blocks)
    named = {name.partition(".")[0] for name in found if not name.startswith("$")}
    assert values <= named
    assert not places & named


@pytest.mark.parametrize("function", [over_all, of_a_branch, of_the_round_before, of_an_inner_loop])
def test_a_kernel_of_values_is_the_function(function, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    seen = set()
    values_of = lowering._values_of
    monkeypatch.setattr(
        lowering, "_values_of", lambda blocks: seen.update(found := values_of(blocks)) or found
    )
    body = inlined(function)

    @kernel
    def entered(state, rounds):
        return body(state, rounds)

    state = State(np.array([4, 9, 2, 7, 5, 8], dtype=np.int64), 3)
    for rounds in range(7):
        assert entered(state, rounds) == function(state, rounds)
    assert INTERPRETED or "state" in seen, "numba's own lowering was used"


def test_a_generator_keeps_its_variables_from_call_to_call(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @kernel
    def entered(words, rounds):
        total = 0
        for word in handed_out(words, rounds):
            total = 10 * total + word
        return total

    assert entered(np.array([1, 2, 3, 4], dtype=np.int64), 4) == 1315
