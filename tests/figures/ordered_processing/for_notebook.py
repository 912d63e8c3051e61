"""What the test of the notebook takes in place of a measurement, and how much it then shows."""

from __future__ import annotations

import pytest

from experiments.ordered_processing import live
from experiments.ordered_processing.snapshots import TimeSpent
from tests.invented_ordered import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Beside the figures.
PICTURES = 3


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put answers in place of live runs, which have tests of their own."""
    spent = TimeSpent("ct", {"1 one": 0.4, "2 two": 0.6}, 1e6, True)
    monkeypatch.setattr(live, "worker_time", lambda: [spent])
    monkeypatch.setattr(live, "find_frauds", lambda: [(0, 3)])
