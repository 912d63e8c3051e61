"""Files are read exactly as Python's csv module and Decimal read them."""

from __future__ import annotations

import csv
import io
import random
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.formats import delimited, table
from experiments.replay.reading import read_recording


class Asked(NamedTuple):
    """A request with only the options that are read."""

    inputs: tuple[Path, ...]
    time: str = "t"
    key: str | None = "k"
    value: str | None = "v"
    text: str | None = None
    time_unit: str | None = None
    decimals: int | None = None
    max_keys: int | None = None
    output: Path = Path("none.parquet")
    rejected: Path | None = None


def rows_of(*paths: Path) -> list[list[tuple]]:
    """Return time, key and exact value of each row of each file."""
    read = read_recording(Asked(paths))
    keys = read.labels.to_pylist()
    return [
        [
            (time, keys[key], Decimal(value).scaleb(-read.decimals))
            for time, key, value in zip(*map(np.ndarray.tolist, stream), strict=True)
        ]
        for stream in read.streams
    ]


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(-99, 99).map(lambda one: f" {one} "),
    st.decimals(-(10**9), 10**9, places=6).map(lambda one: f"{one:f}"),
    st.sampled_from(["007", "-0", "+5", "1e3", "2.50", ".5", "5."]),
)
KEYS = st.sampled_from(["7", " 7", "8 ", "-12", "9223372036854775807"])
NAMES = st.sampled_from(["a", " a", "é", "007", 'say "x"', "b,c", "two\nlines", "0x10"])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.one_of(KEYS, NAMES), NUMBERS), min_size=1, max_size=9),
    st.sampled_from([(",", "\n"), (",", "\r\n"), (",", "\r")]),
    st.booleans(),
    st.sampled_from([8, 1 << 24]),
)
@settings(max_examples=200, deadline=None)
def test_any_csv_is_read_as_python_reads_it(tmp_path_factory, rows, dialect, whole, block_bytes):
    if whole or not all(fits_beside(value, rows) for _, _, value in rows):
        rows = [(time, key, str(place)) for place, (time, key, _) in enumerate(rows)]
    path = tmp_path_factory.getbasetemp() / "any.csv"
    times = np.cumsum([step for step, _, _ in rows]).tolist()
    text = io.StringIO(newline="")
    # The module does not quote an LF if lines end in another character.
    quoting = csv.QUOTE_ALL if dialect[1] == "\r" else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=dialect[0], lineterminator=dialect[1], quoting=quoting)
    writer.writerow(["t", "other", "k", "v"])
    writer.writerows(
        [time, "x", key, value] for time, (_, key, value) in zip(times, rows, strict=True)
    )
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delimited, "BLOCK_BYTES", block_bytes)
        found = rows_of(path)
    again = list(csv.DictReader(io.StringIO(text.getvalue(), newline="")))
    keys = [row["k"].strip() for row in again]
    plain = all(key.lstrip("-").isdigit() and str(int(key)) == key for key in keys)
    assert found == [
        [
            (int(row["t"]), int(key) if plain else key, Decimal(row["v"].strip()))
            for row, key in zip(again, keys, strict=True)
        ]
    ]


def fits_beside(value: str, rows: list[tuple]) -> bool:
    """Say whether a number fits 64 bits at the decimals of all."""
    most = max(-min(Decimal(each.strip()).normalize().as_tuple().exponent, 0) for *_, each in rows)
    return -(2**63) <= Decimal(value.strip()).scaleb(most) < 2**63


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]
TEXTS = [pa.string(), pa.large_string(), pa.string_view()]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 100)), max_size=9),
    st.sampled_from(INTEGERS),
    st.sampled_from([*INTEGERS, *TEXTS, pa.dictionary(pa.int32(), pa.string())]),
    st.sampled_from([*INTEGERS, *TEXTS, pa.float64(), pa.decimal128(9, 2)]),
    st.sampled_from([2, 1 << 17]),
)
@settings(max_examples=200, deadline=None)
def test_any_parquet_is_read_as_its_types_say(tmp_path_factory, rows, time, key, value, block):
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    times = np.cumsum([step for step, _ in rows]).tolist()
    dice = random.Random(len(rows))
    texts = pa.array([str(one) for _, one in rows], pa.string())
    values = [Decimal(dice.randrange(100)) for _ in rows]
    if value in (pa.float64(), pa.decimal128(9, 2)):
        values = [one / 4 for one in values]
    columns = {
        "t": pa.array(times, pa.int64()).cast(time),
        "k": texts.dictionary_encode() if pa.types.is_dictionary(key) else texts.cast(key),
        "v": pa.array([str(one) for one in values], pa.string()).cast(value),
    }
    pq.write_table(pa.table(columns), path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table, "PARQUET_BLOCK_ROWS", block)
        found = rows_of(path)
    labels = [one for _, one in rows] if key in INTEGERS else texts.to_pylist()
    assert found == [list(zip(times, labels, values, strict=True))]
