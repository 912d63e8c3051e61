"""Columns to words and back, and invalid streams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import UsageError
from operators.streamcloud.algebra import Input, Map, Output, Query
from operators.streamcloud.coding import Coding, decode, encode_inputs, texts_of
from operators.streamcloud.order import key_width
from tests.operators.streamcloud.making_expressions import doubles, integers, texts
from tests.operators.streamcloud.making_queries import everything

CALLS = Input("calls", {"at": "int64", "n": "int64", "x": "double", "name": "text"}, time="at")
SAME = Map("same", CALLS, {"n": "n", "x": "x", "name": "name"})
QUERY = Query("q", SAME)
STREAM = {"at": [0, 2, 2], "n": [5, -1, 7], "x": [0.5, -0.0, 1e300], "name": ["b", "", "a"]}


def encoded(*streams):
    found, codes = encode_inputs(QUERY, {"calls": list(streams)})
    return found["calls"], codes


def test_a_stream_is_its_key_and_its_columns():
    (words,), codes = encoded(STREAM)
    assert words[:4].tolist() == [[0, 2, 2], [0, 0, 0], [0, 1, 2], [5, -1, 7]]
    assert words[4].view(np.float64).tolist() == [0.5, -0.0, 1e300]
    assert words[5].tolist() == [2, 0, 1] and codes.labels.tolist() == ["", "a", "b"]
    assert words.flags["C_CONTIGUOUS"] and words.dtype == np.int64


def test_streams_are_counted_through_all_inputs():
    others = Input("others", {"n": "int64"})
    query = Query("q", (SAME, Map("also", others, {"n": "n"})))
    found, _ = encode_inputs(
        query, {"others": [{"ts": [1], "n": [1]}] * 2, "calls": [STREAM, STREAM]}
    )
    sources = {name: [words[1, 0] for words in streams] for name, streams in found.items()}
    assert sources == {"calls": [0, 1], "others": [2, 3]}


rows = st.lists(st.tuples(integers, doubles, texts), max_size=6)


@given(rows)
def test_what_was_encoded_is_decoded(given_rows):
    n, x, name = ([row[place] for row in given_rows] for place in range(3))
    stream = {"at": np.arange(len(n)), "n": np.array(n, np.int64), "x": np.array(x, float),
              "name": name}  # fmt: skip
    (words,), codes = encoded(stream)
    output = Output(SAME)
    found = decode(output.schema, key_width(output), words, codes)
    assert list(found) == ["ts", "n", "x", "name"]
    assert found["ts"].tolist() == list(range(len(n))) and found["n"].tolist() == n
    assert found["x"].tobytes() == stream["x"].tobytes() and found["name"].tolist() == name
    assert found["n"].dtype == np.int64 and found["name"].dtype == object


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_codes_ascend_as_the_bytes_do(given_texts):
    codes = Coding(given_texts)
    by_bytes = sorted(set(given_texts), key=str.encode)
    assert [codes.codes[text] for text in by_bytes] == list(range(len(by_bytes)))
    assert codes.decode(codes.encode(given_texts)).tolist() == given_texts


def test_texts_of_expressions_have_codes():
    node = Map("m", CALLS, {"name": "name", "other": "'zz'"})
    _, codes = encode_inputs(Query("q", node), {"calls": [STREAM]})
    assert codes.labels.tolist() == ["", "a", "b", "zz"]
    assert list(texts_of(Query("q", node))) == ["zz"]
    assert list(texts_of(everything())) == []


WRONG = {
    "no column": ({"n": None}, 'calls: stream 0: no column "n" (at, x, name)'),
    "a near name": ({"n": None, "N": [1] * 3}, 'no column "n" (at, x, name, N)'),
    "doubles as integers": ({"n": [0.5, 1, 2]}, "column n: must be whole numbers in a row, rec"),
    "a table": ({"n": [[1], [2], [3]]}, "column n: must be whole numbers in a row, received int64"),
    "over 64 bits": ({"n": np.array([1, 2, 2**63], np.uint64)}, "column n: 9223372036854775808"),
    "no number": ({"x": ["a", "b", "c"]}, "column x: must be numbers in a row, received <U1"),
    "not finite": ({"x": [0.0, np.nan, 1.0]}, "column x, position 1: nan is no finite number"),
    "no text": ({"name": ["a", 5, "b"]}, "column name, position 1: 5 is no text"),
    "missing text": ({"name": ["a", "b", None]}, "column name, position 2: None is no text"),
    "another length": ({"n": [1, 2]}, "column n has 2 values, and at has 3: the columns"),
    "before 1970": ({"at": [-1, 2, 3]}, "calls: stream 0, position 0: time -1 is not between"),
    "too late": ({"at": [1, 2, 2**62]}, "calls: stream 0, position 2: time 4611686018427387904"),
    "falling": ({"at": [1, 3, 2]}, "calls: stream 0, position 2: time 2 is before 3: a stream"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_stream_is_refused(what):
    changed, message = WRONG[what]
    stream = {name: values for name, values in {**STREAM, **changed}.items() if values is not None}
    with pytest.raises(UsageError) as refused:
        encoded(stream)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"call": [STREAM]}, 'q: no input "call" (calls); did you mean "calls"?'),
        ({}, "q: nothing is given for the input calls; it takes calls"),
        ({"calls": []}, "calls: an input has at least one stream, if an empty one"),
    ],
)
def test_inputs_that_do_not_fit_the_query_are_refused(inputs, message):
    with pytest.raises(UsageError) as refused:
        encode_inputs(QUERY, inputs)
    assert str(refused.value) == message


def test_an_empty_stream_has_columns_of_its_types():
    (words,), codes = encoded({name: [] for name in STREAM})
    assert words.shape == (6, 0) and len(codes.labels) == 0
    output = Output(SAME)
    found = decode(output.schema, key_width(output), words, codes)
    assert [found[name].dtype for name in ("ts", "n", "x")] == [np.int64, np.int64, np.float64]
