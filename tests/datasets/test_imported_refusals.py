"""Refusals of the importer: one line that names the finding, and nothing written."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datasets.formats.gather import check_beginnings
from datasets.formats.mapping import read_mapping
from datasets.formats.sources import find_sources
from datasets.imported import import_dataset
from operators.contract import UsageError

SAMPLES = Path(__file__).parent / "samples"
TABLE = (
    "name: m\nrole: meters\nformat: table\nfiles: {file}\ntime_unit: s\n"
    "columns: {{time: t, key: k, value: v}}\n"
)
GOOD = b"t,k,v\n1,a,1\n2,a,2\n"


def refusal(mapping: Path, output: Path) -> str:
    """Import, and return the one line of the refusal; the output's folder stays empty."""
    output.parent.mkdir(exist_ok=True)
    with pytest.raises(UsageError) as caught:
        import_dataset(mapping, output)
    assert list(output.parent.iterdir()) == []
    message = str(caught.value)
    assert "\n" not in message
    return message


def refused_file(tmp_path: Path, name: str, content: bytes) -> str:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "m.yaml").write_text(TABLE.format(file=name))
    return refusal(tmp_path / "m.yaml", tmp_path / "made" / "out")


def parquet_bytes(**columns: list) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("m.csv", b"", "m.csv is empty (0 bytes)"),
        ("m.csv.gz", b"", "m.csv.gz is empty (0 bytes)"),
        ("m.parquet", b"", "m.parquet is empty (0 bytes)"),
        ("m.tar.gz", b"", "m.tar.gz is empty (0 bytes)"),
        ("m.csv.gz", gzip.compress(b"", mtime=0), "empty once decompressed"),
        ("m.csv.gz", GOOD, "named .gz but is not gzip: it holds plain text"),
        ("m.tar.gz", GOOD, "named as gzip but is not: it holds plain text"),
        ("m.csv.gz", gzip.compress(GOOD, mtime=0)[:-9], "broken or cut short"),
        ("m.csv", gzip.compress(GOOD, mtime=0), "named as text but holds gzip"),
        ("m.csv", parquet_bytes(t=[1]), "named as text but holds Parquet"),
        ("m.csv", GOOD.decode().encode("utf-16"), "holds UTF-16 text"),
        ("m.parquet", GOOD, "named .parquet but is not Parquet: it holds plain text"),
        ("m.parquet", b"\x9f\x8e\xff\x12 no text", "is not Parquet: it holds binary data"),
        ("m.parquet", parquet_bytes(t=[1], k=["a"], v=[1.5])[:-20], "not a whole Parquet file"),
        ("m.parquet", parquet_bytes(t=[1], k=["a"]), "no column named 'v': its header is t, k"),
        ("m.parquet", parquet_bytes(t=[1], k=["a"], v=[[1]]), "cannot be used as value"),
        ("m.csv", b"t,k,w\n1,a,1\n", "its header is t, k, w; name one of these"),
        ("m.csv", b"t,k,v,v\n1,a,1,1\n", "2 columns named 'v': its header is t, k, v, v; rename"),
        ("m.csv", b"\n1,a,1\n", "the first line is blank"),
        ("m.csv", b"t,k,v\n", "no row is usable: the files hold no rows"),
        (
            "m.csv",
            b"t,k,v\n1,,1\nx,a,1\n1,a,z\n1,b,z\n",
            "no row is usable: 2 unparsable value, 1 null key, 1 "
            "unparsable time; the first is line 2 of"
            " m.csv",
        ),
        (
            "m.csv",
            b"t,k,v\n1,a,99999999999999999999\n",
            "m.csv, line 2: the value 99999999999999999999 does not fit 64 bits: set decimals",
        ),
        (
            "m.csv",
            b"t,k,v\n1,a,0.00000000000000001\n2,a,-764500\n",
            "m.csv, line 3: the value -764500 with 17 decimals does "
            "not fit 64 bits: set decimals: 13",
        ),
        ("m.xls", b"x", "format table reads files that end in .csv"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, name, content, says):
    assert says in refused_file(tmp_path, name, content)


def test_the_beginnings_of_all_files_are_looked_at(tmp_path):
    (tmp_path / "m.yaml").write_text(TABLE.format(file="m*.csv").replace("time_unit: s\n", ""))
    mapping = read_mapping(tmp_path / "m.yaml")
    (tmp_path / "m1.csv").write_bytes(b"t,k,v\n2020-01-01,a,1\n,b,many\n")
    (tmp_path / "m2.csv").write_bytes(b"t,k,v\n")
    check_beginnings(mapping, find_sources(mapping))
    (tmp_path / "m2.csv").write_bytes(b"")
    with pytest.raises(UsageError, match=r"m2\.csv is empty"):
        check_beginnings(mapping, find_sources(mapping))
    (tmp_path / "m1.csv").write_bytes(GOOD)
    with pytest.raises(UsageError, match="the times are integers: say their unit"):
        check_beginnings(mapping, find_sources(mapping))


def test_the_remedy_for_a_value_that_does_not_fit_works(tmp_path):
    (tmp_path / "m.csv").write_bytes(b"t,k,v\n1,a,0.00000000000000001\n2,a,-764500\n")
    (tmp_path / "m.yaml").write_text(TABLE.format(file="m.csv") + "decimals: 13\n")
    info = import_dataset(tmp_path / "m.yaml", tmp_path / "out")
    assert (info["decimals"], info["parameters"]["values_rounded"]) == (13, 1)
    (tmp_path / "m.csv").write_bytes(b"t,k,v\n1,a,12345678901234567890\n")
    assert "set fewer decimals" in refusal(tmp_path / "m.yaml", tmp_path / "made" / "out")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ("gone.csv", "gone.csv does not exist"),
        ("gone*.csv", "no file matches gone*.csv"),
        (".", "is a folder"),
        ("${MILLRACE_NOT_SET}/m.csv", "uses ${MILLRACE_NOT_SET}, which is not set"),
        ("m.tar.gz/gone*.csv", "m.tar.gz holds no file that matches gone*.csv"),
        ("m.tar.gz/broken.csv", "m.tar.gz/broken.csv is empty (0 bytes)"),
    ],
)
def test_files_that_are_not_there(tmp_path, monkeypatch, files, says):
    monkeypatch.delenv("MILLRACE_NOT_SET", raising=False)
    with tarfile.open(tmp_path / "m.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("broken.csv"), io.BytesIO())
    (tmp_path / "m.yaml").write_text(TABLE.format(file=files))
    assert says in refusal(tmp_path / "m.yaml", tmp_path / "made" / "out")


@pytest.mark.parametrize(
    ("sample", "name", "old", "new", "says"),
    [
        (
            "london.yaml",
            "london_pandas.csv",
            b"kwhh",
            b"watts",
            "0 columns named kwh/hh (per half hour) or kwhh",
        ),
        ("wide.yaml", "wide.txt", b"MT_002", b"MT_001", "names client 'MT_001' twice"),
        ("wide.yaml", "wide.txt", b"MT_002", b"", "column 3 has no name"),
        ("wide.yaml", "wide.txt", b";", b"|", "has one column"),
        (
            "stack_exchange.yaml",
            "stack_exchange/beta/Comments.xml",
            b"</comments>",
            b"",
            "not well-formed XML at line 9: no element found",
        ),
        (
            "stack_exchange.yaml",
            "stack_exchange/beta/Comments.xml",
            b"comments>",
            b"posts>",
            "holds <posts>, not <comments>",
        ),
    ],
)
def test_a_file_of_another_form(tmp_path, sample, name, old, new, says):
    shutil.copytree(SAMPLES, tmp_path / "samples")
    changed = tmp_path / "samples" / name
    changed.write_bytes(changed.read_bytes().replace(old, new))
    assert says in refusal(tmp_path / "samples" / sample, tmp_path / "made" / "out")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("name: m\n", ""), "key 'name' is missing"),
        (("name: m\n", "name: ../m\n"), "name '../m' must be letters"),
        (("role: meters", "role: meter"), "role is 'meter': it must be one of calls | meters"),
        (("format: table", "format: csv"), "format is 'csv': it must be one of london-smart-meter"),
        (("time_unit: s", "time_unit: h"), "time_unit is 'h': it must be one of s | ms | us"),
        (("time_unit: s", "time-unit: s"), "unknown key 'time-unit': a table mapping takes name"),
        (("time_unit: s\n", ""), "the times are integers: say their unit"),
        (("time_unit: s", "time_format: epoch"), "time_format: epoch needs time_unit"),
        (("time_unit: s", "time_format: dd/mm"), "must be epoch, iso or a strptime format"),
        (("time_unit: s", "time_format: '%Q'"), "must be epoch, iso or a strptime format"),
        (("time_unit: s", "decimals: 19"), "decimals is 19: it must be an integer from 0 to 18"),
        (("time_unit: s", "decimals: yes"), "decimals is True"),
        (("time_unit: s", "delimiter: ab"), "delimiter is 'ab': it must be one character"),
        (
            ("time_unit: s", "quoted: perhaps"),
            "quoted is 'perhaps': it must be one of true | false",
        ),
        (("time_unit: s", "duplicates: id"), "duplicates: id needs columns.id"),
        (("value: v", "valeu: v"), "unknown key 'valeu' in columns: meters take time, key, value"),
        ((", value: v", ""), "columns.value is missing"),
        (("value: v", "value: [v]"), "columns.value must be the name of a column"),
        (("value: v", "value: v, user: u"), "unknown key 'user' in columns"),
        (("files: m.csv", "files: []"), "'files' must be a path or a list of paths"),
        (("columns: {time: t, key: k, value: v}\n", ""), "'columns' must name the columns"),
        (("columns: {", "columns: }"), "is not YAML at line 6"),
    ],
)
def test_a_mapping_that_is_wrong(tmp_path, change, says):
    (tmp_path / "m.csv").write_bytes(GOOD)
    text = TABLE.format(file="m.csv")
    assert change[0] in text
    (tmp_path / "m.yaml").write_text(text.replace(*change))
    assert says in refusal(tmp_path / "m.yaml", tmp_path / "made" / "out")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "m.yaml does not exist"),
        (b"", "m.yaml is empty: it must hold the keys"),
        (b"- a\n", "m.yaml holds a list"),
        (b"\xff\xfe", "m.yaml is not UTF-8 text"),
        (
            b"name: a\nrole: comments\nformat: wide-electricity\nfiles: x.txt\n",
            "format wide-electricity holds meters, not comments",
        ),
        (
            b"name: a\nrole: comments\nformat: stack-exchange-comments\n"
            b"files: x.xml\ndecimals: 2\n",
            "decimals belong to the values of calls and meters",
        ),
        (
            b"name: a\nrole: meters\nformat: london-smart-meter\n"
            b"files: x.csv\ncolumns: {time: t}\n",
            "unknown key 'columns': a london-smart-meter mapping takes",
        ),
    ],
)
def test_a_mapping_that_is_no_mapping(tmp_path, content, says):
    if content is not None:
        (tmp_path / "m.yaml").write_bytes(content)
    assert says in refusal(tmp_path / "m.yaml", tmp_path / "made" / "out")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ((", called: to", ""), "columns.called is missing: calls take time, key, value, caller"),
        (("caller: from", "who: from"), "unknown key 'who' in columns: calls take time, key, v"),
        (("called: to", "called: onto"), "has no column named 'onto'"),
        (("called: to", "called: to, number: from"), "unknown key 'number' in columns"),
        (("role: calls", "role: meters"), "unknown key 'caller' in columns: meters take time, key"),
        (("format: table", "format: wide-electricity"), "unknown key 'columns'"),
    ],
)
def test_a_mapping_of_calls_names_what_calls_need(tmp_path, change, says):
    shutil.copy(SAMPLES / "calls.csv", tmp_path)
    text = (SAMPLES / "calls.yaml").read_text()
    assert change[0] in text
    (tmp_path / "m.yaml").write_text(text.replace(*change))
    assert says in refusal(tmp_path / "m.yaml", tmp_path / "made" / "out")


def test_an_output_that_exists_stays_untouched(tmp_path):
    output = tmp_path / "out"
    import_dataset(SAMPLES / "meters.yaml", output)
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    with pytest.raises(UsageError, match="exists: choose another output"):
        import_dataset(SAMPLES / "wide.yaml", output)
    (tmp_path / "bad.yaml").write_text("name: x\n")
    with pytest.raises(UsageError, match="'format' is missing"):
        import_dataset(tmp_path / "bad.yaml", output, overwrite=True)
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
    assert import_dataset(SAMPLES / "wide.yaml", output, overwrite=True)["name"] == "wide"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.yaml", "out"]


def test_only_a_dataset_is_overwritten(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("one")
    with pytest.raises(UsageError, match="is no dataset: it is not overwritten"):
        import_dataset(SAMPLES / "meters.yaml", tmp_path / "thesis", overwrite=True)
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "one"


def test_a_failure_while_writing_leaves_the_old_set(tmp_path, monkeypatch):
    output = tmp_path / "out"
    import_dataset(SAMPLES / "meters.yaml", output)
    before = (output / "dataset.json").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        import_dataset(SAMPLES / "wide.yaml", output, overwrite=True)
    assert (output / "dataset.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("path", sorted((SAMPLES.parents[2] / "datasets/mappings").glob("*.yaml")))
def test_the_mappings_that_come_along_are_valid(path):
    mapping = read_mapping(path)
    assert mapping.name == path.stem
    assert all("${MILLRACE_RECORDED_DATA}/" in file for file in mapping.files)
