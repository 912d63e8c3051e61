"""Whether a column of values contains whole numbers, by the texts or by the file's type."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datasets.formats.sources import Source
from experiments.replay.values import ValueColumn


def whole(texts: list[str | None], decimals: int | None = None, sources=()) -> bool:
    column = ValueColumn("v", list(sources), decimals)
    column.parse(pa.array(texts, pa.string()))
    return column.whole


@pytest.mark.parametrize("texts", [["5", "-6"], [" 5", "6"], ["5", None, "none", "five"], []])
def test_whole_numbers_are_written_as_such(texts):
    assert whole(texts)


@pytest.mark.parametrize("texts", [["5.00", "6"], ["5e3"], ["5E0", "none"], ["1", ".5"]])
def test_a_point_or_an_exponent_makes_decimals_of_all(texts):
    assert not whole(texts)


def test_one_block_of_decimals_is_enough():
    column = ValueColumn("v", [], None)
    for texts in (["1"], ["1.0"], ["1"]):
        column.parse(pa.array(texts))
    assert not column.whole


@pytest.mark.parametrize(("decimals", "expected"), [(0, True), (2, False)])
@pytest.mark.parametrize("text", ["5", "5.25"])
def test_decimals_that_are_asked_for_decide(text, decimals, expected):
    assert whole([text], decimals) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int32(), True),
        (pa.float64(), False),
        (pa.decimal128(30, 2), False),
        (pa.decimal128(30, 0), True),
        (pa.string(), True),
        (pa.dictionary(pa.int32(), pa.float64()), False),
    ],
)
def test_the_type_of_a_parquet_file_decides(tmp_path, kind, expected):
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    values = pa.array([4, 6]).cast(plain)
    table = pa.table({"v": values.dictionary_encode() if plain != kind else values})
    pq.write_table(table, tmp_path / "a.parquet")
    source = Source(str(tmp_path / "a.parquet"), tmp_path / "a.parquet", None)
    # As the reader passes them: a whole double is written without a point.
    assert whole(["4", "6"], sources=[source]) == expected
