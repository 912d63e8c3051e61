"""What tests read from drawn figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.declare import Figure
from figures import draw, load
from tests.invented import DECLARED, PAPER, write_raw

Rows = Iterable[Mapping[str, Any]]


def results_of(folder: Path, rows: Rows) -> load.Results:
    """Return rows as figures read them."""
    return load.read(write_raw(folder, rows))


def table_of(
    results: load.Results, figure: str | Figure, extended: bool = False, paper: str = PAPER
) -> pd.DataFrame:
    """Return the table that the form of a figure selects."""
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    return draw.form_of(paper, figure).select(results, paper, figure, extended)


def picture_of(
    table: pd.DataFrame, figure: str | Figure, extended: bool = False, paper: str = PAPER
) -> Picture:
    """Return the picture that the form of a figure draws of a table."""
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    return draw.form_of(paper, figure).draw(table, figure, [], extended)


def texts(picture: Picture) -> list[str]:
    """Return everything that is written on a figure, legend entries included."""
    found = [text.get_text() for text in picture.texts]
    for legend in picture.legends:
        found.extend(text.get_text() for text in legend.get_texts())
    for axes in picture.axes:
        found.extend([axes.get_xlabel(), axes.get_ylabel()])
        found.extend(text.get_text() for text in axes.texts)
    return found


def labels(axes: Axes) -> list[str]:
    """Return the labels of the x axis."""
    return [tick.get_text() for tick in axes.get_xticklabels() if tick.get_text()]


def dots(axes: Axes, marker: str | None = None) -> list[Line2D]:
    """Return what is drawn as single markers, all or those of one kind."""
    alone = [line for line in axes.lines if line.get_ls() == "None"]
    return [line for line in alone if marker in (None, line.get_marker())]


def color_of(line: Line2D) -> str:
    """Return the colour of a line as the style writes it."""
    return to_hex(line.get_color()).upper()
