"""YAML as written: words stay texts, and nothing is dropped silently."""

from __future__ import annotations

import pytest

from datasets.formats.mapping import read_mapping
from datasets.formats.yaml_texts import load_texts
from operators.contract import UsageError

TABLE = (
    "name: NO\nrole: meters\nformat: table\nfiles: m.csv\ntime_unit: s\ndecimals: 2\nquoted: yes\n"
    "unit: on\ncolumns: {time: 2014-06-23, key: NO, value: 010}\n"
)


def test_words_are_texts_and_nothing_is_none(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: [NO, 010, 1.50, 12:30, 2014-06-23, 'null', null, ~]\nb:\n")
    texts = ["NO", "010", "1.50", "12:30", "2014-06-23", "null", None, None]
    assert load_texts("mapping", path) == {"a": texts, "b": None}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a: 1\nb: 2\na: 3\n", "mapping is not YAML at line 3: key 'a' is there twice"),
        (b"a: {b: 1, b: 1}\n", "mapping is not YAML at line 1: key 'b' is there twice"),
        (b"a: [1\n", "mapping is not YAML at line 2"),
        (b"\xff\n", "mapping is not UTF-8 text"),
    ],
)
def test_what_is_no_such_yaml_is_refused_in_one_line(content, says, tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refusal:
        load_texts("mapping", path)
    assert str(refusal.value).startswith(says) and "\n" not in str(refusal.value)


def test_names_of_a_mapping_are_as_they_are_written(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text(TABLE)
    mapping = read_mapping(path)
    assert mapping.columns == {"time": "2014-06-23", "key": "NO", "value": "010"}
    assert (mapping.name, mapping.unit, mapping.decimals, mapping.quoted) == ("NO", "on", 2, True)
