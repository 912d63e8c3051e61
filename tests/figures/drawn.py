"""Helpers with which tests read drawn figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.path import Path as Shape

from experiments.declare import Figure
from experiments.judging.floors import Floors
from figures import draw, load, marks, style
from figures.view import View
from tests.invented import DECLARED, row, write_raw

Rows = Iterable[Mapping[str, Any]]


def results_of(folder: Path, rows: Rows, floors: Floors | None = None) -> load.Results:
    """Return rows as figures read them, with these noise floors, or those of the rows."""
    return load.Results(load.read(write_raw(folder, rows)).raw, floors)


def table_of(results: load.Results, figure: str | Figure, extended: bool = False) -> pd.DataFrame:
    """Return the table that the form of a figure selects."""
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    return draw.form_of(figure).select(results, View(figure, extended))


def picture_of(table: pd.DataFrame, figure: str | Figure, extended: bool = False) -> Picture:
    """Return the picture that the form of a figure draws of a table."""
    figure = DECLARED[figure] if isinstance(figure, str) else figure
    return draw.form_of(figure).draw(table, View(figure, extended), [])


def equal_to(given: Mapping[str, Any], times: float) -> dict[str, Any]:
    """Return the equal run of a row: the same setting again, `times` as fast or as late."""
    if given["phase"] == "open":
        return {**given, "phase": "equal open", "latency_ms_mean": given["latency_ms_mean"] * times}
    return {**given, "phase": "equal", "throughput_tps": given["throughput_tps"] * times}


def failed(figure: str | Figure, line: str, x: Any = None, **given: Any) -> dict[str, Any]:
    """Return a closed row that timed out."""
    wrong = {"valid": False, "invalid_reason": "timed out", "throughput_tps": None}
    return row(figure, line, x, **(wrong | given))


def texts(picture: Picture) -> list[str]:
    """Return all text on a figure, the key included; the footer is one text."""
    found = [text.get_text() for text in picture.texts if text.get_color() != style.GREY]
    found.append(footer_of(picture))
    for legend in picture.legends:
        found.extend(text.get_text() for text in legend.get_texts())
    for axes in picture.axes:
        found.extend(axes.get_xlabel().splitlines())
        found.append(axes.get_ylabel().replace("\n", " "))
        found.extend(text.get_text() for text in axes.texts)
        found.extend(text.get_text().replace("\n", " ") for text in axes.get_yticklabels())
        found.extend(text.get_text().replace("\n", " ") for text in axes.get_xticklabels())
    return found


def footer_of(picture: Picture) -> str:
    """Return the whole footer of a figure as one text: the line below it, and the notes."""
    return " ".join([line_below(picture), *picture.notes])


def line_below(picture: Picture) -> str:
    """Return the text below a figure, with the lines joined."""
    footer = [text.get_text() for text in picture.texts if text.get_color() == style.GREY]
    # Lines are written from the last to the first.
    return " ".join(reversed(footer)).replace(style.BOUND, " ")


def labels(axes: Axes) -> list[str]:
    """Return the labels of the x axis."""
    return [tick.get_text() for tick in axes.get_xticklabels() if tick.get_text()]


def dots(axes: Axes) -> list[Line2D]:
    """Return the markers of points, without carets, crosses and the ends of brackets."""
    own = [line for line in axes.lines if line.get_ls() == "None"]
    return [line for line in own if not isinstance(line.get_marker(), Shape)
            and line.get_marker() not in ("x", "_", "|", "+")]  # fmt: skip


def carets(axes: Axes) -> list[Line2D]:
    """Return the marks of saturated points."""
    return [line for line in axes.lines if isinstance(line.get_marker(), Shape)]


def crosses(axes: Axes) -> list[Line2D]:
    """Return the marks of failed points."""
    return [line for line in axes.lines if line.get_marker() == "x"]


def lines_of(axes: Axes) -> list[Line2D]:
    """Return the lines that join points."""
    return [line for line in axes.lines if line.get_zorder() == 2 and line.get_ls() != "None"]


def brackets(axes: Axes) -> list[Line2D]:
    """Return the caps of brackets, right of their points or below them."""
    return [line for line in axes.lines if line.get_marker() == "+"]


def ticks(axes: Axes) -> list[Line2D]:
    """Return the ticks of values on whiskers, upright or along a row."""
    return [line for line in axes.lines if line.get_marker() in ("_", "|")
            and line.get_markersize() == marks.TICK]  # fmt: skip


def is_pale(dot: Line2D) -> bool:
    """Return whether a marker is drawn pale."""
    return to_hex(dot.get_markerfacecolor()) == style.mixed(dot.get_color(), style.PALE_FACE)


def color_of(line: Line2D) -> str:
    """Return the colour of a line as the style writes it."""
    return to_hex(line.get_color()).upper()
