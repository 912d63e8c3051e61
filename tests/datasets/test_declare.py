"""The contents of a declaration, and refused ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datasets.declare import Column, DatasetDeclaration, Table
from operators.contract import UsageError

TIME, KEY = Column("at", "int64", "s", "when"), Column("who", "string", "", "by whom")
VALUE, NOTE = Column("much", "int64", "1", "how much"), Column("note", "string", "", "a word")
MAYBE = Column("maybe", "int64", "1", "or not", nullable=True)
TABLE = Table(
    "rows", (TIME, KEY, VALUE, NOTE, MAYBE), time="at", time_unit="s", key="who", value="much"
)
DATASET = DatasetDeclaration("one", "anything", "One", (TABLE,), {"quick": 5}, 3, decimals=2)


def test_a_table_knows_its_payload_and_whether_it_is_a_keyed_stream():
    assert (TABLE.payload, TABLE.is_keyed_stream) == ("value", True)
    text = replace(TABLE, value=None, text="note")
    assert (text.payload, text.is_keyed_stream) == ("text", True)
    keys_only = replace(TABLE, value=None)
    assert (keys_only.payload, keys_only.is_keyed_stream) == (None, False)
    assert not replace(TABLE, time=None, time_unit=None).is_keyed_stream


def test_a_type_that_arrow_does_not_know_is_refused():
    with pytest.raises(UsageError, match="column 'x' has type 'int63'.*; give int64"):
        Column("x", "int63", "", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a/b"}, "table 'a/b' has columns at, who, .*; give a name of letters"),
        ({"columns": ()}, "has columns none; give"),
        ({"columns": (TIME, TIME)}, "has columns at, at; give .* each column once"),
        ({"time": "when"}, "its time is 'when', which is none of its columns at, who"),
        ({"time": "note"}, "its time, 'note', is string; int64 without nulls is needed"),
        ({"value": "maybe"}, "its value, 'maybe', is int64 and may be null"),
        ({"text": "much"}, "its text, 'much', is int64; string"),
        ({"text": "note"}, "has a value 'much' and a text 'note'; one of"),
        ({"time_unit": "h"}, "time unit 'h'; known are s, ms, us"),
        ({"time_unit": None}, "has time 'at' in time unit None"),
        ({"time": None}, "has time None in time unit 's'"),
        (
            {"columns": (TIME, replace(KEY, type="float64"), VALUE)},
            "its key, 'who', is float64; an integer or string",
        ),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        replace(TABLE, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": ()}, "has tables none"),
        ({"tables": (TABLE, TABLE)}, "has tables rows, rows; give each once"),
        ({"rows": {"quick": 0}}, "has rows {'quick': 0}"),
        ({"query_time_unit": 0}, "query time unit 0; give 1 or more"),
        ({"decimals": None}, "has decimals None and its main table rows has value 'much'"),
    ],
)
def test_a_dataset_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        replace(DATASET, **change)
