"""Invalid states and folders are refused in one line, and a full disk damages neither."""

from __future__ import annotations

import json
import resource
from contextlib import contextmanager
from random import Random

import pyarrow as pa
import pytest

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.carriers.spark import chunks, export
from operators.streamcloud.carriers.spark.job import Job
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.carriers.spark.steps import refusals
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud.carrying import plan_of
from tests.operators.streamcloud.spark.batching import in_turn
from tests.operators.streamcloud.spark.chunking import cut_all
from tests.operators.streamcloud.spark.forms import (
    STREAM,
    coding_of,
    pretended,
    put_out,
    written,
)
from tests.operators.streamcloud.spark.test_refusals import short
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named

# --- states ---------------------------------------------------------------------------------------


def half_way(folder, seed=3):
    """Return a stream in the middle, and the files of the remaining batches."""
    query = query_named("figure-1")
    random = Random(seed)
    streams = calls_and_suspects(random, tuples=30)
    plan = plan_of(query, streams, instances=2)
    coding = coding_of(query, streams)
    files = written(folder / "chunks", in_turn(cut_all(query, streams, random), random))
    spark = pretended(STREAM, plan, coding, folder, random, calm=True)
    middle = len(files) // 2
    assert middle > 4
    for number in range(middle):
        spark.batch(number, files[number])
    return spark, list(enumerate(files))[middle:]


def files_of_instance(folder, place, number, suffix=""):
    """Return the files of an instance's state, by batch."""
    found = [path for path in (folder / "states" / str(place) / str(number)).glob(f"*{suffix}")
             if path.is_file() and not path.name.startswith(".")]  # fmt: skip
    return sorted(found, key=lambda path: int(path.stem))


def flipped(body, at):
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


# From the written body, and the body written before, to the damaged one.
DAMAGES = {
    "missing": lambda body, before: None,
    "cut off": lambda body, before: body[:-8],
    "empty": lambda body, before: b"",
    "a wrong bit": lambda body, before: flipped(body, len(body) - 8),
    "a wrong bit in front": lambda body, before: flipped(body, len(body) // 2),
    "of a batch before": lambda body, before: before,
}


@interpreted_is_enough
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("suffix", [".head", ".segment"])
@pytest.mark.parametrize("how", DAMAGES)
def test_a_state_that_is_not_what_was_written_is_named(how, suffix, place, tmp_path):
    spark, rest = half_way(tmp_path)
    before, last = files_of_instance(tmp_path, place, 1, suffix)[-2:]
    assert suffix != ".head" or int(last.stem) == rest[0][0] - 1
    body = DAMAGES[how](last.read_bytes(), before.read_bytes())
    if body is None:
        last.unlink()
    else:
        assert body != last.read_bytes()
        last.write_bytes(body)
    with pytest.raises(UsageError) as failure, refusals():
        for number, files in rest:
            spark.batch(number, files)
    message = str(failure.value)
    named = last.name in message or f"segment {last.stem}" in message
    assert str(last.parent) in message and named and "\n" not in message, message


@interpreted_is_enough
def test_a_repeated_batch_that_leads_elsewhere_is_named(tmp_path):
    """For example, a user's function that reads a clock."""
    spark, rest = half_way(tmp_path)
    (number, files), (_, others) = rest[:2]
    spark.batch(number, files)
    what = rf"^batch {number}, instance \d of stage \d: it was repeated, and has led to another"
    with pytest.raises(UsageError, match=what), refusals():
        spark.batch(number, others)


@interpreted_is_enough
def test_few_versions_are_kept(tmp_path):
    spark, rest = half_way(tmp_path)
    counts = []
    for number, files in rest:
        spark.batch(number, files)
        counts.append(len(files_of_instance(tmp_path, 0, 0)))
    # For each batch a head, and segments of the tuples still in the window.
    assert max(counts) < 40


# --- a disk that is full --------------------------------------------------------------------------


@contextmanager
def files_of_at_most(size):
    """Limit the size of this process's files: the effect of a full disk on a writer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@interpreted_is_enough
def test_on_a_full_disk_no_state_passes_for_whole(tmp_path):
    spark, rest = half_way(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "states").rglob("*")
              if path.is_file()}  # fmt: skip
    number, files = rest[0]
    with files_of_at_most(40), pytest.raises(UsageError) as failure, refusals():
        spark.batch(number, files)
    message = str(failure.value)
    assert "File too large" in message and str(tmp_path) in message and "\n" not in message
    for path in (tmp_path / "states").rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            assert path.read_bytes() == before[path], "a file of a batch that failed"
    # There is room again: the batch runs once more, and succeeds.
    for number, files in rest:
        spark.batch(number, files)


@interpreted_is_enough
def test_on_a_full_disk_no_chunk_passes_for_whole(tmp_path):
    query = short()
    many = 3_000
    columns = {"ts": range(many), "n": range(many), "x": [0.5] * many, "name": ["a"] * many}
    given = {name: pa.array(values).to_numpy(zero_copy_only=False) for name, values in
             columns.items()}  # fmt: skip
    folder = tmp_path / "chunks"
    with files_of_at_most(4_000), pytest.raises(UsageError, match="cannot be written: .*File too"):
        chunks.write_chunks(folder, query, {"calls": [given]}, many)
    assert not [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]


# --- another job's folder, and files that nobody committed ----------------------------------------


def job_of(folder, instances=1, seed=1, strategy="subquery-cluster", **more):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(seed), tuples=3)
    plan = plan_of(query, streams, strategy, instances)
    return Job(plan, coding_of(query, streams), folder / "chunks", folder / "work", **more)


@interpreted_is_enough
def test_the_folder_of_another_job_is_refused(tmp_path):
    job_of(tmp_path).begin("stream")
    job_of(tmp_path).begin("stream")
    for other, form, what in (
        (job_of(tmp_path, strategy="operator-cluster"), "stream", "another plan"),
        (job_of(tmp_path), "bounded", "another form"),
    ):
        with pytest.raises(UsageError, match=what):
            other.begin(form)


@interpreted_is_enough
def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "work").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written"):
        job_of(tmp_path).begin("stream")


def test_only_what_a_manifest_names_is_read(tmp_path):
    """A killed executor leaves a file in the folder that no batch has committed."""
    folder = tmp_path / "out"
    folder.mkdir()
    names = [f"part-{number:05}-x-c000.snappy.parquet" for number in range(4)]
    for name in names:
        (folder / name).write_bytes(b"no Parquet at all")
    manifest = folder / "_spark_metadata"
    manifest.mkdir()
    for batch, name in enumerate(names[:2]):
        line = json.dumps({"path": f"file://{folder}/{name}", "action": "add"})
        (manifest / str(batch)).write_text(f"v1\n{line}")
    assert export.Committed(folder, True).new() == [folder / name for name in names[:2]]
    compact = [json.dumps({"path": f"file://{folder}/{name}", "action": "add"}) for name in names]
    (manifest / "2.compact").write_text("\n".join(["v1", *compact[:3]]))
    (manifest / "3").write_text("v1\n" + compact[3])
    assert export.Committed(folder, True).new() == [folder / name for name in names]


@interpreted_is_enough
def test_a_stream_without_a_manifest_has_committed_nothing(tmp_path):
    """In the first batch Spark's sink writes files in place, and lists them once complete."""
    job = job_of(tmp_path)
    job.begin("stream")
    job.out.mkdir(parents=True)
    (job.out / "part-00000-x.parquet").write_bytes(b"half a file")
    outputs = export.Outputs(job)
    outputs.update()
    assert not outputs.closed and len(outputs.exported().outputs["busy"]["ts"]) == 0


@interpreted_is_enough
def test_a_lost_checkpoint_or_output_is_refused(tmp_path):
    """The states are ahead of the batches to come, or the output already has some of them."""
    for number, (there, lacks) in enumerate((
        ("out/_spark_metadata/3", "checkpoint"),
        ("checkpoint/commits/3", "out"),
        ("states/0/0/1/3.head", "checkpoint"),
    )):  # fmt: skip
        job = job_of(tmp_path / str(number))
        job.begin("stream")
        job.begin("stream")
        left = job.work / there
        left.parent.mkdir(parents=True)
        left.write_text("v1\n")
        with pytest.raises(UsageError, match=f"lacks {lacks}"):
            job.begin("stream")


@interpreted_is_enough
def test_states_go_on_where_another_process_wrote_them(tmp_path):
    """A new driver has new processes, which read the stored states: none is kept in memory."""
    spark, rest = half_way(tmp_path)
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(3), tuples=30)
    plan, coding = plan_of(query, streams, instances=2), coding_of(query, streams)
    early = [each for each in spark.sent if each.place == 2]
    later = pretended(STREAM, plan, coding, tmp_path, Random(4))
    out = [each for number, files in rest for each in later.batch(number, files)]
    found = put_out(plan, coding, [*early, *out], Random(5))
    assert found == reference.run(query, streams)
    assert StateFiles(tmp_path / "states").read(0, 0, rest[-1][0] + 1) is not None
