"""Marks count when interpreted, and vanish when compiled."""

from __future__ import annotations

import numpy as np
import pytest

from operators.core import marks
from operators.core.jit import INTERPRETED, kernel
from operators.core.marks import POISON, enter_alone, leave_alone, mark, poison
from tests.operators.core.running import forms


@kernel
def passes(times):
    for _ in range(times):
        mark("test_marks: here")
    return times


@kernel
def poisons(words):
    poison(words, 1, 2)


@kernel
def enters_twice(words):
    enter_alone(words, 1)
    leave_alone(words, 1)
    enter_alone(words, 1)
    enter_alone(words, 1)


def test_a_mark_counts_each_passage_when_interpreted():
    marks.hits.clear()
    (passes if INTERPRETED else passes.py_func)(3)
    assert marks.hits == {"test_marks: here": 3}


def test_a_mark_leaves_no_trace_when_compiled():
    marks.hits.clear()
    assert passes(3) == 3
    assert marks.hits["test_marks: here"] == (3 if INTERPRETED else 0)


def test_words_are_poisoned_when_interpreted_and_left_alone_when_compiled():
    for form in forms(poisons):
        words = np.zeros(4, np.int64)
        form(words)
        left_alone = form is poisons and not INTERPRETED
        assert words.tolist() == ([0] * 4 if left_alone else [0, POISON, POISON, 0])


def test_who_enters_where_another_is_fails_when_interpreted_and_only_then():
    for form in forms(enters_twice):
        words = np.zeros(2, np.int64)
        if form is enters_twice and not INTERPRETED:
            form(words)
            assert words.tolist() == [0, 0]
        else:
            with pytest.raises(AssertionError, match="two threads are where one at a time may be"):
                form(words)
            assert words.tolist() == [0, 1]
