"""Delimited text is read by the rules, whichever code path a block takes."""

from __future__ import annotations

import csv
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.formats import delimited
from datasets.formats.delimited import Delimited
from operators.contract import UsageError

LETTERS = st.text(alphabet='ab7 é,;|\t"\r\n.-\x1a', max_size=6)


def read(content: bytes, delimiter: str = ",", quoted: bool = True):
    """Return the header of a file, the rows, their first lines, the raw rows, and faults."""
    file = Delimited(io.BytesIO(content), "some.csv", delimiter, quoted)
    rows, lines, raw, faults = [], [], [], []
    for block in file.blocks():
        columns = [block.columns[place].to_pylist() for place in range(len(file.header))]
        rows += zip(*columns, strict=True)
        lines += block.line.tolist()
        raw += [block.raw(row) for row in range(len(block.line))]
        faults += block.faults
    return file.header, [list(row) for row in rows], lines, raw, faults


@st.composite
def dialects(draw):
    """Return a file, the delimiter, the rows, and the limit of bytes in a block."""
    delimiter, end = draw(st.sampled_from(",;|\t")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(LETTERS, min_size=width, max_size=width), max_size=12))
    dice = random.Random(draw(st.integers(0, 999)))
    always = draw(st.booleans())
    text = delimiter.join(f'"c{place}\n"' if always else f"c{place}" for place in range(width))
    for row in rows:
        text += end * (1 + (dice.random() < 0.1))
        fields = []
        for field in row:
            must = set(field) & set('"\r\n' + delimiter) or (width == 1 and not field)
            if must or always or dice.random() < 0.2:
                field = '"' + field.replace('"', '""') + '"'
            fields.append(field)
        text += delimiter.join(fields)
    text += end * draw(st.booleans())
    mark = b"\xef\xbb\xbf" * draw(st.booleans())
    return mark + text.encode(), delimiter, rows, draw(st.sampled_from([1, 8, 30, 1 << 24]))


@given(dialects())
@settings(max_examples=400, deadline=None)
def test_every_dialect_is_read_as_the_csv_module_reads_the_whole_text(found):
    content, delimiter, rows, block_bytes = found
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delimited, "BLOCK_BYTES", block_bytes)
        header, given_rows, _, raw, faults = read(content, delimiter)
    assert faults == []
    assert given_rows == rows
    assert header == [f"c{place}" for place in range(len(header))]
    text = content.decode("utf-8-sig")
    independent = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    assert given_rows == [row for row in independent if row][1:]
    # A raw row is the row as it appears in the file.
    for one, row in zip(raw, rows, strict=True):
        assert next(csv.reader(io.StringIO(one, newline=""), delimiter=delimiter)) == row


@given(st.binary(max_size=60), st.sampled_from([1, 16, 1 << 24]))
@settings(max_examples=400, deadline=None)
def test_whatever_the_bytes_are_small_blocks_read_the_same(tail, block_bytes):
    content = b"a,b\n" + tail.translate(bytes.maketrans(b"\0\1\2\3\4\5\6\7", b',,\n\n""\r1'))
    whole = read(content)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delimited, "BLOCK_BYTES", block_bytes)
        assert read(content) == whole


@given(st.lists(st.sampled_from(["1,2", "", "3", "4,5,6", '"7",8', ' ,"9,"']), max_size=30))
@settings(max_examples=200, deadline=None)
def test_lines_of_another_width_are_faults_and_blank_ones_are_none(lines):
    _, rows, at, raw, faults = read("\n".join(["a,b", *lines]).encode())
    split = [(number, next(csv.reader([line]), [])) for number, line in enumerate(lines, 2)]
    assert list(zip(at, rows, strict=True)) == [one for one in split if len(one[1]) == 2]
    assert [(one.line, one.content) for one in faults] == [
        (number, lines[number - 2]) for number, row in split if len(row) not in (0, 2)
    ]
    assert raw == [lines[number - 2] for number in at]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_end_of_a_line_is_known_by_the_header(end):
    header, rows, lines, _, _ = read(end.join(["a,b", "1,2", '"x\ry",3', ""]).encode())
    assert (header, rows, lines) == (["a", "b"], [["1", "2"], ["x\ry", "3"]], [2, 3])


def test_a_return_inside_of_a_field_is_part_of_it_with_quotes_and_without():
    for other in ("c", '"c"'):
        assert read(f"t,k\n1,a\rb\n2,{other}\n".encode())[1] == [["1", "a\rb"], ["2", "c"]]


def test_a_header_may_have_the_end_of_a_line_within_quotes():
    header, rows, lines, _, _ = read(b'"t","note\n(free)"\n1,2\n')
    assert (header, rows, lines) == (["t", "note\n(free)"], [["1", "2"]], [3])


def test_a_field_may_be_as_long_as_it_likes_beside_a_quote():
    long = "z" * 300_000
    for quote in ('"a"', '"a" '):
        _, rows, _, _, faults = read(f"k,x\n{quote},1\nb,{long}\n".encode())
        assert rows[-1] == ["b", long]
        assert [one.reason for one in faults] == (["broken quotes"] if quote.endswith(" ") else [])


def test_a_row_of_several_lines_is_read_by_columns_and_begins_on_its_first(monkeypatch):
    monkeypatch.setattr(delimited, "split_rows", None)
    _, rows, lines, raw, _ = read(b'k,x\r\n"a\r\nb",1\r\n"say ""x""",2\r\n')
    assert rows == [["a\r\nb", "1"], ['say "x"', "2"]]
    assert (lines, raw[0]) == ([2, 4], '"a\r\nb",1')


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,\xff\n1,2\n", "the header is not UTF-8 text"),
        (b"\n1,2\n", "the first line is blank"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(content, said):
    with pytest.raises(UsageError, match=said):
        read(content)


@pytest.mark.parametrize(
    ("content", "header", "rows"),
    [
        (b'a,"b\n1,2\n', ["a", "b"], [["1", "2"]]),
        (b'"a"x,b\n1,2\n', ["ax", "b"], [["1", "2"]]),
        (b'a,"b\n' + b"1,2\n" * (1 << 19), ["a", "b"], [["1", "2"]] * (1 << 19)),
    ],
)
def test_a_header_whose_quotes_do_not_match_is_the_first_line(content, header, rows):
    assert read(content)[:2] == (header, rows)
    assert read(content)[2][0] == 2
