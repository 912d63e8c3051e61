"""The forest plot of a paper's findings: each statement as a ratio on one logarithmic axis.

The rows stand under the finding that they answer (``forest_rows``). Left of the axis is the
comparison in words, right of it the ratio with its interval and the paper's number. Text wraps and
is never cut. The picture grows downwards with the number of statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from experiments.judging.badges import shortened
from experiments.judging.claims import read_verdicts
from experiments.judging.pool import (
    CANNOT_TELL,
    DOES_NOT_HOLD,
    HOLDS,
    MIXED,
    PRACTICALLY_EQUAL,
)
from experiments.records.files import write_file
from figures import plot, style
from figures.draw import saved
from figures.files import FOREST, PICTURES
from figures.forest_rows import Axis, Group, Row, csv_of, groups_of, is_missing, numbers_of

# Inches: left and right of the axis, one line of text, above a finding and between two rows.
LEFT, RIGHT, LINE, ABOVE, BETWEEN = 3.15, 1.45, 0.115, 0.09, 0.05
MARGIN, INDENT, GAP = 0.06, 0.14, 0.1
BAR = 0.085
# Colour, marker and filling of each answer: the answers differ in grey, too.
MARKS = {
    HOLDS: (style.BLUE, "o", "full"),
    DOES_NOT_HOLD: (style.VERMILLION, "s", "full"),
    MIXED: (style.PURPLE, "o", "left"),
    CANNOT_TELL: (style.GREY, "o", "none"),
}
OTHER = (style.GREY, ".", "full")
ZONE, FLOOR = style.TIED, style.CROWDED


class Entry(NamedTuple):
    """The text left and right of the axis in one row, and the statement drawn between them."""

    left: list[str]
    right: list[str]
    row: Row | None = None
    heading: str = ""

    @property
    def height(self) -> float:
        """The height in inches."""
        lines = max(len(self.left), len(self.right), 1)
        return lines * LINE + (ABOVE if self.heading else 0.0) + BETWEEN


def write_forest(claims_file: str | Path, folder: str | Path) -> list[Path]:
    """Write the forest plot of a paper as pdf, svg, png and csv; return the paths.

    Parameters
    ----------
    claims_file : path
        The verdicts of the paper.
    folder : path
        Of the paper's drawn figures.

    Raises
    ------
    UsageError
        When there are no verdicts, or another version of Millrace wrote them.
    """
    verdicts = read_verdicts(claims_file)
    stem = Path(folder, FOREST)
    picture = draw_forest(verdicts)
    files = [write_file(f"{stem}.{kind}", saved(picture, kind)) for kind in PICTURES]
    table = csv_of(groups_of(verdicts)).encode()
    return [*files, write_file(f"{stem}.csv", table)]


def draw_forest(verdicts: Mapping[str, Any]) -> Picture:
    """Return the forest plot of a paper's verdicts."""
    groups = groups_of(verdicts)
    axis = Axis.of(groups)
    with matplotlib.rc_context(style.PARAMETERS):
        entries = [entry for group in groups for entry in _entries_of(group)]
        height = max(sum(each.height for each in entries), 0.5)
        picture, (axes,) = plot.canvas(
            style.WIDE, (1, 1), height, f"{verdicts['title']}: what was found", _keys(groups),
            [footer_of(verdicts)], left=LEFT, right=RIGHT, below=0.24, top=0.2,
        )  # fmt: skip
        _prepare(axes, axis, height)
        top = 0.0
        for entry in entries:
            _draw_entry(axes, entry, axis, top)
            top += entry.height
    return picture


def footer_of(verdicts: Mapping[str, Any]) -> str:
    """Return the line below the picture: the machine, the profile and the processes."""
    count = verdicts["processes"]
    told = [
        f"{verdicts['processor'] or 'unknown processor'}, {verdicts['cores']} cores",
        f"profile {', '.join(verdicts['profiles'])}",
        f"{count} process{'' if count == 1 else 'es'}",
    ]
    return plot.as_one(told)


def _entries_of(group: Group) -> Iterator[Entry]:
    room = LEFT - MARGIN - GAP
    side = RIGHT - GAP - MARGIN
    question = style.wrapped(group.question, room / 1.12, style.SMALL)
    word = style.wrapped(group.direction, side / 1.12, style.SMALL)
    yield Entry(question, word, heading=group.direction)
    for row in group.rows:
        numbers = style.wrapped(numbers_of(row), side, style.SMALL)
        if row.paper is not None:
            numbers += style.wrapped(f"paper {shortened(row.paper)}", side, style.SMALL)
        yield Entry(style.wrapped(row.label, room - INDENT, style.SMALL), numbers, row)
    for each in group.absent:
        word = "not measured" if is_missing(each) else each.direction
        left = style.wrapped(each.label, room - INDENT, style.SMALL)
        yield Entry(left, style.wrapped(word, side, style.SMALL))


def _keys(groups: Sequence[Group]) -> list[list[Artist]]:
    """Return the key: the parts of a row, and the mark of each answer that occurs."""
    there = {row.direction for group in groups for row in group.rows}
    parts = [
        Line2D([], [], color=style.BLACK, marker="D", ls="", markersize=4.6,
               markerfacecolor="none", markeredgewidth=0.9, label="the paper's number"),
        Patch(color=ZONE, label=f"within {PRACTICALLY_EQUAL:g} times: practically equal"),
        Patch(color=FLOOR, label="noise floor: 19 of 20 equal runs differ by less"),
    ]  # fmt: skip
    answers = [_mark(look, word) for word, look in MARKS.items() if word in there]
    return [answers, parts] if answers else [parts]


def _mark(look: tuple[str, str, str], label: str = "") -> Line2D:
    color, marker, filled = look
    return Line2D(
        [], [], color=color, marker=marker, fillstyle=filled, ls="-", lw=1.0, label=label,
        markersize=style.MARKER_SIZE, markerfacecoloralt="white",
    )  # fmt: skip


def _prepare(axes: Axes, axis: Axis, height: float) -> None:
    """Set scales, ticks and the zone of practical equality; y is in inches from the top."""
    axes.set_xscale("log")
    axes.set_xlim(axis.low, axis.high)
    axes.set_ylim(-height, 0.0)
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(FixedLocator(axis.ticks))
    axes.xaxis.set_major_formatter(
        FixedFormatter([axis.labels.get(tick, "") for tick in axis.ticks])
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labeltop=True, labelbottom=True, top=False, pad=2.0)
    axes.vlines(axis.ticks, -height, 0.0, color=style.FAINT, lw=0.4, zorder=0.1)
    axes.vlines(1.0, -height, 0.0, color=style.GREY, lw=0.8, zorder=0.25)
    axes.axvspan(1.0 / PRACTICALLY_EQUAL, PRACTICALLY_EQUAL, color=ZONE, lw=0, zorder=0.2)


def _draw_entry(axes: Axes, entry: Entry, axis: Axis, top: float) -> None:
    """Draw one row, with the upper edge `top` inches below that of the panel."""
    top += ABOVE if entry.heading else 0.0
    color = MARKS.get(entry.heading, OTHER)[0] if entry.heading else style.BLACK
    indent = 0.0 if entry.heading else INDENT
    _write(axes, entry.left, MARGIN + indent, top, bool(entry.heading), style.BLACK)
    _write(axes, entry.right, style.WIDE - RIGHT + GAP, top, bool(entry.heading), color)
    if entry.row is not None:
        _draw_row(axes, entry.row, axis, -top - LINE / 2)


def _write(
    axes: Axes, lines: Sequence[str], left: float, top: float, bold: bool, color: str
) -> None:
    """Write lines of text, `left` inches from the left edge of the picture."""
    wide = style.WIDE - LEFT - RIGHT
    moved = blended_transform_factory(axes.transAxes, axes.transData)
    for number, line in enumerate(lines):
        axes.text((left - LEFT) / wide, -top - number * LINE - LINE / 2, line, transform=moved,
                  va="center_baseline", fontsize=style.SMALL, color=style.readable(color),
                  fontweight="bold" if bold else "normal")  # fmt: skip


def _draw_row(axes: Axes, row: Row, axis: Axis, y: float) -> None:
    """Draw floor, interval, ratio and the paper's number of a statement at the height `y`."""
    if row.floor is not None and row.floor > 1.0:
        low, high = max(1.0 / row.floor, axis.low), min(row.floor, axis.high)
        axes.add_patch(Rectangle((low, y - BAR / 2), high - low, BAR, facecolor=FLOOR,
                                 edgecolor="none", zorder=0.15))  # fmt: skip
    look = MARKS.get(row.direction, OTHER)
    if row.low is not None and row.high is not None:
        ends = [min(max(end, axis.low), axis.high) for end in (row.low, row.high)]
        axes.plot(ends, [y, y], color=look[0], lw=1.0, zorder=2)
    if row.paper is not None:
        _at(axes, axis, row.paper, y, Line2D([], [], color=style.BLACK, marker="D", markersize=5.2,
            fillstyle="none", markeredgewidth=0.9), 3)  # fmt: skip
    _at(axes, axis, row.ratio, y, _mark(look), 4)


def _at(axes: Axes, axis: Axis, ratio: float, y: float, mark: Line2D, order: float) -> None:
    """Draw a marker at a ratio; at an end of the axis a triangle that points beyond it."""
    beyond = axis.beyond(ratio)
    inside = min(max(ratio, axis.low), axis.high)
    marker = {-1: "<", 0: mark.get_marker(), 1: ">"}[beyond]
    axes.plot([inside], [y], ls="", marker=marker, color=mark.get_color(),
              fillstyle=mark.get_fillstyle(), markersize=mark.get_markersize(),
              markeredgewidth=0.9, markerfacecoloralt="white", clip_on=False,
              zorder=order)  # fmt: skip
