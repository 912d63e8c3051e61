"""Every row is checked against the one list of columns."""

from __future__ import annotations

import pytest
from tests.experiments.harness.rows import a_row

from experiments.records import columns


def test_a_row_comes_back_in_the_order_of_the_list():
    row = a_row()
    shuffled = dict(reversed(row.items()))
    assert list(columns.validate(shuffled)) == [column.name for column in columns.COLUMNS]


def test_every_column_is_declared_once_with_a_sentence():
    names = [column.name for column in columns.COLUMNS]
    assert len(names) == len(set(names))
    assert all(column.meaning and column.kind in columns.KINDS for column in columns.COLUMNS)
    assert set(columns.PURPOSE) < set(names)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"throughput": 1.0}, "unknown column 'throughput'"),
        ({"inputs": None}, "column 'inputs' is null"),
        ({"inputs": 1.5}, "column 'inputs' is no integer: 1.5"),
        ({"inputs": True}, "column 'inputs' is no integer: True"),
        ({"seconds": float("nan")}, "column 'seconds' is no number: nan"),
        ({"valid": 1}, "column 'valid' is no boolean: 1"),
        ({"phase": "warm"}, "unknown phase 'warm'"),
        ({"invalid_reason": "because"}, "valid and invalid_reason contradict each other"),
        ({"digest": "0"}, "a valid row with a digest that is not the oracle's"),
        ({"throughput_tps": None}, "a valid row without throughput_tps"),
    ],
)
def test_a_row_that_is_none_says_what_is_wrong(change, problem):
    assert problem in columns.problems({**a_row(), **change})
    with pytest.raises(ValueError, match="not a result row"):
        columns.validate({**a_row(), **change})


def test_a_missing_column_is_named():
    row = a_row()
    del row["cores"]
    assert columns.problems(row) == ["column 'cores' is missing"]


def test_a_failed_row_may_lack_what_was_not_measured():
    gone = dict.fromkeys(["throughput_tps", "seconds", "outputs", "digest", "oracle_digest"])
    assert columns.problems(a_row(valid=False, invalid_reason="no", **gone)) == []
