"""``run_reorder`` over arrays: a parallel map in order, and refusals."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
import pytest

from operators import registry
from operators.contract import UsageError
from operators.core.jit import inlined
from operators.reorder.run import run_reorder
from tests.covering import compiled_few

BUFFERS = [variant.id for variant in registry.variants("reorder")]
WORDS = np.random.default_rng(1).integers(-(1 << 40), 1 << 40, 500)


def collatz(word):
    """Return the number of steps to 1, or -1 below 1; some words take a hundred, some none."""
    steps = -1 if word < 1 else 0
    while word > 1:
        word = word // 2 if word % 2 == 0 else 3 * word + 1
        steps += 1
    return steps


@pytest.mark.parametrize("buffer", compiled_few(BUFFERS, ["non-blocking"]))
def test_outputs_stand_in_the_order_of_the_words(buffer):
    wanted = [collatz(word) for word in WORDS.tolist()]
    for workers, slots in ((1, 1), (2, 1), (4, 3), (2, 1024)):
        found = run_reorder(buffer, collatz, WORDS, workers=workers, slots=slots)
        assert found.tolist() == wanted, (workers, slots)
    assert run_reorder(buffer, collatz, []).tolist() == []


def test_a_function_may_be_compiled_or_inlined_already():
    wanted = [collatz(word) for word in (7, 0, 27)]
    for function in (numba.njit(collatz), inlined(collatz)):
        assert run_reorder("non-blocking", function, [7, 0, 27]).tolist() == wanted


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"variant": "no"}, "unknown variant 'no'"),
        ({"workers": 0}, "workers must be between 1 and 64, received 0"),
        ({"workers": 1.5}, "workers must be a whole number, received 1.5"),
        ({"slots": 0}, "slots must be between 1 and"),
        ({"words": [0.5]}, "words are whole numbers in a row, received float64"),
        ({"function": lambda word: word}, "a function of words is a function with a name, in a f"),
        ({"function": partial(collatz)}, "a function of words is a function with a name, in a f"),
    ],
)
def test_what_is_no_map_is_refused(given, says):
    asked = {"variant": "non-blocking", "function": collatz, "words": [1], **given}
    with pytest.raises(UsageError, match=says):
        run_reorder(**asked)
