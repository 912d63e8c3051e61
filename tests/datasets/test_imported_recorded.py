"""Importing real recorded files, in the folder that MILLRACE_RECORDED_DATA names.

The expected counts are known facts about these files. The files are not part of the repository:
without the variable the tests are skipped, with it a missing file is a failure. Neither this file
nor a message contains names or texts of the data.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from datasets.description import main_table
from datasets.imported import import_dataset
from datasets.read import load, read_table

MAPPINGS = Path(__file__).parents[2] / "datasets" / "mappings"

pytestmark = pytest.mark.skipif(
    not os.environ.get("MILLRACE_RECORDED_DATA"),
    reason="MILLRACE_RECORDED_DATA does not name the folder of the recorded files",
)


def imported(mapping: Path, folder: Path) -> tuple[dict, dict]:
    """Import a mapping; return the content of dataset.json and the columns."""
    info = import_dataset(mapping, folder)
    tables = [pq.read_table(folder / name) for name in main_table(info)["files"]]
    columns = {name: tables[0].column(name) for name in tables[0].column_names}
    assert len(tables) == 1
    assert load(folder, text=info["role"] == "comments").info["rows"] == info["rows"]
    return info, columns


def table_mapping(folder: Path, name: str, rest: str) -> Path:
    path = folder / "mapping.yaml"
    path.write_text(
        f"name: recorded\nformat: table\nfiles: ${{MILLRACE_RECORDED_DATA}}/{name}\n{rest}\n"
    )
    return path


def test_umass443(tmp_path):
    info, columns = imported(MAPPINGS / "umass443.yaml", tmp_path / "out")
    assert (info["rows"], main_table(info)["keys"], info["rejected"]) == (637_526, 443, {})
    assert main_table(info)["time_unit"] == "s"
    value = columns["value"].to_numpy()
    zeros = np.count_nonzero(value == 0)
    rows_a_meter = Counter(columns["key"].value_counts().field("counts").to_pylist())
    assert zeros == 69_529
    assert rows_a_meter == {1440: 442, 1046: 1}
    by_meter = columns["key"].combine_chunks().dictionary_encode().indices.to_numpy()
    totals = np.bincount(by_meter, weights=value / 10 ** info["decimals"])
    without_load = np.count_nonzero(totals == 0)
    heavy = np.count_nonzero(totals / np.bincount(by_meter) > 20)
    assert (without_load, heavy) == (47, 14)
    # One advance of the 30/3 queries holds about 10,000 rows.
    span = main_table(info)["last_time"] - main_table(info)["first_time"] + 1
    assert abs(info["rows"] * 3 * info["query_time_unit"] / span - 10_000) < 50


def test_sgsc10(tmp_path):
    info, columns = imported(MAPPINGS / "sgsc10.yaml", tmp_path / "out")
    assert (info["rows"], main_table(info)["keys"], info["rejected"]) == (293_874, 10, {})
    assert main_table(info)["columns"][2]["type"] == "int64"
    keys, times = columns["key"].to_numpy(), columns["time"].to_numpy()
    spans = {}
    for key in np.unique(keys):
        own = times[keys == key]
        gaps = np.count_nonzero(np.diff(own) > 1800)
        assert gaps <= 46
        spans[key] = (own.min(), own.max())
    different = len(set(spans.values()))
    assert different > 1


def test_lcl5_originals(tmp_path):
    info, columns = imported(MAPPINGS / "lcl5.yaml", tmp_path / "out")
    assert info["rejected"] == {"duplicate": 17, "null value": 1}
    assert info["rows"] + 18 == 148_444
    assert main_table(info)["keys"] == 5
    with open(tmp_path / "out" / "rejected.csv", encoding="utf-8", newline="") as handle:
        rejected = list(csv.DictReader(handle))
    # Counts only: pytest shows compared values, and the data must not be shown.
    midnights = sum("00:00:00" in row["content"] for row in rejected)
    nulls = sum(row["content"].endswith("Null") for row in rejected)
    assert (midnights, nulls) == (17, 1)
    # The same readings, normalised by others, give the same columns.
    normalised = table_mapping(
        tmp_path,
        "lcl5.csv.gz",
        "role: meters\ntime_unit: s\ncolumns: {time: ts_s, key: meter, value: kwh}",
    )
    other_info, other = imported(normalised, tmp_path / "other")
    assert other_info["rejected"] == info["rejected"]
    by_place = [
        np.lexsort((each["time"].to_numpy(), each["key"].to_numpy())) for each in (columns, other)
    ]
    for name in ("time", "key", "value"):
        ours, theirs = columns[name].to_numpy(), other[name].to_numpy()
        same = bool(np.array_equal(ours[by_place[0]], theirs[by_place[1]]))
        assert same, name


def test_stackexchange5_comments(tmp_path):
    info, columns = imported(MAPPINGS / "stackexchange5.yaml", tmp_path / "out")
    assert (info["rows"], info["rejected"], main_table(info)["time_unit"]) == (19_857, {}, "ms")
    without_user = columns["user"].null_count
    length = pc.utf8_length(columns["text"])
    shortest, longest = pc.min(length).as_py(), pc.max(length).as_py()
    assert without_user == 256
    assert 0 < shortest <= longest <= 600
    assert len(info["parameters"]["sources"]) == 5


def test_stackexchange5_normalised(tmp_path):
    mapping = table_mapping(
        tmp_path,
        "stackexchange5.tsv.gz",
        "role: comments\ntime_unit: ms\nduplicates: none\n"
        "columns: {time: ts_ms, key: item, user: user, text: text}",
    )
    info, columns = imported(mapping, tmp_path / "out")
    assert (info["rows"], info["rejected"]) == (24_281, {})
    ties = np.count_nonzero(np.diff(columns["time"].to_numpy()) == 0)
    without_user = columns["user"].null_count
    assert (ties, without_user) == (194, 256 + 81)
    empty = pc.sum(pc.equal(columns["text"], "")).as_py()
    # 147 bodies are empty in the files; one more is empty after removal of the tags.
    assert empty == 148


def test_online_retail_sets_exact_duplicates_aside(tmp_path):
    mapping = table_mapping(
        tmp_path,
        "online_retail.csv.gz",
        "role: meters\nduplicates: row\n"
        "columns: {time: InvoiceDate, key: StockCode, value: Quantity}",
    )
    info, columns = imported(mapping, tmp_path / "out")
    assert info["rejected"] == {"duplicate": 5_268}
    assert info["rows"] + 5_268 == 541_909
    assert (main_table(info)["keys"], info["decimals"]) == (4_070, 0)
    value = columns["value"].to_numpy()
    ties = np.count_nonzero(np.diff(columns["time"].to_numpy()) == 0)
    assert ties > info["rows"] // 2
    assert np.count_nonzero(value < 0) > 10_000


def test_online_retail_as_calls(tmp_path):
    info, columns = imported(MAPPINGS / "online_retail.yaml", tmp_path / "out")
    # A customer calls an item: rows without one are set aside, and so are exact duplicates.
    assert set(info["rejected"]) == {"duplicate", "null caller"}
    assert info["rejected"]["null caller"] == 135_080
    assert 0 < info["rejected"]["duplicate"] < 5_268
    assert info["rows"] + sum(info["rejected"].values()) == 541_909
    assert (main_table(info)["time_unit"], info["decimals"]) == ("s", 0)
    callers = pc.count_distinct(columns["caller"]).as_py()
    callable_items = pc.count_distinct(columns["called"]).as_py()
    assert 4_000 < callers < 5_000
    assert 3_000 < callable_items < 4_070
    suspects = read_table(tmp_path / "out", "suspects")
    assert len(suspects["ts"]) == -(-info["rows"] // 10)
    listed, known = set(suspects["number"].tolist()), set(columns["caller"].to_pylist())
    announced, inside = len(listed), listed <= known
    assert announced == (callers + 31) // 64
    assert inside


def test_a_missing_recorded_file_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_RECORDED_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"umass443\.csv\.gz does not exist"):
        import_dataset(MAPPINGS / "umass443.yaml", tmp_path / "out")
