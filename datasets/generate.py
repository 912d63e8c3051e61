"""Make a generated data set: Spark computes it, and a folder appears whole or not at all.

    each table: ids -> (time, id) -> sorted by (time, id) -> all columns -> Parquet, digest
    without time: ids ----------------------------------> all columns -> Parquet, digest

Only the time, the id and at most one more number of a row are moved between Spark's tasks: every
other column is a function of the id and is computed after the sort, where it is written. The row
number, where a table declares a column for it, is the number of the partition's first row plus the
position in the partition (a prefix sum of the partitions' sizes); rows of one time are ordered by
id, and a table without time is in the order of ids. The digest adds and xors one 64-bit hash per
row, so that it is the same however the rows are spread over files; it is computed while the rows
are written.

The files are then read back without Spark, and must be sorted, of the declared types and of the
expected number of rows, before the folder takes its name.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from datasets import catalog
from datasets.declare import DatasetDeclaration, Table
from datasets.description import describe, describe_table
from datasets.expressions import Generator, TableRows, numbers, pick
from datasets.folder import check_types
from operators.contract import UsageError
from operators.running.spark_errors import spark_failures
from operators.running.spark_paths import spark_path
from operators.running.spark_session import spark_session, stop_spark
from operators.running.spark_settings import is_local

MOST_ROWS = 1_000_000_000
ROWS_PER_FILE = 500_000
FEW_ROWS = 1_000_000  # made in seconds, most of which go into starting Java
FEWEST_PARTITIONS = 4  # so that a small set is made on several cores, too
PLACE_BITS = 33  # Spark's increasing id: the partition above, the position in it below.


def generate(
    name: str,
    rows: int,
    seed: int,
    output: Path | str,
    master: str = "local[*]",
    partitions: int | None = None,
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Generate a data set into a new folder.

    Parameters
    ----------
    name
        A dataset that `datasets.catalog` finds.
    rows
        Number to ask the generator for, which decides what a row stands for: comments, readings
        due (a little less than one in a hundred of them is missing).
    seed
        Any integer of 64 bits; equal seeds give equal rows.
    output
        The folder to make. It appears when everything in it is written.
    master
        Spark's master. A session that already runs on it is used and left running; otherwise one
        is started and ended here. Executors elsewhere write into the folder: they must see it, too.
    partitions
        Number of Spark partitions, which is also the number of files of a table; by default a
        number that fits the rows. It does not change any row.
    overwrite
        Replace `output` if it exists; only a data set is ever replaced.

    Returns
    -------
    dict
        The content of `dataset.json`.

    Raises
    ------
    UsageError
        If an argument is out of range, `output` exists, or Spark cannot be started.
    """
    declared = _checked(name, rows, seed, partitions)
    generator = _generator(declared)
    output = Path(output).absolute()
    _check_place(output, overwrite)
    partial = output.parent / f".{output.name}.partial-{os.getpid()}"
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"{output} cannot be written: {error.strerror}; name another folder"
        ) from error
    own_session = SparkSession.getActiveSession() is None
    try:
        spark = spark_session(master, scratch=partial / "scratch", brief=rows <= FEW_ROWS)
        started = time.monotonic()
        with spark_failures():
            info = _write(spark, declared, generator, rows, seed, partial, partitions)
        if own_session:
            stop_spark()
        shutil.rmtree(partial / "scratch", ignore_errors=True)
        _take_name(partial, output)
    finally:
        if own_session:
            stop_spark()
        shutil.rmtree(partial, ignore_errors=True)
    seconds = time.monotonic() - started
    _say(f"{name}: {info['rows']:,} rows in {seconds:.1f} s, digest {info['digest']}")
    return info


def generate_each(sets: Mapping[str, tuple[int, Path]], seed: int, master: str) -> None:
    """Generate several data sets by one session, which is ended.

    Parameters
    ----------
    sets : mapping of str to (int, Path)
        Rows and folder by name; see `generate`.
    seed, master
        As of `generate`.
    """
    if not sets:
        return
    scratch = min(folder for _, folder in sets.values()).parent / f".scratch-{os.getpid()}"
    most = max(rows for rows, _ in sets.values())
    try:
        spark_session(master, scratch=scratch, brief=most <= FEW_ROWS)
        for place, (name, (rows, folder)) in enumerate(sets.items()):
            try:
                generate(name, rows, seed, folder, master)
            except UsageError as error:
                if place == 0:
                    raise
                # Its own job will say so, too.
                _say(f"{name} was not made ahead: {error}")
    finally:
        stop_spark()
        shutil.rmtree(scratch, ignore_errors=True)


def _checked(name: str, rows: int, seed: int, partitions: int | None) -> DatasetDeclaration:
    """Return the dataset of that name after checking every argument."""
    declared = catalog.dataset(name)
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError(f"{rows} rows; give 1 to {MOST_ROWS}")
    if not -(1 << 63) <= seed < 1 << 63:
        raise UsageError(f"seed {seed} does not fit 64 bits; give a smaller one")
    if partitions is not None and not 1 <= partitions <= 10_000:
        raise UsageError(f"{partitions} partitions; give 1 to 10000")
    return declared


def _generator(declared: DatasetDeclaration) -> Generator:
    """Return the generator of a dataset after checking that it makes the declared tables."""
    generator: Generator = importlib.import_module(f"datasets.{declared.name}.generate").GENERATOR
    made = {name: rows.timed is not None for name, rows in generator.tables.items()}
    if made != {table.name: table.time is not None for table in declared.tables}:
        raise UsageError(
            f"the generator of {declared.name} makes tables {', '.join(made)} and declared are"
            f" {', '.join(table.name for table in declared.tables)}; give each its rows, and those"
            " with a time a function for it"
        )
    return generator


def _check_place(output: Path, overwrite: bool) -> None:
    """Refuse an output that exists, unless it is empty or a data set that may be replaced."""
    if not os.path.lexists(output) or (output.is_dir() and not any(output.iterdir())):
        return
    if not overwrite:
        raise UsageError(f"{output} exists; remove it, name another folder, or overwrite it")
    if not (output / "dataset.json").is_file():
        raise UsageError(f"{output} exists and is no data set; remove it or name another folder")


def _write(
    spark: SparkSession,
    declared: DatasetDeclaration,
    generator: Generator,
    rows: int,
    seed: int,
    folder: Path,
    partitions: int | None,
) -> dict[str, Any]:
    """Compute and write all files of a set into `folder`; returns the content of `dataset.json`."""
    tables = {}
    for table in declared.tables:
        made = generator.tables[table.name]
        ids = made.ids(rows)
        parts = partitions or max(FEWEST_PARTITIONS, math.ceil(ids / ROWS_PER_FILE))
        line = f"{declared.name}/{table.name}:"
        with _live(spark, f"{line} 1/3 sorting {ids:,} rows"):
            placed = _in_order(spark, table, made, seed, ids, parts)
            counts = dict(placed.groupBy(F.spark_partition_id()).count().collect())
        total = sum(counts.values())
        if total == 0:
            raise UsageError(
                f"{declared.name}/{table.name} with {rows} rows and seed {seed} is empty; ask for"
                " more rows"
            )
        with _live(spark, f"{line} 2/3 writing {total:,} rows"):
            sizes = [counts.get(partition, 0) for partition in range(parts)]
            complete = _all_columns(table, made, placed, seed, np.cumsum([0, *sizes[:-1]]))
            digest = _store(complete, folder / "spark")
            _check_seen(spark, folder / "spark", total)
            placed.unpersist()
        _say(f"{line} 3/3 reading back")
        files = _collect_files(folder, table.name)
        found = _read_back(folder, table, files, total)
        tables[table.name] = describe_table(table, rows=total, digest=digest, files=files, **found)
    info = describe(
        tables,
        name=declared.name,
        role=declared.role,
        title=declared.title,
        source="generated",
        query_time_unit=declared.query_time_unit,
        decimals=declared.decimals,
        seed=seed,
        parameters=generator.parameters(rows),
        rejected={},
    )
    (folder / "dataset.json").write_text(json.dumps(info, indent=2) + "\n")
    return info


def _in_order(
    spark: SparkSession, table: Table, made: TableRows, seed: int, ids: int, partitions: int
) -> DataFrame:
    """Return id and time (if any) of each row, in order over the partitions; sorted ones stay."""
    frame = spark.range(0, ids, 1, partitions)
    if made.timed is None:
        # It has a row for each id, and Spark counts them up through the partitions.
        return frame
    order = [table.time, "id"]
    return (
        made.timed(frame, seed, ids)
        .repartitionByRange(partitions, *order)
        .sortWithinPartitions(*order)
        .persist(StorageLevel.MEMORY_AND_DISK)
    )


def _all_columns(
    table: Table, made: TableRows, placed: DataFrame, seed: int, first_rows: np.ndarray
) -> DataFrame:
    """Add the row number, where the table has one, and all declared columns."""
    if table.row is not None:
        partition = F.spark_partition_id()
        place = F.monotonically_increasing_id() - F.shiftleft(partition.cast("bigint"), PLACE_BITS)
        placed = placed.withColumn(table.row, pick(numbers(first_rows), partition) + place)
    return made.completed(placed, seed).select([column.name for column in table.columns])


def _store(table: DataFrame, folder: Path) -> str:
    """Write Parquet files and return the digest of the rows."""
    observation = Observation("digest")
    table.observe(observation, *_digest_parts(table.columns)).write.option(
        "compression", "zstd"
    ).parquet(spark_path(folder))
    return _digest(observation.get)


def rows_digest(table: DataFrame) -> str:
    """Digest the rows of a table, whatever their order and partitions.

    Parameters
    ----------
    table
        Any DataFrame; the order of columns counts, that of rows does not.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return _digest(table.agg(*_digest_parts(table.columns)).collect()[0].asDict())


def _digest_parts(columns: list[str]) -> list[Column]:
    word = F.xxhash64(*columns)
    # An xor alone would not see a duplicate row; the sums do. They are taken of halves, which
    # cannot overflow below two thousand million rows.
    return [
        F.count(F.lit(1)).alias("rows"),
        F.bit_xor(word).alias("all"),
        F.sum(word.bitwiseAND(F.lit(0xFFFFFFFF))).alias("low"),
        F.sum(F.shiftrightunsigned(word, 32)).alias("high"),
    ]


def _digest(parts: dict[str, Any]) -> str:
    text = ",".join(str(parts[name]) for name in ("rows", "all", "low", "high"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _check_seen(spark: SparkSession, folder: Path, total: int) -> None:
    """Refuse a set that executors have written elsewhere."""
    found = sum(pq.read_metadata(path).num_rows for path in folder.glob("part-*.parquet"))
    if found != total and not is_local(spark.sparkContext.master):
        raise UsageError(
            f"{found} of {total} rows have come to {folder.parent.parent}: executors do not see"
            " that folder; name one that all nodes see by the same path"
        )


def _collect_files(folder: Path, table: str) -> list[str]:
    """Name Spark's files after the table, in order; removes Spark's markers and empty files."""
    names = []
    for path in sorted((folder / "spark").glob("part-*.parquet")):
        if pq.read_metadata(path).num_rows > 0:
            names.append(f"{table}-{len(names):05d}.parquet")
            path.rename(folder / names[-1])
    shutil.rmtree(folder / "spark")
    return names


def _read_back(folder: Path, table: Table, files: list[str], total: int) -> dict[str, int]:
    """Check form, order and row numbers of the files; returns keys, first and last time."""
    wanted = [name for name in (table.time, table.row, table.key) if name is not None]
    count, last, first_time, keys = 0, -1, None, None
    for name in files:
        with pq.ParquetFile(folder / name) as opened:
            check_types(folder / name, table, opened.schema_arrow)
            _check_nulls(folder / name, table, opened.metadata)
            rows = opened.metadata.num_rows
            columns = {each: opened.read([each]).column(0) for each in wanted}
        times = columns[table.time].to_numpy() if table.time else np.full(1, last)
        places = np.arange(count, count + rows)
        if (
            times[0] < last
            or np.any(np.diff(times) < 0)
            or (table.row and not np.array_equal(columns[table.row].to_numpy(), places))
        ):
            raise RuntimeError(f"{name} came out of order; this is an error of Millrace")
        first_time = int(times[0]) if first_time is None else first_time
        last, count = int(times[-1]), count + rows
        if table.key:
            here = columns[table.key].unique()
            keys = here if keys is None else pa.concat_arrays([keys, here]).unique()
    if count != total:
        raise RuntimeError(f"{count} of {total} rows were written; this is an error of Millrace")
    found = {"keys": len(keys)} if table.key else {}
    return {**found, "first_time": first_time, "last_time": last} if table.time else found


def _check_nulls(file: Path, table: Table, metadata: pq.FileMetaData) -> None:
    """Refuse undeclared nulls, by the counts in the file's metadata."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for place, column in enumerate(table.columns):
        nulls = sum(group.column(place).statistics.null_count for group in groups)
        if nulls and not column.nullable:
            raise UsageError(
                f"{nulls} rows of {file.name} have no {column.name}, which is declared without"
                " nulls; mend the generator or its declaration"
            )


def _take_name(partial: Path, output: Path) -> None:
    """Rename the finished folder to `output`, and remove a previous one."""
    if not output.exists():
        partial.rename(output)
        return
    old = partial.with_name(partial.name + ".old")
    output.rename(old)
    try:
        partial.rename(output)
    except OSError:
        old.rename(output)
        raise
    shutil.rmtree(old)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _live(spark: SparkSession, line: str) -> Iterator[None]:
    """Print `line`, and on a terminal keep the share of finished tasks behind it."""
    if not sys.stderr.isatty():
        _say(line)
        yield
        return
    done = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def follow() -> None:
        while not done.wait(0.5):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            tasks = sum(stage.numTasks for stage in stages if stage)
            finished = sum(stage.numCompletedTasks for stage in stages if stage)
            print(f"\r{line} ({finished}/{tasks} tasks) ", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=follow, daemon=True)
    print(line, end="", file=sys.stderr, flush=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        _say("")
