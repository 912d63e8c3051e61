"""Schedules: three kinds of one type, in Python and in kernels."""

from __future__ import annotations

import numpy as np
import pytest

from operators.core.jit import kernel
from operators.core.layout import aligned_words
from operators.running.schedule import CLOSED_LOOP, at_times, due_after, every, is_open

TIMES = np.array([3, 3, 10_000, 10_001], dtype=np.int64)


@kernel
def ask(schedule, ranks, out):
    for place in range(len(ranks)):
        out[place] = due_after(schedule, ranks[place])


@kernel
def ask_whether_open(schedule, out):
    out[0] = 1 if is_open(schedule) else 0


@pytest.mark.parametrize(
    ("schedule", "due"),
    [(every(2.5), [0, 2, 5, 7]), (every(1e6), [0, 10**6, 2 * 10**6, 3 * 10**6]),
     (at_times(TIMES), TIMES.tolist())],
)  # fmt: skip
def test_a_tuple_is_due_at_the_same_time_in_python_and_in_a_kernel(schedule, due):
    ranks, out = np.arange(4), aligned_words(4)
    ask(schedule, ranks, out)
    assert schedule
    assert schedule.due_ns(ranks).tolist() == out.tolist() == due


@pytest.mark.parametrize("schedule", [CLOSED_LOOP, every(0.5), at_times(TIMES)])
def test_the_closed_loop_alone_has_no_due_times(schedule):
    out = aligned_words(1)
    ask_whether_open(schedule, out)
    assert bool(schedule) == bool(out[0]) == (schedule is not CLOSED_LOOP)


def test_all_kinds_are_one_type_so_that_a_kernel_is_compiled_once():
    kinds = {(type(each), type(each.period_ns), each.times.dtype, each.times.flags.writeable)
             for each in (CLOSED_LOOP, every(1), at_times(range(3)))}  # fmt: skip
    assert len(kinds) == 1
