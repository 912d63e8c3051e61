"""Queries that an aggregate refuses: one line, with the received value and the limit."""

from __future__ import annotations

import numpy as np
import pytest
from numba import typeof

from operators.aggregation.plan import NO_TEXT, Text, check_text, make_plan, windows_per_tuple
from operators.contract import TIMESTAMP_LIMIT, UsageError

GOOD = {"function": "count", "window_size": 30, "window_advance": 3, "keys": 7}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"function": "median"}, "unknown function 'median'; there are: count, sum"),
        ({"window_advance": 0}, "advance must be at least 1 time unit, received 0"),
        ({"window_advance": -3}, "advance must be at least 1 time unit, received -3"),
        ({"window_advance": 31}, "advance 31 is larger than the window size 30"),
        ({"window_size": 0}, "window size must be between 1 and"),
        ({"window_size": TIMESTAMP_LIMIT}, "window size must be between 1 and"),
        ({"window_size": 2.5}, "window size must be a whole number, received 2.5"),
        ({"window_size": 10**9, "window_advance": 1}, "1000000000 windows, and the limit is"),
        ({"keys": 0}, "keys must be between 1 and"),
        ({"rows_capacity": 6}, "rows capacity must be 0 or between the 7 rows"),
        ({"winsets_capacity": 0}, "winsets capacity must be between 1 and"),
    ],
)
def test_a_plan_out_of_limits_is_refused_in_one_line(wrong, says):
    with pytest.raises(UsageError) as refusal:
        make_plan(**{**GOOD, **wrong})
    assert says in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_plan_holds_plain_integers():
    plan = make_plan("count", np.int32(30), np.int64(3), keys=np.int16(7))
    assert {type(value) for value in plan} == {int}


@pytest.mark.parametrize(("size", "advance", "count"), [(30, 3, 10), (3, 2, 2), (5, 5, 1)])
def test_windows_per_tuple_rounds_up(size, advance, count):
    assert windows_per_tuple(make_plan("count", size, advance, keys=1)) == count


def test_texts_are_taken_only_where_a_function_reads_them():
    text = Text(np.array([0, 3]), np.zeros(3, dtype=np.uint8))
    assert check_text(make_plan("count", 3, 2, keys=1), text) is NO_TEXT
    plan = make_plan("count-mail", 3, 2, keys=1)
    assert check_text(plan, text).offsets.tolist() == [0, 3]
    with pytest.raises(UsageError, match="reads texts and the data has none"):
        check_text(plan, None)
    with pytest.raises(UsageError, match="offsets end at 4"):
        check_text(plan, text._replace(offsets=np.array([0, 4])))


def test_a_kernel_is_compiled_once_for_no_text_and_for_texts_from_anywhere():
    plan = make_plan("count-mail", 3, 2, keys=1)
    made = Text(np.array([0, 3]), np.zeros(3, dtype=np.uint8))
    from_file = Text(np.array([0, 3]), np.frombuffer(b"a@b", dtype=np.uint8))
    assert not from_file.text_bytes.flags.writeable
    types = {typeof(check_text(plan, text)) for text in (made, from_file)}
    assert types == {typeof(check_text(make_plan("count", 3, 2, keys=1), None))}
    assert made.text_bytes.flags.writeable, "the caller's own array"
