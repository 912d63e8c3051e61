"""An external dataset of three tables: declared, generated, described and read back.

The requirements of one table are tested with the datasets of the papers (`test_generate.py`).
"""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from datasets.description import read_info
from datasets.generate import generate
from datasets.read import load, read_table
from operators.contract import UsageError
from tests.datasets.conftest import TOYS

ROWS = 1_000
TABLES = ("R", "S", "items")


@pytest.fixture
def toy(hang_on):
    files = {path.stem: path.read_text() for path in (TOYS / "two_streams").glob("*.py")}
    return hang_on("two_streams", **files)


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return list(one) == list(other) and all(
        one[name].tolist() == other[name].tolist() for name in one
    )


def test_three_tables_are_generated_and_read_back(spark, toy, tmp_path):
    folder = tmp_path / "set"
    info = generate("two_streams", ROWS, 7, folder, "local[2]", 3)
    assert json.loads((folder / "dataset.json").read_text()) == info == read_info(folder)
    assert (info["role"], info["rows"], info["main_table"]) == ("band joins", ROWS, "R")
    assert not {"query_time_unit", "decimals"} & info.keys()
    files = [name for entry in info["tables"].values() for name in entry["files"]]
    assert sorted(os.listdir(folder)) == sorted([*files, "dataset.json"])
    assert {"R-00000.parquet", "S-00002.parquet", "items-00000.parquet"} <= set(files)

    r, s, items = (read_table(folder, name) for name in TABLES)
    assert [(name, column.dtype) for name, column in r.items()] == [
        ("ts", np.int64),
        ("x", np.int32),
        ("y", np.float64),
        ("item", np.int64),
    ]
    assert np.all(np.diff(r["ts"]) >= 0)
    assert len(np.unique(r["ts"])) < ROWS
    entry = info["tables"]["R"]
    assert (entry["rows"], entry["keys"], entry["time_unit"]) == (ROWS, 10, "ms")
    assert (entry["first_time"], entry["last_time"]) == (r["ts"][0], r["ts"][-1])

    assert s["place"].tolist() == list(range(info["tables"]["S"]["rows"]))
    assert 0.8 < len(s["at"]) / (ROWS // 2) < 0.95
    assert s["flag"].dtype == bool
    assert 0.15 < s["flag"].mask.mean() < 0.35
    assert s["note"][0].startswith("note ")
    assert "keys" not in info["tables"]["S"]

    assert items["item"].tolist() == list(range(10))
    assert items["price"].mask.tolist() == [True] + [False] * 9
    assert items["name"].tolist()[3] == "é3"
    assert not {"time", "first_time"} & info["tables"]["items"].keys()


def test_no_table_depends_on_the_number_of_partitions(spark, toy, tmp_path):
    two, five = (generate("two_streams", ROWS, 7, tmp_path / f"{n}", "local[2]", n) for n in (2, 5))
    assert two["digest"] == five["digest"]
    for name in TABLES:
        assert two["tables"][name]["digest"] == five["tables"][name]["digest"]
        assert len(five["tables"][name]["files"]) > len(two["tables"][name]["files"])
        assert same(read_table(tmp_path / "2", name), read_table(tmp_path / "5", name))


def test_a_table_without_payload_is_no_stream_for_aggregates(spark, toy, tmp_path):
    generate("two_streams", 50, 7, tmp_path / "set", "local[2]", 2)
    with pytest.raises(UsageError, match="table 'R' of .* has not a time, a key and a payload"):
        load(tmp_path / "set")


def test_a_generator_makes_the_tables_that_are_declared(toy, tmp_path):
    file = toy / "generate.py"
    file.write_text(file.read_text().replace('        "S": Ta', '        "T": Ta'))
    with pytest.raises(UsageError, match="makes tables R, T, items and declared are R, S, items"):
        generate("two_streams", 50, 7, tmp_path / "set", "local[2]", 2)


def test_an_empty_table_is_refused_and_nothing_stays(spark, toy, tmp_path):
    file = toy / "generate.py"
    file.write_text(file.read_text().replace('"lost", 0.125', '"lost", 1.0'))
    with pytest.raises(UsageError, match="two_streams/S with 50 rows and seed 7 is empty; ask for"):
        generate("two_streams", 50, 7, tmp_path / "set", "local[2]", 2)
    assert not (tmp_path / "set").exists()
