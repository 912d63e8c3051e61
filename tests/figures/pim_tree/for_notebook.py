"""Replacements for the live runs in the notebook's test, and the number of pictures it shows."""

from __future__ import annotations

import pytest

from experiments.pim_tree import live
from experiments.pim_tree.snapshots import Inserts, JoinRun
from tests.invented_pim_tree import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Pictures in addition to the figures.
PICTURES = 6


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace live runs, which have separate tests, by fixed answers."""
    join = JoinRun("pim-tree", 1 << 8, 1e6, True)
    monkeypatch.setattr(live, "joins_by_window", lambda: [join])
    monkeypatch.setattr(live, "inserts_by_subindex", lambda: [Inserts(0.0, (1, 1))])
