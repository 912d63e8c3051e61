"""Spark's committed output: of a stream in progress, and of unreadable folders."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud.carriers.spark.export import Committed, export
from operators.streamcloud.carriers.spark.job import MANIFEST, Job
from tests.operators.streamcloud.carrying import plan_of
from tests.operators.streamcloud.spark.forms import STREAM, coding_of
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named


def note(manifest: Path, name: str, files: list[str]) -> None:
    lines = [json.dumps({"path": f"file:///out/{each}", "action": "add"}) for each in files]
    (manifest / name).write_text("\n".join(["v1", *lines]))


@pytest.mark.parametrize("damage", ["no file", "half a file", "no manifest", "half a manifest"])
def test_what_cannot_be_read_of_an_output_is_named(tmp_path, damage):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(1), tuples=10)
    job = Job(plan_of(query, streams), coding_of(query, streams), tmp_path, tmp_path / "work")
    job.begin(STREAM)
    manifest, part = job.out / MANIFEST, job.out / "part-0.parquet"
    manifest.mkdir(parents=True)
    note(manifest, "0", [part.name])
    if damage != "no file":
        part.write_bytes(b"PAR1")
    if damage.endswith("manifest"):
        (manifest / "0").write_bytes(b"" if damage == "no manifest" else b'v1\n{"path": "file:/')
    wrong = re.escape(str(manifest / "0" if damage.endswith("manifest") else part))
    with pytest.raises(UsageError, match=f"^{wrong}: what Spark has put out cannot be read: "):
        export(job)


def test_a_stream_that_is_followed_is_read_once(tmp_path, monkeypatch):
    """Following a long stream does not read the manifest again at each look."""
    read = []
    text = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, **how: (read.append(path.name), text(path, **how))[1]
    )
    manifest = tmp_path / "_spark_metadata"
    manifest.mkdir()
    names = [f"part-{number}.parquet" for number in range(14)]
    found = Committed(tmp_path, of_stream=True)
    assert found.new() == []
    for batch, name in enumerate(names[:9]):
        note(manifest, str(batch), [name])
        assert found.new() == [tmp_path / name]
        assert found.new() == []
    assert read == [str(batch) for batch in range(9)]
    note(manifest, "9.compact", names[:10])
    note(manifest, "10", names[10:11])
    assert [path.name for path in found.new()] == sorted(names[9:11])
    note(manifest, "11", names[11:12])
    assert [path.name for path in found.new()] == names[11:12]
    assert sorted(read[9:]) == ["10", "11", "9.compact"]
    # After a long pause the reader reads the compacted manifest, and those after it.
    read.clear()
    assert len(Committed(tmp_path, of_stream=True).new()) == 12
    assert sorted(read) == ["10", "11", "9.compact"]
