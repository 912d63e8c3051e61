"""The aggregate's oracles: the definition by hand, and the fast one against the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation.functions import CODES, TEXT
from operators.aggregation.plan import Text, make_plan
from operators.aggregation.reference import oracle, rows_of, window_numbers, winsets
from operators.aggregation.sink import fold_rows
from operators.contract import UsageError

TEXTS = [b"", b"a@b.cc", b"10.0.0.1", b"none", b"x@y.org 1.2.3.4"]
TEXT_OF_ALL = Text(
    np.cumsum([0, *map(len, TEXTS)], dtype=np.int64),
    np.frombuffer(b"".join(TEXTS), dtype=np.uint8),
)


def columns(tuples):
    array = np.array(tuples, dtype=np.int64).reshape(-1, 3)
    return tuple(np.ascontiguousarray(array[:, column]) for column in range(3))


def test_windows_overlap_where_the_size_is_no_multiple_of_the_advance():
    plan = make_plan("count", 3, 2, keys=1)
    assert rows_of(plan, [(2, 0, 0)]) == [(0, 0, 1, 0, 1), (2, 0, 1, 0, 1)]
    assert rows_of(plan, [(3, 0, 0)]) == [(2, 0, 1, 0, 1)]


def test_no_window_begins_before_zero():
    assert rows_of(make_plan("count", 30, 3, keys=1), [(0, 0, 9)]) == [(0, 0, 1, 0, 1)]


def test_a_window_ends_before_its_end():
    plan = make_plan("count", 5, 5, keys=1)
    assert [row[0] for row in rows_of(plan, [(4, 0, 0), (5, 0, 0)])] == [0, 5]


def test_each_function_of_one_window_by_hand():
    tuples = [(0, 0, 7), (1, 0, -3), (1, 0, 9)]
    rows = {
        name: rows_of(make_plan(name, 5, 5, keys=1), tuples)[0][2:]
        for name in sorted(set(CODES) - TEXT)
    }
    assert rows == {
        "count": (3, 0, 3),
        "sum": (7 + (2**32 - 3) + 9, -1, 3),
        "avg": (7 + (2**32 - 3) + 9, -1, 3),
        "min": (-3, 0, 3),
        "max": (9, 0, 3),
        "first": (7, 0, 3),
    }


def test_text_functions_by_hand():
    tuples = [(0, 0, 0), (0, 1, 3), (1, 0, 2), (2, 0, 1)]
    rows = {name: rows_of(make_plan(name, 5, 5, keys=2), tuples, TEXTS) for name in sorted(TEXT)}
    assert rows == {
        "count-mail": [(0, 0, 1, 0, 1), (0, 1, 0, 0, 0)],
        "count-mail-ip": [(0, 0, 2, 0, 2), (0, 1, 0, 0, 0)],
        "first-mail": [(0, 0, 1, 0, 1)],
        "first-mail-ip": [(0, 0, 2, 0, 2)],
    }


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.integers(0, 4)), max_size=40),
    st.sampled_from(sorted(CODES)),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_the_fast_oracle_is_the_definition(tuples, function, one, other):
    tuples.sort(key=lambda row: row[0])
    plan = make_plan(function, max(one, other), min(one, other), keys=4)
    fast = list(winsets(plan, *columns(tuples), text=TEXT_OF_ALL))
    rows = [tuple(row) for winset in fast for row in winset.rows.tolist()]
    assert rows == rows_of(plan, tuples, TEXTS)
    for winset in fast:
        end = winset.window_start + plan.window_size
        later = [rank for rank, row in enumerate(tuples) if row[0] >= end]
        assert winset.processed == (later[0] if later else -1)


@pytest.mark.parametrize("values", list(itertools.product([-(2**63), -1, 0, 2**63 - 1], repeat=2)))
def test_extreme_values_agree_too(values):
    tuples = [(t, 0, v) for t, v in enumerate(values)]
    for name in sorted(set(CODES) - TEXT):
        plan = make_plan(name, 5, 3, keys=70_000)
        rows = [tuple(row) for w in winsets(plan, *columns(tuples)) for row in w.rows.tolist()]
        assert rows == rows_of(plan, tuples)


def test_a_gap_costs_nothing():
    timestamp = np.array([0, 10**18], dtype=np.int64)
    numbers = list(window_numbers(make_plan("count", 3, 2, keys=1), timestamp))
    assert numbers == [0, 10**18 // 2 - 1, 10**18 // 2]


def test_the_digest_is_chained_over_the_winsets():
    plan = make_plan("count", 3, 2, keys=2)
    tuples = [(0, 0, 0), (2, 1, 0), (9, 0, 0)]
    result = oracle(plan, *columns(tuples))
    digest = 0
    for winset, chained in zip(winsets(plan, *columns(tuples)), result.digest, strict=True):
        digest = fold_rows(digest, winset.rows)
        assert digest == chained
    assert result.processed.tolist() == [2, 2, -1]


def test_no_tuples_give_no_winsets():
    assert all(len(c) == 0 for c in oracle(make_plan("sum", 3, 2, keys=1), *columns([])))


def test_texts_are_asked_for():
    with pytest.raises(UsageError, match="texts"):
        oracle(make_plan("count-mail", 3, 2, keys=1), *columns([(0, 0, 0)]))
