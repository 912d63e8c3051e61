"""Figures of papers with swept settings: invented rows at every setting, drawn, and read.

The rows of a paper come from the module ``tests/invented_<paper>.py``, here called `paper`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
from matplotlib.figure import Figure as Picture

from experiments import series
from experiments.declare import Figure
from figures import draw as drawing
from figures import style
from tests.figures.drawn import results_of
from tests.figures.overlap import overlaps

SIZES, FORMS = ("quick", "laptop"), ("papers", "extended")
Row = dict[str, Any]


def rows_of(
    paper: ModuleType,
    figure: Figure,
    size: str,
    values: Callable[[int, int], tuple[float, ...]],
    **given: Any,
) -> list[Row]:
    """Return rows of every series; ``values(line, place)`` are the values for ``rows_at``."""
    found = {}
    for line, name in enumerate(series.measured(figure)):
        for place, at in enumerate(paper.places_of(figure, size)):
            for row in paper.rows_at(figure, name, at, *values(line, place), **given):
                about = (row["phase"], row["rate_fraction"])
                found[row["variant"], str(row["settings"]), *about] = row
    return list(found.values())


def failed(rows: list[Row]) -> list[Row]:
    """Return the same rows, of runs that timed out."""
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    return [{**row, **wrong} for row in rows]


def picture_read(
    paper: ModuleType, figure: str, folder: Path, rows: list[Row], form: str = "papers"
) -> Picture:
    """Return the picture of a figure after checking that all of its texts are readable."""
    results = results_of(folder, rows)
    picture = drawing.draw(paper.PAPER, figure, results, extended=form == "extended").figure
    with matplotlib.rc_context(style.PARAMETERS):
        found = overlaps(picture)
    assert not found, found
    assert picture.get_figwidth() in (style.NARROW, style.WIDE)
    return picture


def written_in(picture: Picture) -> list[str]:
    """Return the texts inside the panels of a picture."""
    return [text.get_text() for axes in picture.axes for text in axes.texts]
