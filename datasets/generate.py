"""Make a generated data set: Spark computes it, and a folder appears whole or not at all.

    ids -> (time, id) -> sorted by (time, id) -> row numbers -> all columns -> Parquet, digest

Only the time, the id and at most one more number of a row are moved between Spark's tasks: every
other column is a function of the id and is computed after the sort, where it is written. The place
in time order (`row`) is the partition's first place plus the place inside it; rows of one time keep
the order of their ids. The digest adds and xors one 64-bit hash per row, so that it says the same
however the rows are spread over files; it is taken of the rows as they are written.

What was written is then read back without Spark, and has to be sorted, complete and of the
expected number of rows, before the folder takes its name.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from datasets import smart_meter, soundcloud
from datasets.expressions import Generator, numbers, pick
from datasets.session import spark_session, stop_spark
from operators.contract import UsageError

GENERATORS = {module.GENERATOR.name: module.GENERATOR for module in (smart_meter, soundcloud)}

MOST_ROWS = 1_000_000_000
ROWS_PER_FILE = 500_000
FEWEST_PARTITIONS = 4  # so that a small set is made on several cores, too
PLACE_BITS = 33  # Spark's increasing id: the partition above, the place in it below.


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
        `soundcloud` or `smart_meter`.
    rows
        Number of comments, or of readings due (a little less than one in a hundred of them is
        missing, and there are no more than the period has).
    seed
        Any integer of 64 bits; equal seeds give equal rows.
    output
        The folder to make. It appears when everything in it is written.
    master
        Spark's master. A session that already runs on it is used and left running; otherwise one
        is started and ended here.
    partitions
        How many parts Spark works in, which is also the number of files; a number that fits the
        rows by default. It does not change any row.
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
    generator = _checked(name, rows, seed, partitions)
    output = Path(output).absolute()
    _check_place(output, overwrite)
    if partitions is None:
        partitions = max(FEWEST_PARTITIONS, math.ceil(generator.ids(rows) / ROWS_PER_FILE))
    partial = output.parent / f".{output.name}.partial-{os.getpid()}"
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"{output} cannot be written: {error.strerror}; name another folder"
        ) from error
    own_session = SparkSession.getActiveSession() is None
    try:
        spark = spark_session(master, scratch=partial / "scratch")
        started = time.monotonic()
        info = _write(spark, generator, rows, seed, partial, partitions)
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


def _checked(name: str, rows: int, seed: int, partitions: int | None) -> Generator:
    """Return the generator of that name after checking every argument."""
    if name not in GENERATORS:
        raise UsageError(f"no data set is called {name!r}; there are {', '.join(GENERATORS)}")
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError(f"{rows} rows; give 1 to {MOST_ROWS}")
    if not -(1 << 63) <= seed < 1 << 63:
        raise UsageError(f"seed {seed} does not fit 64 bits; give a smaller one")
    if partitions is not None and not 1 <= partitions <= 10_000:
        raise UsageError(f"{partitions} partitions; give 1 to 10000")
    return GENERATORS[name]


def _check_place(output: Path, overwrite: bool) -> None:
    """Refuse an output that exists, unless it is empty or a data set that may be replaced."""
    if not os.path.lexists(output) or (output.is_dir() and not any(output.iterdir())):
        return
    if not overwrite:
        raise UsageError(f"{output} exists; remove it, name another folder, or overwrite it")
    if not (output / "dataset.json").is_file():
        raise UsageError(f"{output} exists and is no data set; remove it or name another folder")


def _write(
    spark: SparkSession, generator: Generator, rows: int, seed: int, folder: Path, partitions: int
) -> dict[str, Any]:
    """Compute and write all files of a set into `folder`; returns what `dataset.json` says."""
    name = generator.name
    ids = generator.ids(rows)
    with _live(spark, f"{name}: 1/3 sorting {ids:,} rows by time"):
        placed = _in_time_order(spark, generator, seed, ids, partitions)
        counts = dict(placed.groupBy(F.spark_partition_id()).count().collect())
    total = sum(counts.values())
    if total == 0:
        raise UsageError(f"{name} with {rows} rows and seed {seed} is empty; ask for more rows")
    with _live(spark, f"{name}: 2/3 writing {total:,} rows"):
        sizes = [counts.get(partition, 0) for partition in range(partitions)]
        table = _all_columns(generator, placed, seed, np.cumsum([0, *sizes[:-1]]))
        digest = _store(table, folder / "spark")
        placed.unpersist()
    _say(f"{name}: 3/3 reading back")
    files = _collect_files(folder)
    info = {
        "name": name,
        "role": generator.role,
        "title": generator.title,
        "source": "generated",
        "rows": total,
        **_read_back(folder, files, total),
        "time_unit": generator.time_unit,
        "query_time_unit": generator.query_time_unit,
        "decimals": generator.decimals,
        "seed": seed,
        "digest": digest,
        "columns": [vars(field) for field in generator.fields],
        "files": files,
        "parameters": generator.parameters(rows),
        "rejected": {},
    }
    (folder / "dataset.json").write_text(json.dumps(info, indent=2) + "\n")
    return info


def _in_time_order(
    spark: SparkSession, generator: Generator, seed: int, ids: int, partitions: int
) -> DataFrame:
    """Return time and id of every row, sorted over and inside the partitions, and kept."""
    return (
        generator.timed(spark.range(0, ids, 1, partitions), seed, ids)
        .repartitionByRange(partitions, "time", "id")
        .sortWithinPartitions("time", "id")
        .persist(StorageLevel.MEMORY_AND_DISK)
    )


def _all_columns(
    generator: Generator, placed: DataFrame, seed: int, first_rows: np.ndarray
) -> DataFrame:
    """Add the row number and the generator's own columns."""
    partition = F.spark_partition_id()
    place = F.monotonically_increasing_id() - F.shiftleft(partition.cast("bigint"), PLACE_BITS)
    row = pick(numbers(first_rows), partition) + place
    completed = generator.completed(placed.withColumn("row", row), seed)
    return completed.select([field.name for field in generator.fields])


def _store(table: DataFrame, folder: Path) -> str:
    """Write Parquet files and return the digest of the rows."""
    observation = Observation("digest")
    table.observe(observation, *_digest_parts(table.columns)).write.option(
        "compression", "zstd"
    ).parquet(str(folder))
    return _digest(observation.get)


def rows_digest(table: DataFrame) -> str:
    """Digest the rows of a table, whatever their order and partitions.

    Parameters
    ----------
    table
        Any DataFrame; the order of its columns counts, that of its rows does not.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return _digest(table.agg(*_digest_parts(table.columns)).collect()[0].asDict())


def _digest_parts(columns: list[str]) -> list[Column]:
    word = F.xxhash64(*columns)
    # An xor alone would not see a row that is there twice; the sums do. They are taken of halves,
    # which cannot overflow below two thousand million rows.
    return [
        F.count(F.lit(1)).alias("rows"),
        F.bit_xor(word).alias("all"),
        F.sum(word.bitwiseAND(F.lit(0xFFFFFFFF))).alias("low"),
        F.sum(F.shiftrightunsigned(word, 32)).alias("high"),
    ]


def _digest(parts: dict[str, Any]) -> str:
    text = ",".join(str(parts[name]) for name in ("rows", "all", "low", "high"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _collect_files(folder: Path) -> list[str]:
    """Give the files Spark wrote short names in time order; drops its markers and empty files."""
    names = []
    for path in sorted((folder / "spark").glob("part-*.parquet")):
        if pq.read_metadata(path).num_rows > 0:
            names.append(f"part-{len(names):05d}.parquet")
            path.rename(folder / names[-1])
    shutil.rmtree(folder / "spark")
    return names


def _read_back(folder: Path, files: list[str], total: int) -> dict[str, int]:
    """Check order and row numbers of what is on disk; returns keys, first and last time."""
    last, row = -1, 0
    first_time = None
    keys = np.zeros(0, dtype=np.int64)
    for name in files:
        table = pq.read_table(folder / name, columns=["time", "row", "key"], partitioning=None)
        times, places, labels = (column.to_numpy() for column in table.columns)
        if (
            times[0] < last
            or np.any(np.diff(times) < 0)
            or not np.array_equal(places, np.arange(row, row + len(places)))
        ):
            raise RuntimeError(f"{name} came out of order; this is an error of Millrace")
        first_time = int(times[0]) if first_time is None else first_time
        last, row = int(times[-1]), row + len(places)
        keys = np.union1d(keys, labels)
    if row != total:
        raise RuntimeError(f"{row} of {total} rows were written; this is an error of Millrace")
    return {"keys": len(keys), "first_time": first_time, "last_time": last}


def _take_name(partial: Path, output: Path) -> None:
    """Put the finished folder at its place, and whatever was there away."""
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
    """Say `line`, and on a terminal keep the share of finished tasks behind it."""
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
