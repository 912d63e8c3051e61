"""Files read by executors, without a cluster: each file separately, in any order, the same set.

`tests/operators/running/test_cluster.py` does it on executors.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from datasets import imported
from datasets.formats import gather as gathering
from datasets.formats.gather import gather, joined, time_kind
from datasets.formats.on_cluster import SCHEMA, Reading
from datasets.imported import import_dataset
from operators.contract import UsageError

SAMPLES = Path(__file__).parent / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.yaml"))


def read_apart(mapping, sources, *_):
    """Read each file as an executor does, the last one first."""
    reading = pickle.loads(pickle.dumps(Reading(mapping, sources, time_kind(mapping, sources))))
    found = []
    for file in reversed(range(len(sources))):
        batches = [pa.RecordBatch.from_pydict({"id": [file]})]
        found += [row for batch in reading(batches) for row in batch.to_pylist()]
    found.sort(key=lambda row: (row["file"], row["number"]))
    for row in found:
        if row["refusal"] is not None:
            raise UsageError(row["refusal"])
    return joined(mapping, sources, (pickle.loads(row["piece"]) for row in found))


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", NAMES)
def test_files_read_apart_give_the_same_bytes(name, tmp_path, monkeypatch):
    import_dataset(SAMPLES / f"{name}.yaml", tmp_path / "whole")
    monkeypatch.setattr(imported, "gather", read_apart)
    import_dataset(SAMPLES / f"{name}.yaml", tmp_path / "apart")
    assert files_of(tmp_path / "apart") == files_of(tmp_path / "whole")


MAPPING = """\
name: calls
role: calls
format: table
files: [b.csv, a.csv, c.csv]
columns: {time: t, key: district, value: seconds, caller: from, called: to, stream: s, id: n}
duplicates: id
time_unit: s
"""
# Labels have another order in each file, some rows are in two files, and one row of each is
# invalid.
ROWS = {
    "a.csv": ["5,north,60,7,8,y,1", "1,south,61,8,7,x,2", "oops,west,1,1,1,x,3"],
    "b.csv": ["2,south,5,9,7,x,4", "5,north,60,7,8,y,1", ",,,,,,"],
    "c.csv": ["4,east,1,8,9,z,2", "3,east,2,7,9,z,5", "4,east,many,8,9,z,6"],
}


def write_files(folder: Path, rows: dict[str, list[str]]) -> Path:
    for name, lines in rows.items():
        text = "\n".join(["t,district,seconds,from,to,s,n", *lines])
        (folder / name).write_text(text + "\n")
    (folder / "m.yaml").write_text(MAPPING)
    return folder / "m.yaml"


def test_codes_and_duplicates_are_those_of_all_files(tmp_path, monkeypatch):
    mapping = write_files(tmp_path, ROWS)
    whole = import_dataset(mapping, tmp_path / "whole")
    assert whole["rejected"] == {"duplicate": 2, "null time": 1, "unparsable time": 1,
                                 "unparsable value": 1}  # fmt: skip
    monkeypatch.setattr(imported, "gather", read_apart)
    assert import_dataset(mapping, tmp_path / "apart") == whole
    assert files_of(tmp_path / "apart") == files_of(tmp_path / "whole")


def test_values_that_are_rounded_are_counted_in_all_files(tmp_path, monkeypatch):
    """Values with more digits than 64 bits hold: rounded when a file is read, and not later."""
    long = "0." + "3" * 25
    rows = {
        "a.csv": [f"1,north,{long},7,8,y,1", "2,north,60,7,8,y,2", f"3,north,{long},7,8,y,3"],
        "b.csv": [f"4,south,{long},9,7,x,4"],
        "c.csv": ["5,east,2.25,7,9,z,5"],
    }
    mapping = write_files(tmp_path, rows)
    mapping.write_text(f"{MAPPING}decimals: 1\n")
    whole = import_dataset(mapping, tmp_path / "whole")
    assert whole["parameters"]["values_rounded"] == 4
    monkeypatch.setattr(imported, "gather", read_apart)
    assert import_dataset(mapping, tmp_path / "apart") == whole


def test_the_first_file_decides_what_times_are(tmp_path):
    # Alone, the second file would be taken for dates.
    rows = {"b.csv": ["2,south,5,9,7,x,4"], "a.csv": ["2020-01-01,north,60,7,8,y,1"], "c.csv": []}
    mapping = imported.read_mapping(write_files(tmp_path, rows))
    sources = imported.find_sources(mapping)
    assert time_kind(mapping, sources) == "epoch"
    both = [read(mapping, sources) for read in (gather, read_apart)]
    assert [[each.reason for each in found.rejected] for found in both] == 2 * [["unparsable time"]]


def test_a_fault_of_a_file_is_the_one_of_one_process(tmp_path, monkeypatch):
    wide = {"b.csv": ["1,n,5,9,7,x,4"], "a.csv": [f"2,n,{'9' * 30},9,7,x,5"], "c.csv": []}
    mapping = write_files(tmp_path, wide)
    said = []
    for read in (gathering.gather, read_apart):
        monkeypatch.setattr(imported, "gather", read)
        with pytest.raises(UsageError, match="a.csv, line 2: the value .* does not fit") as caught:
            import_dataset(mapping, tmp_path / "out")
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_a_file_that_is_gone_is_a_row_of_its_own(tmp_path):
    mapping = imported.read_mapping(write_files(tmp_path, ROWS))
    sources = imported.find_sources(mapping)
    reading = Reading(mapping, sources, "epoch")
    (tmp_path / "a.csv").unlink()
    batches = list(reading([pa.RecordBatch.from_pydict({"id": [0, 1]})]))
    assert all(batch.schema == SCHEMA for batch in batches)
    refusals = [row["refusal"] for batch in batches for row in batch.to_pylist()]
    assert refusals[0] is None and "a.csv cannot be read" in refusals[-1]
