"""What the test of the notebook takes in place of a measurement, and how much it then shows."""

from __future__ import annotations

import pytest

from experiments.multiway_aggregation import live
from experiments.multiway_aggregation.snapshots import LiveRun
from tests.invented import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Beside the figures.
PICTURES = 3


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put answers in place of live runs, which have tests of their own."""
    run = LiveRun("t-gate", 1, 1e6, True, 5, 2)
    monkeypatch.setattr(live, "locks_against_no_locks", lambda: [run])
