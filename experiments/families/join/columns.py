"""Columns of a join's raw results besides the common ones, and the quantities made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from datasets.band_join_keys.keys import PHASES as DRIFT_PHASES
from experiments.declare import EACH_PROCESS, Overhead, Phase, Quantity
from experiments.records.columns import CLOSED, Column

STEPS = "steps"
"""A closed run that takes the clock around each step of some tuples."""

TASKS = "tasks"
"""A closed run of several threads in which each task, and each tuple, is timed."""
ALONG = "along the stream"
"""A run from the last window before a drift to the end of the stream, in parts."""

BY_PHASE = f"unless {STEPS}"

# The timed intervals of a task, and the statistics reported of each.
TASK_TIMES = {
    "task": "from taking a task until its tuples have their partners and are indexed",
    "end_to_end": "from taking a tuple to giving its partners out",
}
TASK_RANKS = {"mean": "mean", "p50": "median", "p99": "99th percentile"}
TASK_COLUMNS = tuple(f"{name}_us_{rank}" for name in TASK_TIMES for rank in TASK_RANKS)

COLUMNS = (
    Column("half_width", "integer", "1", "half of the width of the band, less the key itself"),
    Column(
        "merge_seconds",
        "number",
        "s",
        "what merges took in the run; of those that block nobody, how long one was under way",
        "when the run failed",
    ),
    Column(
        "footprint",
        "object",
        "B",
        "bytes in use by component: nodes and arrays of both indexes, the sliding windows, and the"
        " queue of tasks",
        "when the run failed",
    ),
    Column(
        "step_seconds",
        "object",
        "s",
        "time in each step of the tuples with clocks, what the clocks take left out",
        BY_PHASE,
    ),
    Column("stamped", "integer", "tuples", "tuples with clocks", BY_PHASE),
    Column(
        "inserts",
        "object",
        "",
        "`shares`: the part of the inserts that each subindex got, in the order of keys; neighbours"
        " together where there are more than 1,024",
        "unless keys drift",
    ),
    Column(
        "along_stream",
        "object",
        "",
        "the run in equal parts: `place`, the middle of a part in the stream, in sixteenths of it;"
        " `tps`, tuples/s there",
        f"unless {ALONG}",
    ),
)

# Seconds to make and fill windows, per row; and the oracle's time to find the partners of a slice's
# tuples, as a share of the slice (two cores of a Xeon "Sapphire Rapids").
FILL_SECONDS, ORACLE_SHARE = 3.3e-7, 0.8
# Joins run at this many tuples/s or more; a slice is at least one cycle of merges.
JOINED_TPS = 2.5e6
# From this window on, joins of several threads over one index are measured in a single process:
# their merge cycles have millions of tuples.
LARGE = 1 << 20


def _fill_seconds(settings: Mapping[str, Any]) -> float:
    return FILL_SECONDS * (settings["window"] + _cycle(settings))


def _extra_run_seconds(settings: Mapping[str, Any], slice_seconds: float) -> float:
    """Return how much longer than a slice a run takes, including the oracle."""
    tuples = _sides(settings) * _cycle(settings)
    if settings["keys"] == "drift":
        tuples = DRIFT_PHASES[1] * settings["window"]
    longer = max(tuples / JOINED_TPS - slice_seconds, 0.0)
    return longer + ORACLE_SHARE * (slice_seconds + longer)


def _processes(settings: Mapping[str, Any]) -> int | None:
    return 1 if "task_size" in settings and settings["window"] >= LARGE else None


def _cycle(settings: Mapping[str, Any]) -> float:
    """Return the tuples of a stream between two merges, 0 where nothing is merged."""
    return settings.get("merge_ratio", 0) * settings["window"]


def _sides(settings: Mapping[str, Any]) -> int:
    return 2 if settings["kind"] == "two-way" else 1


OVERHEAD = Overhead(_fill_seconds, _extra_run_seconds, _processes)
# Along a drifting stream: 14 windows are joined at two million tuples/s or more, then checked by
# the oracle.
ALONG_SECONDS = 14 * (1 + ORACLE_SHARE) / 2e6
PHASES = (Phase(ALONG, EACH_PROCESS, lambda settings, _: ALONG_SECONDS * settings["window"]),)


# A step takes 20 to 100 ns and reading the clock as much; a timed step also cannot overlap with the
# next one, as it otherwise does, so that the timed steps add up to as much as one and a half times
# the time of a tuple. The clocks therefore give shares of a tuple's time, not durations; the
# driver's work (keys from memory, the digest of the pairs) is split in the same proportions.


def _step(name: str, words: str, label: str) -> Quantity:
    def mean_ns(row: Mapping[str, Any]) -> float | None:
        spent = row["step_seconds"] or {}
        # A step that an index does not have takes less than the clock can resolve.
        if not spent.get(name) or not row["tuples"]:
            return None
        whole = (row["seconds"] - row["merge_seconds"]) / row["tuples"]
        return 1e9 * whole * spent[name] / sum(spent.values())

    return Quantity(
        name=f"{name}_ns",
        unit="ns",
        meaning=f"time of a tuple, merges left out, by the share that clocks give to {words}",
        words=f"cost of {words}",
        label=label,
        better="lower",
        phase=STEPS,
        absent="when the run failed, or the index has no such step",
        total_label="Time a tuple (ns)",
        short_label=name,
        compute=mean_ns,
    )


def _merge_ns(row: Mapping[str, Any]) -> float | None:
    if not row["merge_seconds"] or row["step_seconds"] is None:
        return None
    return 1e9 * row["merge_seconds"] / row["tuples"]


def _merge_share(row: Mapping[str, Any]) -> float | None:
    return row["merge_seconds"] / row["seconds"] if row["merge_seconds"] else None


def _bytes(*names: str) -> Callable[[Mapping[str, Any]], float | None]:
    def an_element(row: Mapping[str, Any]) -> float | None:
        used = row["footprint"]
        if not used:
            return None
        sides = _sides(row["settings"])
        total = sum(value for name, value in used.items() if not names or name in names)
        return total / (sides * row["settings"]["window"]) or None

    return an_element


def _footprint(name: str, meaning: str, label: str, *components: str) -> Quantity:
    return Quantity(
        name=f"{name}_bytes",
        unit="B",
        meaning=f"{meaning}, over the tuples of the windows",
        words=f"bytes a tuple of {meaning}",
        label=label,
        better="lower",
        phase=CLOSED,
        timed=False,
        total_label="Bytes a tuple",
        short_label=name,
        compute=_bytes(*components),
    )


def _share(name: str, meaning: str, label: str) -> Quantity:
    return Quantity(
        name=name,
        unit="",
        meaning=meaning,
        words=meaning,
        label=label,
        better="lower",
        phase=CLOSED,
        absent="unless keys drift",
        timed=False,
    )


def _insert_share(row: Mapping[str, Any]) -> float | None:
    return 1 / len(row["inserts"]["shares"]) if row["inserts"] else None


def _task_time(name: str, label: str, rank: str) -> Quantity:
    return Quantity(
        name=f"{name}_us_{rank}",
        unit="us",
        meaning=f"{TASK_TIMES[name]}, {TASK_RANKS[rank]}",
        words=f"{label.lower()}, {TASK_RANKS[rank]}",
        label=f"{label}, {TASK_RANKS[rank]} (µs)",
        better="lower",
        phase=TASKS,
        absent=f"unless {TASKS}",
    )


def _of_drift(name: str, meaning: str, label: str, begin: float, end: float) -> Quantity:
    """Return the throughput between two positions of the stream, in sixteenths."""

    def mean_tps(row: Mapping[str, Any]) -> float | None:
        found = row["along_stream"]
        if not found:
            return None
        place, rates = (np.array(found[each]) for each in ("place", "tps"))
        inside = rates[(place > begin) & (place < end)]
        # Parts have equally many tuples, so that the times are added.
        return float(len(inside) / (1 / inside).sum()) if len(inside) else None

    return Quantity(
        name=f"{name}_tps",
        unit="t/s",
        meaning=f"throughput {meaning}",
        words=f"throughput {meaning}",
        label=label,
        better="higher",
        phase=ALONG,
        absent=f"unless {ALONG}",
        compute=mean_tps,
    )


DRIFT_BEGINS, DRIFT_ENDS, STREAM_ENDS = np.cumsum(DRIFT_PHASES).tolist()
STEP_NAMES = ("insert", "delete", "search", "scan")
QUANTITIES = (
    _step("insert", "the insert, merges left out", "Insert (ns)"),
    _step("delete", "the delete", "Delete (ns)"),
    _step("search", "the descent to where the band begins", "Search (ns)"),
    _step("scan", "the scan of the band", "Scan (ns)"),
    Quantity(
        name="merge_ns",
        unit="ns",
        meaning="time of merges over the tuples",
        words="cost of merges",
        label="Merge (ns)",
        better="lower",
        phase=STEPS,
        absent="when the run failed, or nothing is merged",
        short_label="merge",
        compute=_merge_ns,
    ),
    Quantity(
        name="merge_share",
        unit="",
        meaning="share of the run that went into merges; of merges that block nobody the share in"
        " which one was under way, which is no cost",
        words="share of merges",
        label="Share of merges",
        better="lower",
        phase=CLOSED,
        absent="when the run failed, or nothing is merged",
        compute=_merge_share,
    ),
    _footprint("search", "T_S", "Search tree (bytes a tuple)", "search"),
    _footprint("insert", "T_I, or the B+-Tree", "Insert tree, B+-Tree (bytes a tuple)", "insert"),
    _footprint("buffer", "the merge buffer", "Merge buffer (bytes a tuple)", "buffer"),
    _footprint("window", "the sliding windows", "Windows (bytes a tuple)", "window"),
    _footprint(
        "index", "the index", "Index (bytes a tuple)", "search", "insert", "buffer"
    ),
    _footprint("total", "index, windows and queue of tasks", "In all (bytes a tuple)"),
    Quantity(
        name="insert_share",
        unit="",
        meaning="share of the inserts that a subindex got, drawn by subindex; as one value their"
        " mean",
        words="share of the inserts that a subindex got",
        label="Share of inserts",
        better="lower",
        phase=CLOSED,
        absent="unless keys drift",
        timed=False,
        compute=_insert_share,
    ),
    _share("busiest_share", "share of the inserts that the busiest subindex got",
           "Busiest subindex (share of inserts)"),
    *(
        _task_time(name, label, rank)
        for name, label in zip(TASK_TIMES, ("Time of a task", "Until given out"), strict=True)
        for rank in TASK_RANKS
    ),
    _of_drift("along_stream", "along the stream", "Throughput", 0, STREAM_ENDS),
    _of_drift("before_drift", "before the drift", "Before the drift", 0, DRIFT_BEGINS),
    _of_drift("during_drift", "during the drift", "During the drift", DRIFT_BEGINS, DRIFT_ENDS),
    _of_drift("after_drift", "after the drift", "After the drift", DRIFT_ENDS, STREAM_ENDS),
    _share("idle_share", "share of the subindexes that got almost no inserts",
           "Idle subindexes (share)"),
)  # fmt: skip
