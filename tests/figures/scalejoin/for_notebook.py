"""Replacements for the live runs in the notebook's test, and the number of pictures it shows."""

from __future__ import annotations

import pytest

from experiments.scalejoin import live
from experiments.scalejoin.snapshots import JoinRun
from tests.invented_scalejoin import of_every_figure

__all__ = ["PICTURES", "of_every_figure", "shorten"]
# Pictures in addition to the figures.
PICTURES = 7


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace live runs, which have separate tests, by fixed answers."""
    join = JoinRun("scale-join", 2, 1e9, (0.5, 0.5), True, True)
    monkeypatch.setattr(live, "compare_joins", lambda **given: [join])
