"""Shared parts of figures: a canvas with key and footer, looks of lines, and counts for notes.

Nothing here depends on a paper or changes global settings: callers draw inside
``style.PARAMETERS`` (``draw`` enters it). ``figures.panel`` prepares the axes and
``figures.marks`` draws the marks on them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from experiments.declare import Figure, Sweep
from experiments.records.quantities import quantity
from figures import panel, style
from figures.cells import (
    BRACKET,
    FAILED,
    FITTED,
    OVERSUBSCRIBED,
    PUBLISHED,
    SATURATED,
    SCARCE,
    having,
)
from figures.table import lower_than
from figures.view import View

# Fewer values on the x axis are categories, whose dots no line joins. Three numbers show a shape
# that can be compared with the curve of the paper.
PLACES_FOR_A_CURVE = 3

# Inches.
LEFT, RIGHT, BELOW = 0.74, 0.08, 0.36
BETWEEN_WIDE, BETWEEN_HIGH = 0.72, 0.14
MARGIN, _TITLE_ROW, _KEY_ROW, _FOOTER_ROW = 0.06, 0.14, 0.135, 0.115
# A key entry: width of the sample, gap to the label, and gap between two entries.
_HANDLE, _PAD, _GAP = 0.22, 0.05, 0.12
# Between the statements of a footer.
_DOT = f"{style.BOUND}\u00b7 "


class Noted(Picture):
    """A picture with notes: statements that are not printed on it.

    Attributes
    ----------
    notes : list of str
    """

    notes: list[str]


def as_one(statements: Sequence[str]) -> str:
    """Join statements of a footer into one."""
    return _DOT.join(statements)


def room_of(width: float) -> float:
    """Return the inches available to a line of text below a picture of this width."""
    return width - 2 * MARGIN


def canvas(
    width: float,
    shape: tuple[int, int],
    panel_height: float,
    title: str,
    keys: Sequence[Sequence[Artist]],
    footer: Sequence[str],
    left: float = LEFT,
    right: float = RIGHT,
    below: float = BELOW,
    top: float = 0.0,
    between: tuple[float, float] = (BETWEEN_WIDE, BETWEEN_HIGH),
) -> tuple[Noted, list[Axes]]:
    """Return a figure with `shape` (rows, columns) of panels, a key above and a footer below.

    Parameters
    ----------
    width, panel_height : float
        Inches; the height of the figure follows from the content.
    title : str
    keys : sequence of sequence of Artist
        Entries of the key; each group starts a new row.
    footer : sequence of str
        Statements about the measurement. The first one is printed below the panels; the others
        are stored in the picture's ``notes``.
    left, right, below, top : float
        Inches left of, right of, below and above the panels, for labels.
    between : tuple of float
        Inches between panels side by side and one above the other.
    """
    room = room_of(width)
    titles = style.wrapped(title, room / 1.12, style.FONT_SIZE)
    told = next(iter(footer), "")
    for sign in (" %", " = "):
        told = told.replace(sign, sign.replace(" ", style.BOUND))
    lines = style.wrapped(told, room, style.SMALL)
    key_rows = [row for group in keys for row in rows_of_key(group, room)]
    rows, across = shape
    at_bottom = len(lines) * _FOOTER_ROW + 0.08
    at_top = len(titles) * _TITLE_ROW + len(key_rows) * _KEY_ROW + 0.12 + top
    height = at_top + rows * panel_height + (rows - 1) * between[1] + below + at_bottom
    figure = Noted(figsize=(width, height))
    figure.notes = list(footer[1:])
    for number, line in enumerate(titles):
        y = 1 - (0.04 + number * _TITLE_ROW) / height
        figure.text(MARGIN / width, y, line, va="top", ha="left", fontweight="bold")
    for number, row in enumerate(key_rows):
        _key(figure, row, 1 - (0.06 + len(titles) * _TITLE_ROW + number * _KEY_ROW) / height)
    for number, line in enumerate(reversed(lines)):
        y = (0.05 + number * _FOOTER_ROW) / height
        figure.text(MARGIN / width, y, line, va="bottom", fontsize=style.SMALL, color=style.GREY)
    panel_width = (width - left - right - (across - 1) * between[0]) / across
    panels = []
    for place in range(rows * across):
        row, column = divmod(place, across)
        x = left + column * (panel_width + between[0])
        y = at_bottom + below + (rows - 1 - row) * (panel_height + between[1])
        box = (x / width, y / height, panel_width / width, panel_height / height)
        panels.append(figure.add_axes(box))
    return figure, panels


def rows_of_key(keys: Sequence[Artist], room: float) -> list[list[Artist]]:
    """Return the entries of a key in rows that fit into `room` inches."""
    rows: list[list[Artist]] = []
    used = room
    for key in keys:
        wide = _HANDLE + _PAD + style.width_of(key.get_label(), style.SMALL)
        if rows and used + _GAP + wide <= room:
            rows[-1].append(key)
            used += _GAP + wide
        else:
            rows.append([key])
            used = wide
    return rows


def _key(figure: Picture, row: Sequence[Artist], top: float) -> None:
    size = style.SMALL / 72
    figure.legend(
        handles=list(row),
        loc="upper left",
        ncols=len(row),
        frameon=False,
        bbox_to_anchor=(MARGIN / figure.get_figwidth(), top),
        borderaxespad=0.0,
        borderpad=0.0,
        handlelength=_HANDLE / size,
        handletextpad=_PAD / size,
        columnspacing=_GAP / size,
    )


# --- contents of the panels ----------------------------------------------------------------------


def panels_of(table: pd.DataFrame, view: View) -> list[str]:
    """Return the quantities of the panels: as declared, or the percentile that stands in."""
    there = set(table["panel"])
    return list(dict.fromkeys(_shown_for(name, there) for name in view.quantities))


def _shown_for(name: str, there: Set[str]) -> str:
    """Return the quantity in the table for `name`: itself, or a lower percentile."""
    return next((each for each in lower_than(name) if each in there), name)


def looks_of(table: pd.DataFrame, figure: Figure) -> dict[str, style.Look]:
    """Return the look of each line: of the variant, or of the value if lines are swept values."""
    named = table[["line", "variant"]].drop_duplicates("line").itertuples(index=False)
    if figure.lined:
        return {
            line: style.swept_look(
                place, line.replace(variant, style.look_of(figure.family, variant).title)
            )
            for place, (line, variant) in enumerate(named)
        }
    found = {line: style.look_of(figure.family, variant) for line, variant in named}
    order = {line: place for place, line in enumerate(figure.lines)}
    ordered = sorted(found, key=lambda line: order.get(line, len(order)))
    return {line: found[line] for line in ordered}


def placed(table: pd.DataFrame, sweep: Sweep) -> tuple[pd.DataFrame, list[str]]:
    """Return `table` with numbers for x, and the names of the categories, if x is categorical.

    Words are categories, and so are few numbers: nothing was measured between two or three.
    """
    found = sorted(set(table["x"]), key=sweep.sort_key)
    numbers = not any(isinstance(x, str) for x in found) and min(found, default=0) > 0
    if numbers and len(found) >= PLACES_FOR_A_CURVE:
        return table.assign(x=table["x"].astype(float)), []
    places = {x: place for place, x in enumerate(found)}
    if numbers and any(isinstance(x, float) for x in found):
        names = list(panel.tick_labels(found).values())
    else:
        names = [f"{x:,}" if isinstance(x, int) else f"{x:g}" if isinstance(x, float) else x
                 for x in found]  # fmt: skip
    return table.assign(x=table["x"].map(places).astype(float)), names


def is_curve(table: pd.DataFrame, names: Sequence[str]) -> bool:
    """Return whether lines join measured points: neither categories nor few values of x."""
    return not names and table["x"].nunique() >= PLACES_FOR_A_CURVE


def slots_of(lines: Sequence[str]) -> dict[str, float]:
    """Return the offset of each line from the middle of a category, in categories."""
    step = min(0.16, 0.72 / max(len(lines), 1))
    return {line: step * (n - (len(lines) - 1) / 2) for n, line in enumerate(lines)}


def notes_of(table: pd.DataFrame, view: View) -> list[str]:
    """Return the notes on the drawn points: each mark, and how many points have it."""
    drawn = table[(table["spread"] != BRACKET) & ~having(table, PUBLISHED)]

    def count(*states: str) -> int:
        return int(having(drawn, *states).sum())

    marks = []
    if count(OVERSUBSCRIBED):
        marks.append("grey: more threads than cores")
    if count(*style.WEAK):
        told = [f"{count(state)} {words}" for state, words in style.WEAK.items() if count(state)]
        marks.append(f"pale (of {len(drawn)}): {', '.join(told)}")
    if count(SATURATED):
        marks.append(f"caret: saturated ({count(SATURATED)})")
    if count(FAILED):
        marks.append(f"red cross: no valid run ({count(FAILED)})")
    return [*marks, *_percentiles(table, view), *absent(table, view.figure)]


def error_of(measured: pd.DataFrame, predicted: pd.DataFrame, what: str = "point") -> list[str]:
    """Return the deviation of predictions from the measured values, as text for the notes.

    Values that the model was fitted to do not count. `what` names, in the singular, the thing that
    a value stands for.
    """
    own = predicted[~having(predicted, FITTED)]
    place = ["panel", "subject", "line", "x"]
    both = own.merge(measured, on=place, suffixes=("", "_measured"))
    apart = (100 * (both["value"] / both["value_measured"] - 1).abs()).dropna()
    if apart.empty:
        return []
    many = f"{len(apart)} {what}{'' if len(apart) == 1 else 's'}"
    told = f"{apart.median():.0f} % (of {many}, worst {apart.max():.0f} %)"
    return [f"the model's median error: {told}"]


def _percentiles(table: pd.DataFrame, view: View) -> list[str]:
    """Return which percentiles were replaced by lower ones, and how many values were left out."""
    notes = []
    there = set(table["panel"])
    instead: dict[str, list[str]] = {}
    for name in view.quantities:
        shown = _shown_for(name, there)
        if shown != name:
            instead.setdefault(_plainly(shown), []).append(_plainly(name))
    for shown, wanted in instead.items():
        notes.append(f"too few latencies for the {' and the '.join(wanted)}: the {shown} is shown")
    scarce = int(having(table, SCARCE).sum())
    if scarce:
        notes.append(f"{scarce} left out, with fewer than ten latencies beyond the percentile")
    return notes


def _plainly(name: str) -> str:
    """Return a latency's name for use in a sentence: "99th percentile", "mean latency"."""
    return quantity(name).label.lower().replace(" (ms)", "")


def absent(table: pd.DataFrame, figure: Figure) -> list[str]:
    """Return the statement that some of the paper's lines have no points, if so."""
    missing = [line for line in figure.lines if line not in set(table["variant"])]
    names = [style.look_of(figure.family, line).title for line in missing]
    return [f"not measured: {', '.join(names)}"] if names else []


def handle_of(look: style.Look, line: bool = True) -> Line2D:
    """Return the key entry of a look."""
    return Line2D([], [], color=look.color, marker=look.marker, ls=look.dash if line else "",
                  lw=width_of_line(look), markersize=style.MARKER_SIZE,
                  label=look.title)  # fmt: skip


def width_of_line(look: style.Look) -> float:
    """Return the thickness of a line; a variant of ours is thinner."""
    return style.OURS_LINE_WIDTH if look.ours else style.LINE_WIDTH
