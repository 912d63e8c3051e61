"""How long a user waits for the first result: ``millrace replay`` over small files.

*Cold* is a replay whose kernels are in no cache, as after an installation; *warm* one of the
replays after it, with the kernels in the cache. Each is a process of its own, timed from its start
to its end: an output appears whole, so with a thousand rows that is when the first row can be read.

Every run of the tests replays one family, interpreted, which only shows that the benchmark works.
For the table of ``docs/first-result.md``, run::

    MILLRACE_BENCHMARKS=real python -m pytest -s tests/benchmarks/test_first_result.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

REAL = os.environ.get("MILLRACE_BENCHMARKS") == "real"
ROOT = Path(__file__).resolve().parents[2]
ROWS = 1_000 if REAL else 100
WARM = 5 if REAL else 1
QUERY = """\
query: busy
inputs:
  calls: {time: ts, schema: {ts: int64, key: int64, value: int64}}
operators:
  busy:
    aggregate:
      input: calls
      group_by: [key]
      window: {time: 60, advance: 60}
      columns: {calls: "count()", sum: "sum(value)"}
outputs: [busy]
"""
WINDOWS = ["--window-size", "60", "--window-advance", "20"]
REPLAYS = {
    "aggregation tumlsc": ["--input", "a.csv", "b.csv", "--time", "ts", "--key", "key", "--value",
                           "value", "--function", "sum", *WINDOWS],
    "join scale-join": ["--r", "a.csv", "--s", "b.csv", "--window", "60", "--band", "value:value:2",
                        "--threads", "2"],
    "join pim-tree": ["--r", "a.csv", "--s", "b.csv", "--key", "value", "--half-width", "2",
                      "--window-count", "256"],
    "pipeline q2": ["--input", "clicks.csv", "--workers", "2"],
    "streamcloud busy.yaml": ["--input", "calls=a.csv", "calls=b.csv", "--instances", "2"],
}  # fmt: skip
REPLAYED = list(REPLAYS) if REAL else ["aggregation tumlsc"]


class Waited(NamedTuple):
    """Seconds of a whole process, and of the part in which kernels are loaded and run."""

    whole: float
    running: float


@pytest.fixture
def folder(tmp_path):
    for name, first in (("a", 0), ("b", 1)):
        lines = (f"{row + first},{row % 7},{row * 37 % 1_000}" for row in range(ROWS))
        Path(tmp_path, f"{name}.csv").write_text("\n".join(["ts,key,value", *lines, ""]))
    clicks = (f"{1_009_843_200 + 9 * row},{row % 20},{row % 30},1," for row in range(ROWS))
    header = "time,user_sk,item_sk,web_page_sk,sales_sk"
    Path(tmp_path, "clicks.csv").write_text("\n".join([header, *clicks, ""]))
    Path(tmp_path, "busy.yaml").write_text(QUERY)
    return tmp_path


def replayed(folder: Path, called: str, cache: Path) -> Waited:
    """Run one replay in a process with this cache of kernels; return how long it took."""
    options = [*REPLAYS[called], "--output", "out.parquet", "--overwrite", "--json"]
    inherited = {name: each for name, each in os.environ.items() if not name.startswith("NUMBA_")}
    environment = {**inherited, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(cache)}
    if not REAL:
        environment["NUMBA_DISABLE_JIT"] = "1"
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "experiments.cli", "replay", *called.split(), *options],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    whole = time.perf_counter() - began
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] > 0
    return Waited(whole, found["seconds"]["run"])


@pytest.mark.parametrize("called", REPLAYED)
def test_time_to_the_first_result(called, folder):
    cache = folder / "cache"
    cold = replayed(folder, called, cache)
    warm = [replayed(folder, called, cache) for _ in range(WARM)]
    if REAL:
        middle = statistics.median(each.whole for each in warm)
        running = statistics.median(each.running for each in warm)
        ends = f"{min(warm).whole:.2f} to {max(warm).whole:.2f}"
        print(
            f"\n| `{called}` | {cold.whole:.1f} | {middle:.2f} ({ends})"
            f" | {cold.running:.1f} | {running:.2f} |"
        )
        assert middle < cold.whole
