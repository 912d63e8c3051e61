"""Replacements for the live runs in the notebook's test, and the number of pictures it shows."""

from __future__ import annotations

import pytest

from experiments.multiway_aggregation import live
from experiments.multiway_aggregation.snapshots import LiveRun
from tests.invented import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Pictures in addition to the figures.
PICTURES = 4


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace live runs, which have separate tests, by fixed answers."""
    run = LiveRun("t-gate", 1, 1e6, True, 5, 2)
    monkeypatch.setattr(live, "locks_against_no_locks", lambda: [run])
