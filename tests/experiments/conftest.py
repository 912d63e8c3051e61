"""Tiny datasets in temporary folders, a lock and a results folder of the test's own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 3_000
SPAN = 600
KEYS = {"meters": 7, "comments": 90}


def write_dataset(folder: Path, role: str, rows: int = ROWS, seed: int = 1) -> Path:
    """Write a dataset with ties, gaps and skewed keys; one query time unit is 5 ticks."""
    generator = np.random.default_rng(seed)
    time = np.sort(generator.integers(40, 40 + SPAN, rows))
    time[time > 400] += 30
    key = (KEYS[role] * generator.random(rows) ** 2).astype(np.int64)
    columns = {"time": time, "row": np.arange(rows), "key": key}
    if role == "meters":
        columns["value"] = generator.integers(-500, 5_000, rows)
    else:
        columns["text"] = [f"text {i}" + " a@b.de" * (i % 3 == 0) for i in range(rows)]
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "part-0.parquet")
    content = hashlib.sha256(np.concatenate([time, key]).tobytes()).hexdigest()
    info = {
        "name": {"meters": "smart_meter", "comments": "soundcloud"}[role],
        "role": role,
        "title": "made by a test",
        "source": "generated",
        "rows": rows,
        "keys": len(np.unique(key)),
        "time_unit": "s",
        "query_time_unit": 5,
        "decimals": 3,
        "first_time": int(time[0]),
        "last_time": int(time[-1]),
        "seed": seed,
        "digest": content[:32],
        "columns": [],
        "files": ["part-0.parquet"],
        "parameters": {},
    }
    (folder / "dataset.json").write_text(json.dumps(info), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))


@pytest.fixture
def meters(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "smart_meter", "meters")


@pytest.fixture
def comments(tmp_path) -> Path:
    return write_dataset(tmp_path / "results" / "data" / "tiny" / "soundcloud", "comments")
