"""Replacements for the live runs in the notebook's test, and the number of pictures it shows."""

from __future__ import annotations

import pytest

from experiments.streamcloud import live, live_spark
from experiments.streamcloud.snapshots import CarrierRun, Lost, StrategyRun
from tests.invented_streamcloud import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Pictures in addition to the figures.
PICTURES = 12


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace live runs, which have separate tests, by fixed answers."""
    run = StrategyRun("subquery-cluster", 2, 1e6, True, True)
    monkeypatch.setattr(live, "compare_strategies", lambda: [run])
    monkeypatch.setattr(live, "losses", lambda: [Lost("transparent", 0, 1_000, 0, 0)])
    runs = [CarrierRun("threads", 0, None, 9, "0" * 64), CarrierRun("stream", 8, 3, 9, "0" * 64)]
    monkeypatch.setattr(live_spark, "outputs", lambda: runs)
