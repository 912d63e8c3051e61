"""Imports recorded data into a dataset folder of the same form as the generated ones.

A mapping (`datasets/formats/mapping.py` lists the keys; `datasets/mappings/` has examples)
describes the files. The output is one set sorted by time, with ties in file order, and
`rejected.csv`: every unusable row with the reason, the file, the line and the content. Each row of
the files is either in the set or in `rejected.csv`.

Guarantees:

1. Values are exact: decimal text is converted to int64 fixed point without an intermediate float,
   with the fewest decimals that hold every value, or rounded half to even to the mapping's
   `decimals`.
2. Times are the labels in the files, read as UTC, in the coarsest of s, ms, us in which all are
   integers.
3. The same files give the same bytes of data and the same digest; so do an archive and the
   extracted folder.
4. Nothing is half-written: the folder is built under a temporary name in the same parent folder and
   renamed when it is complete. An existing output is unchanged unless overwriting is requested, and
   only a dataset is overwritten.

The data must fit in memory: the whole set is held while it is sorted (3 million readings of a wide
file took 0.8 GB and 3.3 s on 2 cores). The executors of a cluster can read many files in parallel;
on one machine Spark is not used, for the reasons in `datasets/formats/__init__.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.declare import PURPOSES, Column, Table
from datasets.description import describe, describe_table
from datasets.formats import numbers
from datasets.formats.gather import Columns, Gathered, gather, read_blocks
from datasets.formats.mapping import Mapping, read_mapping
from datasets.formats.on_cluster import gather_on_cluster
from datasets.formats.rejected import Rejected, write_rejected
from datasets.formats.sources import Source, find_sources
from operators.contract import UsageError
from operators.running.spark_settings import check_master, is_local

ROWS_A_FILE = 4_000_000
ROWS_AN_ADVANCE = 10_000
"""The target rows per window advance of the 30/3 queries (design, section 4)."""
ADVANCE_UNITS = 3

DUPLICATE = "duplicate"


class Parts(NamedTuple):
    """A set in time order, ready to write."""

    columns: dict[str, pa.Array]
    """By purpose (see `COLUMNS`), in the order of the table."""
    decimals: int | None
    rounded: int


class Stored(NamedTuple):
    """A table in the form that is written."""

    table: Table
    columns: dict[str, pa.Array]
    """By name, in the order of the table."""


def import_dataset(
    mapping_path: str | Path,
    output: str | Path,
    overwrite: bool = False,
    *,
    master: str = "local[*]",
    partitions: int | None = None,
    archive: Path | None = None,
) -> dict[str, Any]:
    """Convert recorded data to a dataset folder.

    Parameters
    ----------
    mapping_path : path
        Path of a mapping, see `datasets.formats.mapping`.
    output : path
        The folder to make, with `dataset.json`, the role's tables in Parquet files and
        `rejected.csv`.
    overwrite : bool
        Replace `output` if it is a dataset.
    master : str
        Spark's master. On a cluster, executors read the files; with a local master this process
        reads them without Spark, which would take longer to start.
    partitions : int, optional
        Number of parts that a cluster reads; one per file by default. The output does not depend on
        it.
    archive : Path, optional
        Code for executors without it, see `operators.running.pack`.

    Returns
    -------
    dict
        The content of `dataset.json`.

    Raises
    ------
    UsageError
        One line: the mapping or a file is missing or malformed, a value does not fit in 64 bits, no
        row is usable, or the output exists. In these cases nothing is written.
    """
    output = Path(output).absolute()
    _check_output(output, overwrite)
    check_master(master)
    mapping = read_mapping(mapping_path)
    sources = find_sources(mapping)
    _say(f"importing {mapping.name} from {len(sources)} file{'s' * (len(sources) != 1)}")
    if is_local(master):
        gathered = gather(mapping, sources)
    else:
        gathered = gather_on_cluster(mapping, sources, master, partitions, archive)
    columns, rejected = _without_duplicates(mapping, sources, gathered)
    if columns.time is None or len(columns.time) == 0:
        raise UsageError(f"mapping {mapping_path}: no row is usable: {_summary(rejected, sources)}")
    parts = _in_time_order(mapping, sources, gathered, columns)
    tables = _tables(mapping, gathered, parts)
    info = _describe(mapping, sources, parts, tables, rejected)
    _write(output, info, tables, rejected, sources)
    _say(f"kept {info['rows']:,} rows, set aside {len(rejected):,}")
    return info


def query_time_unit(rows: int, span: int) -> int:
    """Return the ticks of one query time unit, such that one window advance has about 10,000 rows.

    Parameters
    ----------
    rows : int
        Rows of the set, at least 1.
    span : int
        Ticks from the first time to the last, inclusive.
    """
    advance_units = ADVANCE_UNITS * rows
    return max(1, (2 * ROWS_AN_ADVANCE * span + advance_units) // (2 * advance_units))


def _say(message: str) -> None:
    print(f"millrace: {message}", file=sys.stderr)


def _check_output(output: Path, overwrite: bool) -> None:
    if not os.path.lexists(output):
        return
    if not overwrite:
        raise UsageError(f"{output} exists: choose another output, or overwrite it")
    if not (output / "dataset.json").is_file():
        raise UsageError(f"{output} exists and is no dataset: it is not overwritten; move it away")


def _summary(rejected: list[Rejected], sources: list[Source]) -> str:
    if not rejected:
        return "the files hold no rows"
    counts = Counter(one.reason for one in rejected)
    listed = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
    first = rejected[0]
    return f"{listed}; the first is line {first.line} of {sources[first.file].label}"


def _without_duplicates(
    mapping: Mapping, sources: list[Source], gathered: Gathered
) -> tuple[Columns, list[Rejected]]:
    """Reject duplicates: of equal rows, the first in file order stays."""
    columns = gathered.columns
    if mapping.duplicates == "none" or columns.time is None:
        return columns, gathered.rejected
    if mapping.duplicates == "time-key":
        identity = (columns.key, columns.time)
    else:
        identity = tuple(columns.identity.T)
    # lexsort is stable: equal rows stay in file order.
    order = np.lexsort(identity)
    equal = np.ones(len(order) - 1, dtype=bool) if len(order) else np.zeros(0, dtype=bool)
    for part in identity:
        equal &= part[order[1:]] == part[order[:-1]]
    repeated = np.sort(order[1:][equal])
    if len(repeated) == 0:
        return columns, gathered.rejected
    places = zip(columns.file[repeated].tolist(), columns.row[repeated].tolist(), strict=True)
    rejected = gathered.rejected + _rows_at(mapping, sources, set(places))
    rejected.sort(key=lambda one: (one.file, one.line))
    kept = np.ones(len(order), dtype=bool)
    kept[repeated] = False
    return _take(columns, np.flatnonzero(kept)), rejected


def _take(columns: Columns, rows: np.ndarray) -> Columns:
    return Columns(
        *(
            None
            if one is None
            else one.take(pa.array(rows))
            if isinstance(one, pa.Array)
            else one[rows]
            for one in columns
        )
    )


def _rows_at(
    mapping: Mapping, sources: list[Source], places: set[tuple[int, int]]
) -> list[Rejected]:
    """Read the files again for the content of some rows, which is not held in memory."""
    by_file: dict[int, list[int]] = {}
    for file, row in sorted(places):
        by_file.setdefault(file, []).append(row)
    found = []
    for file, first, rows in read_blocks(mapping.layout, sources, set(by_file)):
        wanted = np.array(by_file[file])
        here = wanted[(wanted >= first) & (wanted < first + len(rows.line))] - first
        for row in here.tolist():
            found.append(Rejected(DUPLICATE, file, int(rows.line[row]), rows.content(row)))
    return found


def _in_time_order(
    mapping: Mapping, sources: list[Source], gathered: Gathered, columns: Columns
) -> Parts:
    """Sort by time, with ties in file order, and give every column the final form."""
    decimals, rounded, value = None, gathered.rounded, None
    if mapping.table.payload == "value":
        decimals, rounded_now, value = _values(mapping, sources, columns)
        rounded += rounded_now
    order = np.argsort(columns.time, kind="stable")
    ordered = {
        "time": pa.array(columns.time[order]),
        "row": pa.array(np.arange(len(order), dtype=np.int64)),
        "key": gathered.labels["key"].column(columns.key[order]),
    }
    if value is not None:
        ordered["value"] = pa.array(value[order])
    else:
        ordered["text"] = columns.text.take(pa.array(order))
    for place, name in enumerate(mapping.needs):
        ordered[name] = gathered.labels[name].column(columns.others[order, place])
    if columns.user is not None:
        ordered["user"] = gathered.labels["user"].column(columns.user[order])
    if columns.stream is not None:
        ordered["stream"] = pa.array(gathered.labels["stream"].ranks(columns.stream[order]))
    return Parts(ordered, decimals, rounded)


def _values(
    mapping: Mapping, sources: list[Source], columns: Columns
) -> tuple[int, int, np.ndarray]:
    """Convert the values to one scale; return decimals, number of rounded rows, int64 values."""
    decimals = mapping.decimals
    if decimals is None:
        decimals = max(0, int(columns.scale.max()))
    value, overflow, rounded = numbers.to_fixed_point(columns.mantissa, columns.scale, decimals)
    if overflow.any():
        row = int(np.flatnonzero(overflow)[0])
        place = (int(columns.file[row]), int(columns.row[row]))
        line = _rows_at(mapping, sources, {place})[0].line
        real = Decimal(int(columns.mantissa[row])).scaleb(-int(columns.scale[row]))
        fits = numbers.most_decimals_that_fit(columns.mantissa, columns.scale)
        remedy = (
            "leave the row out"
            if fits is None
            else f"set decimals: {fits} or less in the mapping (values are then rounded)"
        )
        raise UsageError(
            f"{sources[place[0]].label}, line {line}: the value {real} with {decimals} decimals "
            f"does not fit 64 bits: {remedy}"
        )
    return decimals, rounded, value


COLUMNS = {
    "time": ("int64", "time of the row as found, read as UTC"),
    "row": ("int64", "place of the row in time order"),
    "key": ("", "what the queries group by"),
    "value": ("int64", "fixed point: real value times 10 to the power of decimals"),
    "text": ("string", "text of the comment"),
    "user": ("", "who wrote it; null where the record does not say"),
    "stream": ("int32", "physical stream the row was recorded in, numbered by rank of its label"),
}
"""By purpose, type (empty: that of the data) and meaning of the possible columns of a set."""


def _tables(mapping: Mapping, gathered: Gathered, parts: Parts) -> list[Stored]:
    """Return the role's main table, and the tables derived from it."""
    main = _main_table(mapping, gathered, parts.columns)
    names = [column.name for column in main.columns]
    stored = [Stored(main, dict(zip(names, parts.columns.values(), strict=True)))]
    for form, derive in mapping.derived.values():
        found = derive(stored[0].columns)
        columns = tuple(
            replace(
                each,
                type=str(found[each.name].type),
                unit=main.time_unit if each.name == form.time else each.unit,
            )
            for each in form.columns
        )
        table = replace(form, columns=columns, time_unit=main.time_unit if form.time else None)
        stored.append(Stored(table, {each.name: found[each.name] for each in columns}))
    return stored


def _main_table(mapping: Mapping, gathered: Gathered, columns: dict[str, pa.Array]) -> Table:
    """Return the role's main table with the existing columns, under the table's names."""
    main = mapping.table
    names = {name: (getattr(main, name) if name in PURPOSES else None) or name for name in columns}
    needed = {each.name: each for each in main.columns if each.name in mapping.needs}
    units = {
        "time": gathered.time_unit,
        "value": mapping.unit,
        **{name: column.unit for name, column in needed.items()},
    }
    said = COLUMNS | {name: ("", column.meaning) for name, column in needed.items()}
    return replace(
        main,
        columns=tuple(
            Column(
                names[purpose],
                said[purpose][0] or str(column.type),
                units.get(purpose, ""),
                said[purpose][1],
                nullable=purpose == "user",
            )
            for purpose, column in columns.items()
        ),
        time_unit=gathered.time_unit,
        row=names["row"],
    )


def _describe(
    mapping: Mapping,
    sources: list[Source],
    parts: Parts,
    tables: list[Stored],
    rejected: list[Rejected],
) -> dict[str, Any]:
    """Return the content of `dataset.json`."""
    entries = {stored.table.name: _entry(stored) for stored in tables}
    main = entries[mapping.table.name]
    span = main["last_time"] - main["first_time"] + 1
    return describe(
        entries,
        name=mapping.name,
        role=mapping.role,
        title=mapping.title,
        source="recorded",
        query_time_unit=query_time_unit(main["rows"], span),
        decimals=parts.decimals,
        seed=None,
        parameters={
            "mapping": mapping.path.name,
            "format": mapping.format,
            "sources": [source.label for source in sources],
            "duplicates": mapping.duplicates,
            "values_rounded": parts.rounded,
        },
        rejected=dict(sorted(Counter(one.reason for one in rejected).items())),
    )


def _entry(stored: Stored) -> dict[str, Any]:
    """Return the entry of one table in `dataset.json`."""
    table, columns = stored
    rows = len(next(iter(columns.values())))
    found = {}
    if table.key is not None:
        found["keys"] = pc.count_distinct(columns[table.key]).as_py()
    if table.time is not None:
        time = columns[table.time]
        found |= {"first_time": time[0].as_py(), "last_time": time[-1].as_py()}
    files = [f"{table.name}-{number:05d}.parquet" for number in range(-(-rows // ROWS_A_FILE))]
    return describe_table(table, rows=rows, digest=_digest(columns), files=files, **found)


def _digest(columns: dict[str, pa.Array]) -> str:
    """Return the SHA-256 over the columns in time order, whatever the number of Parquet files."""
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(f"{name} {len(column)} ".encode())
        if pa.types.is_integer(column.type):
            missing = column.is_null().to_numpy(zero_copy_only=False)
            digest.update(np.packbits(missing).tobytes())
            digest.update(column.fill_null(0).to_numpy().astype("<i8").tobytes())
            continue
        length = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
        digest.update(length.astype("<i8").tobytes())
        for start in range(0, len(column), ROWS_A_FILE):
            texts = column.slice(start, ROWS_A_FILE).cast(pa.large_string())
            digest.update("".join(text for text in texts.to_pylist() if text).encode())
    return digest.hexdigest()[:32]


def _write(
    output: Path,
    info: dict[str, Any],
    tables: list[Stored],
    rejected: list[Rejected],
    sources: list[Source],
) -> None:
    """Write the folder under a temporary name, then rename it."""
    unfinished = output.with_name(f".{output.name}.{os.getpid()}.unfinished")
    replaced = output.with_name(f".{output.name}.{os.getpid()}.replaced")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        unfinished.mkdir()
        for table, columns in tables:
            for number, name in enumerate(info["tables"][table.name]["files"]):
                pq.write_table(_part(columns, number * ROWS_A_FILE), unfinished / name)
        names = [source.label for source in sources]
        write_rejected(unfinished / "rejected.csv", rejected, names, line_end="\n")
        text = json.dumps(info, indent=2, ensure_ascii=False) + "\n"
        (unfinished / "dataset.json").write_text(text, encoding="utf-8")
        if output.exists():
            output.rename(replaced)
        unfinished.rename(output)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}") from None
    finally:
        if replaced.exists() and not output.exists():
            replaced.rename(output)
        for folder in (unfinished, replaced):
            shutil.rmtree(folder, ignore_errors=True)


def _part(columns: dict[str, pa.Array], start: int) -> pa.Table:
    """Return the rows of one Parquet file, with text as ordinary strings."""
    part = {}
    for name, column in columns.items():
        piece = column.slice(start, ROWS_A_FILE)
        part[name] = piece.cast(pa.string()) if pa.types.is_large_string(piece.type) else piece
    return pa.table(part)
