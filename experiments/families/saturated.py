"""What families measure whose paper runs a saturated source: speed-up, processing latency, cost.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", sections 2.1 and 7. A
family takes of these what its bench gives.

# ASSUME: the paper does not say what its speed-ups are counted from (the cost of a tuple is told
# "on a single core serial execution"): here it is one thread without queues or buffers that does
# the same tuples right after the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.declare import Quantity
from experiments.records.columns import CLOSED, Column
from experiments.timing.bench import latency_of

SPEED_UP = "speed-up"
"""A closed run of its own, after which one thread does the same work without queues or buffers."""

# Markers of a run. The middle three fifths are kept: more than ten lie beyond the 99th percentile.
MARKERS_A_RUN = 2_000

MARKED = Column("markers", "integer", "markers", "markers that came out", "when the run failed")
SERIAL = Column(
    "serial_seconds",
    "number",
    "s",
    "what one thread takes for the same tuples, without queues or buffers",
    f"unless {SPEED_UP}",
)


def _processing(name: str, meaning: str, label: str) -> Quantity:
    return Quantity(
        name=f"processing_ms_{name}",
        unit="ms",
        meaning=meaning,
        words="processing latency",
        label=label,
        better="lower",
        phase=CLOSED,
        absent="when the run failed, or too few markers came out",
    )


PROCESSING = (
    _processing(
        "mean",
        "from the first operator's work on a tuple to its exit, mean over the markers from the"
        " 20th to the 80th percentile of a saturated run",
        "Mean processing latency (ms)",
    ),
    _processing("p50", "the same, median", "Median processing latency (ms)"),
    _processing("p99", "the same, 99th percentile", "99th percentile of processing latency (ms)"),
)


def processing_of(latencies: Any) -> dict[str, float | None]:
    """Return the values of ``PROCESSING`` from a histogram of ns."""
    latency = latency_of(latencies)
    return {
        f"processing_ms_{name}": getattr(latency, name) if latency else None
        for name in ("mean", "p50", "p99")
    }


def _speed_up(row: Mapping[str, Any]) -> float | None:
    if not row["serial_seconds"] or not row["throughput_tps"]:
        return None
    return row["throughput_tps"] * row["serial_seconds"] / row["tuples"]


SPEED_UPS = Quantity(
    name="speed_up",
    unit="",
    meaning="throughput over that of one thread that does the same without queues or buffers, right"
    " after it",
    words="speed-up",
    label="Speed-up (serial run = 1)",
    better="higher",
    phase=SPEED_UP,
    of=_speed_up,
)


def _worker_time(row: Mapping[str, Any]) -> float | None:
    return (
        1e6 * row["settings"]["workers"] / row["throughput_tps"] if row["throughput_tps"] else None
    )


WORKER_TIME = Quantity(
    name="worker_us",
    unit="us",
    meaning="time of all workers over the tuples, waiting for locks, flags and cores included",
    words="worker time a tuple",
    label="Worker time a tuple (µs)",
    better="lower",
    phase=CLOSED,
    of=_worker_time,
)
