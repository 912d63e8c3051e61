"""Small datasets in the form that the generators write, made without Spark."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datasets import catalog
from datasets.declare import PURPOSES, Column, Table
from datasets.description import describe, describe_table

ROWS = 3_000
SPAN = 600


def write_dataset(folder: Path, role: str, rows: int = ROWS, seed: int = 1) -> Path:
    """Write a keyed stream with ties, gaps and skewed keys; one query time unit is 5 ticks."""
    generator = np.random.default_rng(seed)
    time = np.sort(generator.integers(40, 40 + SPAN, rows))
    time[time > 400] += 30
    has_value = catalog.of_role(role)[0].main.payload == "value"
    key = ((7 if has_value else 90) * generator.random(rows) ** 2).astype(np.int64)
    columns = {"time": time, "row": np.arange(rows), "key": key}
    if has_value:
        columns["value"] = generator.integers(-500, 5_000, rows)
    else:
        columns["text"] = [f"text {i}" + " a@b.de" * (i % 3 == 0) for i in range(rows)]
    content = hashlib.sha256(np.concatenate([time, key]).tobytes()).hexdigest()
    return write_columns(folder, role, columns, seed=seed, digest=content[:32])


def write_columns(
    folder: Path,
    role: str,
    columns: Mapping[str, Any],
    files: int = 1,
    *,
    digest: str = "00",
    time_unit: str = "s",
    **told: Any,
) -> Path:
    """Write these columns, of any content, as the main table of a data set of `role`.

    `told` replaces entries of `dataset.json`, for example ``query_time_unit=20``.
    """
    arrow = pa.table(dict(columns))
    table = replace(_form(catalog.of_role(role)[0].main, arrow), time_unit=time_unit)
    names = [f"{table.name}-{number:05d}.parquet" for number in range(files)]
    size = -(-arrow.num_rows // files)
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        pq.write_table(arrow.slice(number * size, size), folder / name)
    times = columns.get("time", [])
    found = {"keys": len(set(np.asarray(columns.get("key", [])).tolist()))}
    if len(times):
        found |= {"first_time": int(times[0] or 0), "last_time": int(np.asarray(times)[-1])}
    entry = describe_table(table, rows=arrow.num_rows, digest=digest, files=names, **found)
    info = describe(
        {table.name: entry},
        name=catalog.generated_for(role),
        role=role,
        title="made by a test",
        source="generated",
        query_time_unit=5,
        decimals=3 if table.value else None,
        seed=1,
        parameters={},
        rejected={},
    )
    (folder / "dataset.json").write_text(json.dumps({**info, **told}), encoding="utf-8")
    return folder


def _form(declared: Table, arrow: pa.Table) -> Table:
    """Return the declared table with the present columns and the mandatory ones."""
    own = {getattr(declared, purpose) for purpose in PURPOSES}
    found = {name: str(arrow.schema.field(name).type) for name in arrow.column_names}
    columns = [each for each in declared.columns if each.name in own or each.name in found]
    if found.get(declared.key) == "string":
        columns = [replace(c, type="string") if c.name == declared.key else c for c in columns]
    known = {column.name for column in columns}
    others = [Column(name, kind, "", "") for name, kind in found.items() if name not in known]
    return replace(declared, columns=(*columns, *others))
