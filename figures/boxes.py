"""Rows of boxes on a board with axes in inches, for the pictures of several papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from figures import style

EXPIRED, ROOM = "#f2f2f2", "#ffffff"  # faces of expired entries, and of free slots
PALE = "#909090"  # letters of expired entries
MARKED = style.VERMILLION  # the colour that marks things in a picture
# Inches: width and height of a box, height of a row of letters, margin around everything.
CELL, HIGH, LINE, MARGIN = 0.138, 0.17, 0.17, 0.06


class Box(NamedTuple):
    """One box of a row."""

    label: str
    face: str
    color: str = style.BLACK


def board(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure with axes in inches from the upper left corner; y below it is negative."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(-height, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.axis("off")
    return figure, axes


def legend(figure: Figure, faces: Mapping[str, str], pointed: str = "") -> None:
    """Explain, at the top, the faces of boxes and the mark, if there is one (`pointed`)."""
    handles = [
        Patch(facecolor=face, edgecolor=style.GREY, lw=0.4, label=told)
        for told, face in faces.items()
    ]
    if pointed:
        handles.append(Patch(facecolor=ROOM, edgecolor=MARKED, lw=1.6, label=pointed))
    figure.legend(handles=handles, loc="upper left", ncols=len(handles), frameon=False,
                  handlelength=1.2, borderaxespad=0.1, columnspacing=1.2)  # fmt: skip


def event_label(axes: Axes, top: float, words: str, left: float = MARGIN) -> None:
    """Write an event above the drawing of it."""
    axes.text(left, top, words, va="top", fontsize=style.FONT_SIZE, fontweight="bold")


def side_label(axes: Axes, top: float, words: str) -> None:
    """Write the name of a row of boxes to the left of the row."""
    axes.text(MARGIN, top - HIGH / 2, words, va="center", fontsize=style.SMALL, linespacing=1.05)


def node(
    axes: Axes,
    left: float,
    top: float,
    boxes: Sequence[Box],
    marked: bool = False,
    cell: float = CELL,
) -> None:
    """Draw boxes side by side and a frame around them; `cell` is the width of each."""
    for place, box in enumerate(boxes):
        x = left + place * cell
        axes.add_patch(Rectangle((x, top - HIGH), cell, HIGH, facecolor=box.face,
                                 edgecolor=style.FAINT, lw=0.4, zorder=2))  # fmt: skip
        axes.text(x + cell / 2, top - HIGH / 2 - 0.005, box.label, ha="center", va="center",
                  fontsize=style.SMALL, color=box.color, zorder=4)  # fmt: skip
    color, wide = (MARKED, 1.6) if marked else (style.GREY, 0.6)
    axes.add_patch(Rectangle((left, top - HIGH), len(boxes) * cell, HIGH, facecolor="none",
                             edgecolor=color, lw=wide, zorder=3))  # fmt: skip


def line(axes: Axes, x: Sequence[float], y: Sequence[float], marked: bool) -> None:
    """Draw a line behind all boxes."""
    color, wide = (MARKED, 1.2) if marked else (style.FAINT, 0.7)
    axes.plot(x, y, color=color, lw=wide, zorder=1.5 if marked else 1)


def link(axes: Axes, x: Sequence[float], y: float) -> None:
    """Draw an arrow from a leaf to the next leaf."""
    arrow = {"arrowstyle": "->", "lw": 0.8, "color": MARKED, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(x[1], y), xytext=(x[0], y), arrowprops=arrow, zorder=3)
