"""Known noise floors, for judge and figures."""

from __future__ import annotations

from experiments.judging.floors import BETWEEN, ENOUGH, LATENCY, PROCESSING, THROUGHPUT, Floors
from experiments.records.statistics import Floor


def floors(
    factor: float = 1.0, oversubscribed: float | None = None, between: float = 1.0
) -> Floors:
    """Return floors: `factor`, and `oversubscribed` where threads are more than cores."""
    kinds = dict.fromkeys((THROUGHPUT, LATENCY, PROCESSING), (factor, oversubscribed or factor))
    kinds[BETWEEN] = (between, between)
    return Floors({
        (kind, bool(crowd)): Floor(each, ENOUGH)
        for kind, of in kinds.items()
        for crowd, each in enumerate(of)
    })  # fmt: skip
