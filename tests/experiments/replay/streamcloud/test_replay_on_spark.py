"""``millrace replay streamcloud --backend spark``: the bytes of threads, from files or chunks."""

from __future__ import annotations

import json
import os
import threading
import time
from random import Random

import pandas as pd
import pyarrow.parquet as pq
import pytest

from experiments.cli import main
from operators.streamcloud.carriers.spark.chunks import STREAMS
from tests.covering import on_spark
from tests.operators.streamcloud.carrying import inputs_of
from tests.operators.streamcloud.test_carriers import QUERIES, calls_and_suspects, query_named
from tests.replays import refused

# The code of Spark's workers is tested compiled in `tests/operators/streamcloud/spark`.
SPARK = ("--backend", "spark", "--master", "local[2]")
TUPLES = 60


@pytest.fixture
def folder(tmp_path):
    query = query_named("figure-1")
    given = inputs_of(query, calls_and_suspects(Random(3), TUPLES))
    for name, streams in given.items():
        for number, columns in enumerate(streams):
            pd.DataFrame(columns).to_csv(tmp_path / f"{name}{number}.csv", index=False)
    return tmp_path


def command(*options):
    return ["replay", "streamcloud", str(QUERIES / "figure-1.yaml"), *map(str, options)]


def files(folder):
    return ["--input", f"calls={folder}/calls0.csv", f"calls={folder}/calls1.csv",
            f"suspects={folder}/suspects0.csv"]  # fmt: skip


def chunks(folder):
    return ["--input", f"calls={folder}", f"suspects={folder}"]


def output(folder, name):
    return ["--output", folder / f"{name}.parquet"]


# --- what comes out -------------------------------------------------------------------------------


@on_spark
def test_files_and_chunks_give_the_bytes_of_threads(spark, folder, capsys):
    assert main(command(*files(folder), *output(folder, "threads"))) == 0
    wanted = (folder / "threads.parquet").read_bytes()
    rows = pq.read_metadata(folder / "threads.parquet").num_rows
    assert rows > 10
    capsys.readouterr()

    stream = (*SPARK, "--spark-form", "stream", "--trigger", 45, "--work", folder / "work")
    assert main(command(*files(folder), *output(folder, "stream"), *stream)) == 0
    assert (folder / "stream.parquet").read_bytes() == wanted
    said = f"{rows} rows from {3 * TUPLES} tuples in {folder}/stream.parquet"
    assert said in capsys.readouterr().err

    (written,) = (folder / "work").glob("chunks*")
    assert len(list(written.glob("*.parquet"))) == 3 * TUPLES / (45 / 3)
    assert main(command(*chunks(written), *output(folder, "bounded"), *SPARK)) == 0
    assert (folder / "bounded.parquet").read_bytes() == wanted
    assert said.replace("stream", "bounded") in capsys.readouterr().err

    followed(folder, written, capsys)
    assert (folder / "followed.parquet").read_bytes() == wanted


def followed(folder, written, capsys):
    """Follow a folder while chunks arrive; at the beginning there are too few."""
    coming = folder / "coming"
    coming.mkdir()
    (written / STREAMS).rename(coming / STREAMS)
    first, *rest = sorted(written.glob("*.parquet"), key=lambda path: path.stat().st_mtime)
    first.rename(coming / first.name)
    stream = (*SPARK, "--spark-form", "stream", "--work", folder / "following")
    argv = command(*chunks(coming), *output(folder, "followed"), *stream)
    assert main(argv) == 2
    assert "or run again with this --work when more of them are there" in capsys.readouterr().err
    assert not (folder / "followed.parquet").exists()

    def bring():
        for half in (rest[::2], rest[1::2]):
            time.sleep(0.5)
            for path in half:
                path.rename(coming / path.name)

    bringing = threading.Thread(target=bring)
    bringing.start()
    try:
        assert main([*argv, "--follow"]) == 0
    finally:
        bringing.join()


# --- what is refused, before Spark is started -----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--master", "local"), "--master is one of Spark: give --backend spark, too"),
        (("--spark-form", "stream"), "--spark-form is one of Spark: give --backend spark, too"),
        (("--trigger", 5), "--trigger is one of Spark"),
        (("--follow",), "--follow is one of Spark"),
        (("--work", "w"), "--work is one of Spark"),
        (("--archive", "a"), "--archive is one of Spark"),
        ((*SPARK, "--trigger", 5), "the form bounded takes all there is at once"),
        ((*SPARK, "--spark-form", "stream", "--trigger", 0), "trigger must be at least 1"),
        ((*SPARK, "--spark-form", "stream", "--follow"), "--follow waits for chunks"),
        ((*SPARK, "--blob", 5), "--blob: Spark is sent chunks"),
        ((*SPARK, "--nodes", 2), "--nodes 2 are processes: give --backend processes"),
        ((*SPARK, "--state", "s"), "goes on from what it finds in --work"),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder, capsys, options, said):
    argv = command(*files(folder), *output(folder, "out"), *options)
    refused(folder, capsys, argv, said)


def test_an_output_that_exists_is_refused_first(folder, capsys):
    (folder / "out.parquet").write_bytes(b"mine")
    refused(folder, capsys, command(*files(folder), *output(folder, "out"), *SPARK), "exists")
    assert (folder / "out.parquet").read_bytes() == b"mine"


@pytest.fixture
def lying(folder):
    """A folder of chunks, none of which is read."""
    (folder / "chunks").mkdir()
    (folder / "chunks" / STREAMS).write_text(json.dumps({"calls": 2, "suspects": 1}))
    (folder / "chunks" / "x.parquet").write_bytes(b"no chunk")
    return folder / "chunks"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rejected", "aside.csv"), "--rejected looks at rows of files"),
        (("--time-unit", "s"), "--time-unit looks at rows of files"),
        (("--processors", 2), "--processors looks at rows of files"),
    ],
)
def test_what_is_done_to_files_is_refused_with_chunks(folder, lying, capsys, options, said):
    argv = command(*chunks(lying), *output(folder, "out"), *SPARK, *options)
    refused(folder, capsys, argv, said)


def test_all_chunks_lie_in_one_folder(folder, lying, capsys):
    other = folder / "other"
    other.mkdir()
    for given in (
        ["--input", f"calls={lying}", f"suspects={other}"],
        ["--input", f"calls={lying}", f"suspects={folder}/suspects0.csv"],
        ["--input", f"calls={lying}"],
        ["--input", f"calls={lying}", f"calls={lying}", f"suspects={lying}"],
    ):
        argv = command(*given, *output(folder, "out"), *SPARK)
        refused(folder, capsys, argv, f"give --input calls={lying} suspects={lying}")


def test_other_backends_take_no_folder(folder, lying, capsys):
    argv = command(*chunks(lying), *output(folder, "out"))
    refused(folder, capsys, argv, f"millrace: {lying}")


def test_a_folder_says_how_many_streams_there_are(folder, lying, capsys):
    os.remove(lying / STREAMS)
    argv = command(*chunks(lying), *output(folder, "out"), *SPARK)
    refused(folder, capsys, argv, f"{lying}: lacks {STREAMS}, such as")


def test_the_plan_of_a_folder_is_explained_without_its_chunks(lying, capsys):
    assert main(command(*chunks(lying), *SPARK, "--explain")) == 0
    assert "calls" in capsys.readouterr().out
