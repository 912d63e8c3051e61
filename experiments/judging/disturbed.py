"""Which runs were disturbed: as the machine tells, and not by how fast they were.

So leaving them out prefers nobody. A run is disturbed when its row says so (others took time, the
processor changed its speed, cores were moved meanwhile), and when a cache line took another way
from core to core than it did in most runs of its process: between the same two variants one may
have met near cores, and the other far ones. A run of one thread sends nothing to another core.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from experiments.records.columns import MOVED

Row = Mapping[str, Any]


def usual_ways(rows: Iterable[Row]) -> dict[tuple, float]:
    """Return the median way of a cache line from core to core in each process, in ns."""
    ways: dict[tuple, list[float]] = {}
    for row in rows:
        if row["valid"] and row.get("transfer_ns"):
            ways.setdefault(_process(row), []).append(row["transfer_ns"])
    return {process: median(own) for process, own in ways.items()}


def is_disturbed(row: Row, usual: Mapping[tuple, float]) -> bool:
    """Say whether a run was disturbed; `usual` is what ``usual_ways`` returned."""
    way, typical = row.get("transfer_ns"), usual.get(_process(row))
    told = bool(way and typical) and row["threads"] > 1
    return row["noisy"] or (told and max(way / typical, typical / way) > MOVED)


def _process(row: Row) -> tuple:
    return row["machine"], row["group"], row["repetition"]
