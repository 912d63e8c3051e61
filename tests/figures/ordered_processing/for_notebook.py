"""Replacements for the live runs in the notebook's test, and the number of pictures it shows."""

from __future__ import annotations

import pytest

from experiments.ordered_processing import live
from experiments.ordered_processing.snapshots import TimeSpent
from tests.invented_ordered import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Pictures in addition to the figures.
PICTURES = 4


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace live runs, which have separate tests, by fixed answers."""
    spent = TimeSpent("ct", {"1 one": 0.4, "2 two": 0.6}, 1e6, True)
    monkeypatch.setattr(live, "worker_time", lambda: [spent])
    monkeypatch.setattr(live, "find_frauds", lambda: [(0, 3)])
