"""Marks count interpreted and are nothing compiled."""

from __future__ import annotations

import numpy as np

from operators.core import marks
from operators.core.jit import INTERPRETED, kernel
from operators.core.marks import POISON, mark, spoil
from tests.operators.core.running import forms


@kernel
def passes(times):
    for _ in range(times):
        mark("test_marks: here")
    return times


@kernel
def spoils(words):
    spoil(words, 1, 2)


def test_a_mark_counts_each_passage_when_interpreted():
    marks.hits.clear()
    (passes if INTERPRETED else passes.py_func)(3)
    assert marks.hits == {"test_marks: here": 3}


def test_a_mark_leaves_no_trace_when_compiled():
    marks.hits.clear()
    assert passes(3) == 3
    assert marks.hits["test_marks: here"] == (3 if INTERPRETED else 0)


def test_words_are_spoiled_when_interpreted_and_left_alone_when_compiled():
    for form in forms(spoils):
        words = np.zeros(4, np.int64)
        form(words)
        left_alone = form is spoils and not INTERPRETED
        assert words.tolist() == ([0] * 4 if left_alone else [0, POISON, POISON, 0])
