"""Importing each form of recorded data, on the small invented files in `samples/`.

Other files check: exact numbers and times one by one (`test_imported_numbers.py`), refusals
(`test_imported_refusals.py`), real recorded files (`test_imported_recorded.py`).
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datasets import imported
from datasets.description import main_table
from datasets.imported import import_dataset, query_time_unit
from datasets.read import load, read_table, split

SAMPLES = Path(__file__).parent / "samples"


def rows_of(folder: Path) -> list[dict]:
    files = main_table(json.loads((folder / "dataset.json").read_text()))["files"]
    return [row for name in files for row in pq.read_table(folder / name).to_pylist()]


def rejected_of(folder: Path) -> list[tuple[str, str, int]]:
    with open(folder / "rejected.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [(row["reason"], row["file"], int(row["line"])) for row in rows]


def contents_of(folder: Path) -> list[str]:
    with open(folder / "rejected.csv", encoding="utf-8", newline="") as handle:
        return [row["content"] for row in csv.DictReader(handle)]


def seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def test_london_reads_both_variants(tmp_path):
    info = import_dataset(SAMPLES / "london.yaml", tmp_path / "out")
    assert (info["rows"], main_table(info)["keys"], info["decimals"]) == (8, 2, 9)
    assert main_table(info)["time_unit"] == "s"
    assert info["rejected"] == {"duplicate": 1, "null value": 1}
    rows = rows_of(tmp_path / "out")
    assert rows[0] == {
        "time": seconds("2012-10-12 23:00"),
        "row": 0,
        "key": "MAC900002",
        "value": 1_811_000_000,
    }
    first_store = next(row for row in rows if row["key"] == "MAC900001")
    assert first_store["value"] == 500_000_000
    assert [row["value"] for row in rows if row["key"] == "MAC900002"] == [
        1_811_000_000,
        3_009_000_100,
        2_100_000_000,
        62_000_003,
    ]
    assert rejected_of(tmp_path / "out") == [
        ("duplicate", "london_store.csv", 5),
        ("null value", "london_store.csv", 6),
    ]
    assert contents_of(tmp_path / "out")[1] == "MAC900001,Std,2012-10-13 00:12:27.0000000,Null"


def test_an_archive_and_its_extracted_files_give_the_same_set(tmp_path):
    plain = import_dataset(SAMPLES / "london.yaml", tmp_path / "plain")
    names = ["london_store.csv", "london_pandas.csv"]
    with tarfile.open(tmp_path / "london.tar.gz", "w:gz") as archive:
        for name in names:
            archive.add(SAMPLES / name, name)
    with zipfile.ZipFile(tmp_path / "london.zip", "w") as archive:
        for name in names:
            archive.write(SAMPLES / name, f"inner/{name}")
    for files in ("london.tar.gz", "london.tar.gz/london_*.csv", "london.zip"):
        text = (SAMPLES / "london.yaml").read_text().replace("london_*.csv", files)
        (tmp_path / "mapping.yaml").write_text(text)
        info = import_dataset(tmp_path / "mapping.yaml", tmp_path / "out", overwrite=True)
        assert info["digest"] == plain["digest"]
        assert info["rejected"] == plain["rejected"]
    assert rejected_of(tmp_path / "out")[0][1] == "london.zip/inner/london_store.csv"


def test_wide_file_gives_a_reading_a_cell(tmp_path):
    info = import_dataset(SAMPLES / "wide.yaml", tmp_path / "out")
    assert (info["rows"], main_table(info)["keys"], info["decimals"]) == (11, 3, 14)
    assert info["rejected"] == {"duplicate": 2, "null value": 1, "unparsable value": 1}
    rows = rows_of(tmp_path / "out")
    assert [(row["key"], row["value"]) for row in rows[:3]] == [
        ("MT_001", 0),
        ("MT_002", 15 * 10**13),
        ("MT_003", 380_710_659_898_477),
    ]
    assert rows[0]["time"] == seconds("2011-01-01 00:15")
    # The first of two lines for one hour lacks a number for one client: the second one has it.
    assert [row["value"] for row in rows[-3:]] == [225 * 10**12, -(10**14), 10**14]
    assert rejected_of(tmp_path / "out") == [
        ("null value", "wide.txt", 3),
        ("unparsable value", "wide.txt", 5),
        ("duplicate", "wide.txt", 6),
        ("duplicate", "wide.txt", 6),
    ]
    assert contents_of(tmp_path / "out")[1] == "2011-10-30 01:00:00;MT_001;x"


def test_stack_exchange_keeps_comments_without_user_and_without_text(tmp_path):
    info = import_dataset(SAMPLES / "stack_exchange.yaml", tmp_path / "out")
    assert (info["rows"], main_table(info)["keys"], main_table(info)["time_unit"]) == (5, 4, "ms")
    assert info["rejected"] == {"duplicate": 1, "null key": 1, "null text": 1, "null time": 1}
    rows = rows_of(tmp_path / "out")
    assert [(row["key"], row["user"], row["text"]) for row in rows] == [
        ("alpha:9", None, "Où est la documentation ?"),
        ("alpha:7", "alpha:4", 'Try "ls"\nor write to a@example.org'),
        ("alpha:7", "alpha:5", ""),
        ("beta:7", "beta:4", "same numbers, another site"),
        ("beta:8", "beta:4", "last"),
    ]
    assert rows[1]["time"] == seconds("2015-02-03 10:00") * 1000 + 250
    assert rejected_of(tmp_path / "out") == [
        ("duplicate", "stack_exchange/alpha/Comments.xml", 6),
        ("null key", "stack_exchange/alpha/Comments.xml", 7),
        ("null time", "stack_exchange/beta/Comments.xml", 5),
        ("null text", "stack_exchange/beta/Comments.xml", 6),
    ]
    assert 'Text="no time"' in contents_of(tmp_path / "out")[2]


def test_table_of_meters_with_every_kind_of_dirt(tmp_path):
    info = import_dataset(SAMPLES / "meters.yaml", tmp_path / "out")
    assert (info["rows"], main_table(info)["keys"], info["decimals"]) == (4, 2, 6)
    rows = rows_of(tmp_path / "out")
    assert rows == [
        {"time": 0, "row": 0, "key": 3, "value": 2_250_000, "stream": 0},
        {"time": 60, "row": 1, "key": 12, "value": 1_500_000, "stream": 1},
        {"time": 60, "row": 2, "key": 3, "value": -125, "stream": 0},
        {"time": 1000, "row": 3, "key": 12, "value": 0, "stream": 0},
    ]
    assert [(reason, line) for reason, _, line in rejected_of(tmp_path / "out")] == [
        ("duplicate", 6),
        ("null key", 7),
        ("null time", 8),
        ("null value", 9),
        ("unparsable value", 10),
        ("time out of range", 11),
        ("too few fields", 13),
        ("too many fields", 14),
        ("null value", 15),
    ]
    assert sum(info["rejected"].values()) == 9


def test_table_of_comments_sets_exact_duplicates_aside(tmp_path):
    info = import_dataset(SAMPLES / "comments.yaml", tmp_path / "out")
    assert info["rejected"] == {"duplicate": 1, "unparsable time": 2}
    assert main_table(info)["time_unit"] == "ms"
    assert [(row["user"], row["text"]) for row in rows_of(tmp_path / "out")] == [
        ("u2", ""),
        ("u1", 'says "hello'),
        (None, "one hour east, so the same time"),
        ("u2", 'says "hello'),
    ]


def test_table_of_calls_brings_who_called_whom_and_makes_the_suspects(tmp_path):
    info = import_dataset(SAMPLES / "calls.yaml", tmp_path / "out")
    assert (info["role"], info["rows"], info["main_table"]) == ("calls", 5, "calls")
    table = main_table(info)
    assert (table["keys"], table["time_unit"], info["decimals"]) == (3, "s", 0)
    begin = seconds("2010-03-01 08:00")
    named = ("row", "emitted", "district", "duration", "caller", "called")
    assert [tuple(row[name] for name in named) for row in rows_of(tmp_path / "out")] == [
        (0, begin + 1, "south", 5, 70002, "70001"),
        (1, begin + 2, "north", 61, 70001, "900"),
        (2, begin + 2, "north", 30, 70003, "070"),
        (3, begin + 2, "north", 30, 70003, "070"),
        (4, begin + 9, "west", -3, 70004, "900"),
    ]
    assert [(reason, line) for reason, _, line in rejected_of(tmp_path / "out")] == [
        ("duplicate", 5),
        ("null caller", 7),
        ("null called", 8),
        ("null key", 9),
        ("unparsable value", 10),
        ("null time", 11),
    ]
    columns = {each["name"]: each for each in table["columns"]}
    assert [columns[name]["type"] for name in ("caller", "called")] == ["int64", "string"]
    assert columns["duration"]["unit"] == "s"
    # Additional columns of calls are not in the files and are not invented.
    assert set(columns) == set(named)


def test_the_table_that_follows_from_calls_is_written_beside_them(tmp_path, monkeypatch):
    info = import_dataset(SAMPLES / "calls.yaml", tmp_path / "out")
    entry = info["tables"]["suspects"]
    assert (entry["rows"], entry["time_unit"], entry["files"]) == (
        1,
        "s",
        ["suspects-00000.parquet"],
    )
    assert entry["first_time"] == entry["last_time"] == main_table(info)["first_time"]
    assert {each["name"]: each["unit"] for each in entry["columns"]} == {
        "ts": "s",
        "row": "1",
        "number": "1",
    }
    made = read_table(tmp_path / "out", "suspects")
    assert {name: column.tolist() for name, column in made.items()} == {
        "ts": [seconds("2010-03-01 08:00:01")],
        "row": [0],
        "number": [70004],
    }
    # The digest is of both tables, and is the same for several files.
    assert info["digest"] not in (main_table(info)["digest"], entry["digest"])
    monkeypatch.setattr(imported, "ROWS_A_FILE", 2)
    parts = import_dataset(SAMPLES / "calls.yaml", tmp_path / "parts")
    assert len(main_table(parts)["files"]) == 3
    assert parts["digest"] == info["digest"]


EVERY_SAMPLE = ["london", "wide", "stack_exchange", "meters", "comments", "calls"]


@pytest.mark.parametrize("name", EVERY_SAMPLE)
def test_every_set_loads(name, tmp_path):
    info = import_dataset(SAMPLES / f"{name}.yaml", tmp_path / "out")
    dataset = load(tmp_path / "out", text=info["role"] == "comments")
    assert len(dataset.time) == info["rows"]
    assert len(dataset.keys) == main_table(info)["keys"]
    assert (dataset.row_stream is not None) == (name == "meters")
    assert split(dataset, 2).offsets[-1] == info["rows"]
    names = [column["name"] for column in main_table(info)["columns"]]
    assert list(read_table(tmp_path / "out", info["main_table"])) == names
    assert names == pq.read_table(tmp_path / "out" / main_table(info)["files"][0]).column_names


def test_parquet_means_what_the_same_csv_means(tmp_path):
    times = pa.array([datetime(2020, 1, 1, 0, minute, tzinfo=UTC) for minute in (2, 1, 1)])
    table = pa.table(
        {
            "t": times.cast(pa.timestamp("ns", "UTC")),
            "k": pa.array(["b", "a", None]).dictionary_encode(),
            "v": pa.array([0.1, 1e-05, 3.0]),
        }
    )
    pq.write_table(table, tmp_path / "m.parquet")
    (tmp_path / "m.csv.gz").write_bytes(
        gzip.compress(
            b"t,k,v\n2020-01-01 00:02,b,0.10\n2020-01-01T00:01Z,a,1e-5\n2020-01-01 00:01,,3\n"
        )
    )
    found = []
    for name in ("m.parquet", "m.csv.gz"):
        (tmp_path / "m.yaml").write_text(
            f"name: m\nrole: meters\nformat: table\nfiles: {name}\n"
            "columns: {time: t, key: k, value: v}\n"
        )
        found.append(import_dataset(tmp_path / "m.yaml", tmp_path / "out", overwrite=True))
    assert found[0]["digest"] == found[1]["digest"]
    assert found[0]["decimals"] == found[1]["decimals"] == 5
    assert found[0]["rejected"] == found[1]["rejected"] == {"null key": 1}


def test_one_set_may_lie_in_several_files(tmp_path, monkeypatch):
    whole = import_dataset(SAMPLES / "meters.yaml", tmp_path / "whole")
    monkeypatch.setattr(imported, "ROWS_A_FILE", 3)
    info = import_dataset(SAMPLES / "meters.yaml", tmp_path / "parts")
    assert main_table(info)["files"] == ["readings-00000.parquet", "readings-00001.parquet"]
    assert info["digest"] == whole["digest"]
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")


def test_small_blocks_give_the_same_set(tmp_path, monkeypatch):
    for name in ("meters", "comments", "wide", "calls"):
        whole = import_dataset(SAMPLES / f"{name}.yaml", tmp_path / "whole", overwrite=True)
        monkeypatch.setattr("datasets.formats.delimited.BLOCK_BYTES", 1 << 6)
        info = import_dataset(SAMPLES / f"{name}.yaml", tmp_path / "small", overwrite=True)
        assert info == whole
        monkeypatch.undo()


def test_a_quote_that_is_never_closed_costs_its_own_line_only(tmp_path):
    (tmp_path / "m.csv").write_bytes(
        b't,k,v\n1,a,1\n2,"a,2\n3,a,3\n4,"b"x,4\n5,"a ""b""",5\n6,\xff,6\n7,\xc3\xa9,7\n\n8,a,"8'
    )
    (tmp_path / "m.yaml").write_text(
        "name: m\nrole: meters\nformat: table\nfiles: m.csv\ntime_unit: s\n"
        "columns: {time: t, key: k, value: v}\n"
    )
    import_dataset(tmp_path / "m.yaml", tmp_path / "out")
    assert [(row["time"], row["key"]) for row in rows_of(tmp_path / "out")] == [
        (1, "a"),
        (3, "a"),
        (5, 'a "b"'),
        (7, "é"),
    ]
    assert [(reason, line) for reason, _, line in rejected_of(tmp_path / "out")] == [
        ("broken quotes", 3),
        ("broken quotes", 5),
        ("not UTF-8", 7),
        ("broken quotes", 10),
    ]
    assert contents_of(tmp_path / "out")[2] == "6,\\xff,6"


def test_keys_are_integers_only_if_all_usable_ones_are(tmp_path):
    mapping = (
        "name: m\nrole: meters\nformat: table\nfiles: m.csv\ntime_unit: s\n"
        "columns: {time: t, key: k, value: v}\n"
    )
    (tmp_path / "m.yaml").write_text(mapping)
    for keys, kind in ((("7", "-8"), "int64"), (("07", "8"), "string"), (("9" * 19,), "string")):
        body = "".join(f"{at},{key},1\n" for at, key in enumerate(keys))
        (tmp_path / "m.csv").write_text(f"t,k,v\n{body},Total,99\n")
        info = import_dataset(tmp_path / "m.yaml", tmp_path / "out", overwrite=True)
        assert main_table(info)["columns"][2]["type"] == kind
        assert info["rejected"] == {"null time": 1}


def test_what_is_a_duplicate_follows_the_mapping(tmp_path):
    (tmp_path / "m.csv").write_text("t,k,v,n\n1,a,1,7\n1,a,2,8\n1,a,1,7\n2,a,1,7\n")
    for duplicates, columns, rows in (
        ("time-key", "", 2),
        ("row", "", 3),
        ("none", "", 4),
        ("id", ", id: n", 2),
    ):
        (tmp_path / "m.yaml").write_text(
            "name: m\nrole: meters\nformat: table\nfiles: m.csv\ntime_unit: s\n"
            f"columns: {{time: t, key: k, value: v{columns}}}\nduplicates: {duplicates}\n"
        )
        info = import_dataset(tmp_path / "m.yaml", tmp_path / "out", overwrite=True)
        assert info["rows"] == rows
        assert info["rejected"] == ({"duplicate": 4 - rows} if rows < 4 else {})


def test_files_are_found_through_the_environment(tmp_path, monkeypatch):
    (tmp_path / "data [1]").mkdir()
    shutil.copy(SAMPLES / "meters.csv", tmp_path / "data [1]")
    text = (SAMPLES / "meters.yaml").read_text()
    (tmp_path / "m.yaml").write_text(text.replace("meters.csv", "${RECORDED_HERE}/met*.csv"))
    monkeypatch.setenv("RECORDED_HERE", str(tmp_path / "data [1]"))
    assert import_dataset(tmp_path / "m.yaml", tmp_path / "out")["rows"] == 4
    assert rejected_of(tmp_path / "out")[0][1] == "meters.csv"


def test_one_advance_holds_about_ten_thousand_rows():
    # 100 rows a tick: 100 ticks hold 10,000 rows, a third of them is the unit.
    assert query_time_unit(1_000_000, 10_000) == 33
    assert query_time_unit(443, 1) == 8
    assert query_time_unit(10**9, 10) == 1
