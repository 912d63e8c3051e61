"""What a pipeline's raw results have beside the common columns."""

from __future__ import annotations

from experiments.declare import Quantity
from experiments.records.columns import CLOSED, Column

COLUMNS = (Column("markers", "integer", "markers", "markers that came out", "when the run failed"),)


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


QUANTITIES = (
    _processing(
        "mean",
        "from the first operator's work on a tuple to its exit, mean over the markers from the"
        " 20th to the 80th percentile of a saturated run",
        "Mean processing latency (ms)",
    ),
    _processing("p50", "the same, median", "Median processing latency (ms)"),
    _processing("p99", "the same, 99th percentile", "99th percentile of processing latency (ms)"),
)
