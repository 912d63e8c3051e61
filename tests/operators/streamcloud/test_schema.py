"""Schemas: the time first, names and types checked, columns found, and corrections suggested."""

from __future__ import annotations

import pytest

from operators.contract import UsageError
from operators.streamcloud.schema import Schema


def test_the_time_is_there_and_first():
    assert Schema({"caller": "int64"}).columns == (("ts", "int64"), ("caller", "int64"))
    assert Schema([("x", "double"), ("ts", "int64")]).names == ("ts", "x")
    assert Schema({}).types == ("int64",)


def test_schemas_of_the_same_columns_are_equal_and_others_are_not():
    assert Schema({"a": "int64"}) == Schema([("ts", "int64"), ("a", "int64")], "elsewhere")
    assert Schema({"a": "int64", "b": "text"}) != Schema({"b": "text", "a": "int64"})
    assert Schema({"a": "int64"}) != Schema({"a": "double"})


WRONG = {
    (("ts", "double"),): 'calls: column "ts" is the time and int64, not double',
    (("a", "int64"), ("a", "text")): 'calls: column "a" is there twice: call one another',
    (("a", "int46"),): 'calls: column "a" is "int46", and the types are int64, double, text;'
    ' did you mean "int64"?',
    (("a", "truth"),): 'calls: column "a" is "truth", and the types are int64, double, text',
    (("not", "int64"),): 'calls: column "not" must be called by letters, digits and "_", a letter'
    " first, and by no word of the language of expressions",
    (("a.b", "int64"),): 'calls: column "a.b" must be called by',
    (("1a", "int64"),): 'calls: column "1a" must be called by',
    # The parser reads the ligature as two letters.
    (("\ufb01", "int64"),): 'calls: column "\ufb01" must be called by',
    ((7, "int64"),): 'calls: column "7" must be called by',
}


@pytest.mark.parametrize("columns", WRONG)
def test_a_wrong_schema_is_refused_by_its_column(columns):
    with pytest.raises(UsageError) as refused:
        Schema(columns, "calls")
    assert str(refused.value).startswith(WRONG[columns])


def test_an_unknown_column_is_answered_with_those_there_are_and_the_near_one():
    minutes = Schema({"district": "int64", "minutes": "int64"})
    with pytest.raises(UsageError) as refused:
        minutes.find("busy.columns.mean", "minuts", "minutes")
    assert str(refused.value) == (
        'busy.columns.mean: no column "minuts" in minutes (ts, district, minutes);'
        ' did you mean "minutes"?'
    )
    with pytest.raises(UsageError, match=r"\(ts, district, minutes\)$"):
        minutes.find("busy.columns.mean", "x", "minutes")
    assert minutes.find("busy", "district", "minutes") == "int64"
