"""What the test of the notebook takes in place of a measurement, and how much it then shows."""

from __future__ import annotations

import pytest

from experiments.pim_tree import live
from experiments.pim_tree.snapshots import Inserts, JoinRun
from tests.invented_pim_tree import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Beside the figures.
PICTURES = 5


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put answers in place of live runs, which have tests of their own."""
    join = JoinRun("pim-tree", 1 << 8, 1e6, True)
    monkeypatch.setattr(live, "joins_by_window", lambda: [join])
    monkeypatch.setattr(live, "inserts_by_subindex", lambda: [Inserts(0.0, (1, 1))])
