"""The YAML form: reading, writing, and invalid files, each with the message."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import UsageError
from operators.streamcloud.algebra import (
    Aggregate,
    Called,
    CountWindow,
    Filter,
    Input,
    Join,
    Map,
    Output,
    Product,
    Query,
    TimeWindow,
    Union,
)
from operators.streamcloud.describe import described
from operators.streamcloud.reference import run
from operators.streamcloud.yaml_form import read_query, to_mapping
from tests.operators.streamcloud.making_queries import BUSY, EVERYTHING
from tests.operators.streamcloud.making_records import join

HERE = Path(__file__).parent
WRONG = sorted(HERE.glob("errors/*.yaml"))


def read(text, tmp_path):
    path = tmp_path / "query.yaml"
    path.write_text(text, encoding="utf-8")
    return read_query(path)


def test_every_operator_is_read(tmp_path):
    query = read(BUSY, tmp_path)
    kinds = {node.name: type(node) for node in query.nodes}
    assert kinds == {
        "calls": Input, "suspects": Input, "long": Filter, "minutes": Map, "other": Map,
        "known": Join, "pairs": Product, "all": Union, "busy": Aggregate,
    }  # fmt: skip
    assert list(kinds) == list(yaml.safe_load(BUSY)["inputs"]) + list(
        yaml.safe_load(BUSY)["operators"]
    )
    nodes = {node.name: node for node in query.nodes}
    assert [each.name for each in query.outputs] == ["busy", "known", "pairs"]
    assert nodes["minutes"].inputs == (Output(nodes["long"], 0),)
    assert nodes["known"].on == (("caller", "number"),)
    assert nodes["known"].where.text == "left.duration > 0" and nodes["pairs"].where is not None
    assert nodes["known"].window == TimeWindow(60) and nodes["known"].time == "larger"
    assert nodes["busy"].window == TimeWindow(60, 10) and nodes["busy"].group_by == ("district",)
    assert nodes["other"].columns[1][1].text == "0"
    assert str(nodes["busy"].schemas[0]) == "(ts int64, district int64, calls int64, mean double)"


def test_operators_may_stand_in_any_order_and_keep_it_where_they_can(tmp_path):
    query = read(EVERYTHING, tmp_path)
    names = [node.name for node in query.operators]
    assert names == ["split", "late", "near", "self", "inner", "outer", "means", "counted",
                     "anchored", "anchored_k", "mixed"]  # fmt: skip
    nodes = {node.name: node for node in query.nodes}
    assert nodes["a"].time == "at" and nodes["a"].schema.names == ("ts", "k", "x", "name")
    assert nodes["self"].window == CountWindow(3) and nodes["near"].time == "smaller"
    assert nodes["anchored"].window == TimeWindow(3, 3, "oldest")
    assert nodes["counted"].group_by == ("k",) and nodes["counted"].window == CountWindow(2, 1)


@pytest.mark.parametrize("text", [BUSY, EVERYTHING])
def test_what_is_written_is_read_again(text, tmp_path):
    query = read(text, tmp_path)
    written = to_mapping(query)
    again = read_query(written)
    assert to_mapping(again) == written
    assert list(map(described, again.operators)) == list(map(described, query.operators))
    # Also by way of a file.
    assert to_mapping(read(yaml.safe_dump(written, sort_keys=False), tmp_path)) == written


def test_the_method_of_a_join_is_written():
    written = to_mapping(Query("q", join(method="nested-loop")))
    assert read_query(written).operators[0].method == "nested-loop"


def test_a_mapping_of_python_is_read_as_a_file_is(tmp_path):
    found = read_query(yaml.safe_load(BUSY.replace(" on:", " 'on':")))
    assert to_mapping(found) == to_mapping(read(BUSY, tmp_path))


def test_words_of_yaml_are_texts(tmp_path):
    query = read(
        """
query: words
inputs:
  off: {schema: {ts: int64, yes: int64, no: text, "null": double}}
operators:
  on: {map: {input: off, columns: {t: no, y: yes, n: 1e3, o: "'off'", h: 0.50, i: 1_0}}}
outputs: [on]
""",
        tmp_path,
    )
    rows = run(query, {"off": [[(3, 4, "x", 0.5)]]})["on"]
    assert rows == [(3, "x", 4, 1000.0, "off", 0.5, 10)]


def test_an_octal_number_is_no_other_number(tmp_path):
    with pytest.raises(UsageError, match=r'm.columns.x: "010" cannot be read'):
        read("""
query: q
inputs: {a: {schema: {ts: int64}}}
operators: {m: {map: {input: a, columns: {x: 010}}}}
outputs: m
""", tmp_path)  # fmt: skip


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_file_gives_the_message_in_its_first_line(path):
    wanted = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    with pytest.raises(UsageError) as refused:
        read_query(path)
    # A message begins with the file, whose folder differs between machines.
    assert str(refused.value).removeprefix(f"{path.parent}/") == f"{path.name}: {wanted}"


def test_there_are_wrong_files():
    assert len(WRONG) >= 30


FILES = {
    b"": "query: must hold the keys query, inputs, operators, outputs, received None",
    b"query: [": "is not YAML at line 1: expected the node content, but found '<stream end>'",
    b"query: \xff": "is not UTF-8 text: a query is a YAML file",
    b"a: 1\n---\nb: 2\n": "is not YAML at line 2: but found another document",
    b"&a [*a]": "is not YAML at line 1: found unconstructable recursive node",
    b"[a, b]": "query: must hold the keys query, inputs, operators, outputs, received ['a', 'b']",
    b"{[a]: b}": "line 1: a key is a word, and this is ['a']",
}


@pytest.mark.parametrize("content", FILES)
def test_what_is_no_query_is_refused(content, tmp_path):
    path = tmp_path / "query.yaml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        read_query(path)
    assert str(refused.value).startswith(f"{path}: {FILES[content]}")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError) as refused:
        read_query(tmp_path / "none.yaml")
    path = tmp_path / "none.yaml"
    assert str(refused.value) == f"{path}: cannot be read: No such file or directory"


def minutes_of(duration):
    return duration // 60


def test_a_function_of_a_user_has_no_words_in_yaml():
    calls = Input("calls", {"duration": "int64"})
    called = Called(minutes_of, ("duration",), "int64")
    with pytest.raises(UsageError) as refused:
        to_mapping(Query("q", Map("minutes", calls, {"x": called})))
    assert str(refused.value) == (
        "minutes.columns.x: minutes_of(duration) is a function, and YAML has no words for it: give"
        " the query as Python objects"
    )


PIECES = ["", *"x[]{}: \n'\"0-.,", "&a", "*a", "()"]
PIECES += ["calls", "busy", "input", "columns", "where", "time", "[calls]", "{calls: 1}"]


@given(st.sampled_from([BUSY, EVERYTHING]), st.data())
def test_whatever_is_mistyped_is_refused_in_words_or_read(text, data):
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 8))
        text = text[:begin] + data.draw(st.sampled_from(PIECES)) + text[begin + cut :]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "query.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            query = read_query(path)
        except UsageError as error:
            assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
        else:
            assert to_mapping(read_query(to_mapping(query))) == to_mapping(query)
