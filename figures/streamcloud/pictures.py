"""Pictures of instances step by step, of grids, and of short live runs; plans are in `plans`.

They are made from plain snapshots. Blue is a number, orange a letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from experiments.streamcloud.snapshots import (
    GridSnapshot,
    Lost,
    MergerStep,
    MergerSteps,
    SideLook,
    StrategyRun,
)
from figures import boxes, panel, plot, style
from figures.boxes import EXPIRED, HIGH, MARGIN, MARKED, PALE, ROOM, Box
from figures.pictures import Picture, in_style
from figures.short_runs import Dot, by_column
from figures.streamcloud import readings

NUMBER, LETTER = style.mixed(style.BLUE, 0.72), style.mixed(style.ORANGE, 0.5)
# Inches: a tuple, a pair, the gap between boxes; a row, the margin around rows; the text of a
# progress, the number of a sender, the arriving tuple; the gap between columns.
_TUPLE, _PAIR, _BETWEEN = 0.19, 0.33, 0.03
_ROW, _AROUND, _PROGRESS, _SENDER, _CAME, _APART = 0.2, 0.08, 0.36, 0.17, 0.52, 0.18
_TITLE, _HEAD, _LEGEND = 0.2, 0.17, 0.24
# The same for a grid: a pair, and the room above the grid.
_CELL, _ABOVE = 0.152, 0.52
# Colours of instances in turn, darker ones first.
COLORS = [
    style.mixed(color, white)
    for white in (0.45, 0.75)
    for color in (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY, style.YELLOW,
                  style.VERMILLION)
]  # fmt: skip
MERGERS = {
    "transparent": style.Look("Transparent", style.GREEN, "o", style.SOLID),
    "best-effort": style.Look("Best effort", style.VERMILLION, "^", style.DASHED),
}


# --- step by step ---------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A column of a table of steps: title, left end, and width."""

    title: str
    left: float
    width: float


@in_style
def steps(shown: Sequence[MergerSteps]) -> Picture:
    """Return instances step by step: waiting tuples, the contents of windows, and the output.

    Parameters
    ----------
    shown : sequence of MergerSteps
        All with the same sides.
    """
    every = [step for each in shown for step in each.steps]
    columns = list(_columns(every))
    senders = max(len(side.senders) for side in every[0].sides)
    row = max(senders, 1) * _ROW + _AROUND
    heights = [_TITLE + _HEAD + len(each.steps) * row + 0.1 for each in shown]
    own = columns[-1].left + columns[-1].width + MARGIN
    width = max(style.WIDE, own)
    # Side by side if the width allows.
    beside = own * len(shown) <= width
    figure, axes = boxes.board(width, _LEGEND + (max(heights) if beside else sum(heights)))
    faces = {"number": NUMBER}
    if len(every[0].sides) > 1:
        faces |= {"letter": LETTER, "leaves the window": EXPIRED}
    boxes.legend(figure, faces)
    for number, each in enumerate(shown):
        left, top = (number * width / len(shown), 0.0) if beside else (0.0, sum(heights[:number]))
        moved = [column._replace(left=column.left + left) for column in columns]
        _block(axes, each, moved, -_LEGEND - top, row)
    return Picture(figure)


def _columns(every: Sequence[MergerStep]) -> Iterator[_Column]:
    """Yield the columns of a table, as wide as their content and their title need."""
    sides = range(len(every[0].sides))

    def most(rows: Iterator[float]) -> float:
        return max([*rows, 1])

    wanted = [("comes", _CAME)]
    for side in sides:
        waiting = most(len(sender.waiting) for step in every for sender in step.sides[side].senders)
        name = every[0].sides[side].name
        title = "waits" if len(sides) == 1 else f"waits, {name}"
        wanted.append((title, _SENDER + waiting * _TUPLE + _PROGRESS))
    wanted.append(("certain", _PROGRESS))
    for side in sides:
        if every[0].sides[side].window is not None:
            held = most(
                len(step.sides[side].window or ()) + len(step.sides[side].gone) for step in every
            )
            wanted.append((f"window, {every[0].sides[side].name}", held * _TUPLE))
    made = most(sum(map(_wide, step.made)) for step in every)
    wanted.append(("comes out", made))
    left = MARGIN
    for title, width in wanted:
        width = max(width, style.width_of(title, style.SMALL))
        yield _Column(title, left, width)
        left += width + _APART


def _wide(made: str) -> float:
    return _PAIR if len(made) > 2 else _TUPLE


def _block(
    axes: Axes, shown: MergerSteps, columns: Sequence[_Column], top: float, row: float
) -> None:
    """Draw one instance: a title, a head, a row a step."""
    left = columns[0].left
    boxes.event_label(axes, top, shown.title, left)
    if shown.missing:
        x = left + style.width_of(shown.title, style.FONT_SIZE, bold=True) + 0.15
        axes.text(x, top, "missing:", va="top", color=style.readable(MARKED))
        x += style.width_of("missing:", style.FONT_SIZE) + 0.08
        _boxes(axes, x, top + 0.02, [Box(pair, ROOM) for pair in shown.missing], marked=True)
    head = top - _TITLE
    for column in columns:
        axes.text(column.left, head, column.title, va="top", fontsize=style.SMALL,
                  color=style.GREY)  # fmt: skip
    first = head - _HEAD
    for number, step in enumerate(shown.steps):
        y = first - number * row
        axes.plot((left, columns[-1].left + columns[-1].width), (y, y), color=style.FAINT, lw=0.5)
        _step(axes, step, columns, y - _AROUND / 2, row - _AROUND)


def _step(
    axes: Axes, step: MergerStep, columns: Sequence[_Column], top: float, high: float
) -> None:
    middle = top - high / 2
    came, *rest = columns
    axes.text(came.left, middle, step.came, va="center", fontsize=style.SMALL)
    waits, (certain, *rest) = rest[: len(step.sides)], rest[len(step.sides) :]
    for side, column in zip(step.sides, waits, strict=True):
        _senders(axes, side, column.left, top)
    words = _progress(step.certain) or "nothing"
    axes.text(certain.left, middle, words, va="center", fontsize=style.SMALL)
    line = middle + HIGH / 2
    for side, column in zip(step.sides, rest, strict=False):
        if side.window is not None:
            own = [Box(name, _face(name)) for name in side.window]
            gone = [Box(name, EXPIRED, PALE) for name in side.gone]
            _boxes(axes, column.left, line, [*own, *gone])
    _boxes(axes, columns[-1].left, line, [Box(name, _face(name)) for name in step.made])


def _senders(axes: Axes, side: SideLook, left: float, top: float) -> None:
    """Draw the waiting tuples of each sender, followed by the sender's progress."""
    most = 0.0
    for number, sender in enumerate(side.senders):
        y = top - number * _ROW
        if len(side.senders) > 1:
            axes.text(left, y - HIGH / 2, f"s{number}", va="center", fontsize=style.SMALL,
                      color=PALE)  # fmt: skip
        _boxes(axes, left + _SENDER, y, [Box(name, _face(name)) for name in sender.waiting])
        most = max(most, len(sender.waiting) * _TUPLE)
    for number, sender in enumerate(side.senders):
        x = left + _SENDER + most + 0.02 * (most > 0)
        axes.text(x, top - number * _ROW - HIGH / 2, _progress(sender.progress), va="center",
                  fontsize=style.SMALL, color=style.GREY)  # fmt: skip


def _progress(time: str) -> str:
    """Return a progress (the time up to which the input is known) as text."""
    return time if time in ("", "end") else f"< {time}"


def _face(name: str) -> str:
    if " " in name:
        return ROOM
    return NUMBER if name.isdecimal() else LETTER


def _boxes(axes: Axes, left: float, top: float, row: Sequence[Box], marked: bool = False) -> None:
    """Draw boxes side by side, each with a frame."""
    for box in row:
        boxes.node(axes, left, top, [box], marked, _wide(box.label) - _BETWEEN)
        left += _wide(box.label)


# --- grids ----------------------------------------------------------------------------------------


@in_style
def grids(shown: Sequence[GridSnapshot]) -> Picture:
    """Return the assignment of pairs to instances, a panel a grid.

    Parameters
    ----------
    shown : sequence of GridSnapshot
    """
    wide = [
        max((1 + len(each.right)) * _CELL, style.width_of(_copies(each), style.SMALL))
        for each in shown
    ]
    high = max(len(each.left) for each in shown) * _CELL
    apart = 0.25
    width = max(style.WIDE, sum(wide) + apart * (len(shown) - 1) + 2 * MARGIN)
    figure, axes = boxes.board(width, _ABOVE + high + MARGIN)
    # Spread any spare width between the grids.
    apart = (width - 2 * MARGIN - sum(wide)) / max(len(shown) - 1, 1)
    left = MARGIN
    for each, own in zip(shown, wide, strict=True):
        _grid(axes, each, left)
        left += own + apart
    return Picture(figure)


def _grid(axes: Axes, shown: GridSnapshot, left: float) -> None:
    title = f"{shown.instances} instances: {shown.rows} × {shown.columns}"
    boxes.event_label(axes, -0.04, title, left)
    axes.text(left, -0.19, _copies(shown), va="top", fontsize=style.SMALL)
    top = -_ABOVE
    for place, name in enumerate(shown.right):
        _letter(axes, left + (1 + place) * _CELL, top + _CELL, name)
    for row, name in enumerate(shown.left):
        _letter(axes, left, top - row * _CELL, name)
        for place, instances in enumerate(shown.compared[row]):
            x, y = left + (1 + place) * _CELL, top - row * _CELL
            face = COLORS[instances[0] % len(COLORS)] if instances else ROOM
            axes.add_patch(Rectangle((x, y - _CELL), _CELL, _CELL, facecolor=face,
                                     edgecolor="#ffffff", lw=0.4, zorder=2))  # fmt: skip
            _letter(axes, x, y, ",".join(map(str, instances)))


def _copies(shown: GridSnapshot) -> str:
    number, letter = shown.sent
    return f"a number goes to {number}, a letter to {letter}"


def _letter(axes: Axes, x: float, y: float, name: str) -> None:
    axes.text(x + _CELL / 2, y - _CELL / 2 - 0.005, name, ha="center", va="center",
              fontsize=style.SMALL, zorder=3)  # fmt: skip


# --- short runs -----------------------------------------------------------------------------------


@in_style
def throughput_by_instances(runs: Sequence[StrategyRun]) -> Picture:
    """Return the throughput of each strategy, a column a number of instances.

    Parameters
    ----------
    runs : sequence of StrategyRun
    """
    dots = [
        Dot(run.strategy, run.instances, run.throughput_tps, run.valid, run.oversubscribed)
        for run in runs
    ]
    title, axis = "Live: throughput by instances", "Instances of each stage"
    picture = by_column("streamcloud", dots, "t/s", title, "Throughput", axis)
    return Picture(picture.figure, readings.sentence(runs))


@in_style
def lost_by_lag(runs: Sequence[Lost]) -> Picture:
    """Return the share of lost output rows, by the delay of rows between instances.

    Parameters
    ----------
    runs : sequence of Lost
    """
    looks = {run.merger: MERGERS[run.merger] for run in runs}
    keys = [plot.handle_of(look, line=True) for look in looks.values()]
    other = sum(run.other for run in runs)
    lines = [f"of {runs[0].wanted:,} rows that one instance puts out"]
    if other:
        lines.append(f"{other:,} rows came out that it does not")
    title = "Live: what mergers lose where rows come late"
    figure, (axes,) = plot.canvas(style.NARROW, (1, 1), 1.6, title, [keys], [plot.as_one(lines)])
    lags = sorted({run.behind for run in runs})
    panel.categories(axes, [str(each) for each in lags])
    panel.zero_based(axes, max([100 * run.missing / run.wanted for run in runs] + [1.0]))
    panel.label_axis(axes, "Rows lost (%)")
    panel.label_axis(axes, "Rows of a sender that come late, at most", along="x")
    for merger, look in looks.items():
        own = [(lags.index(run.behind), 100 * run.missing / run.wanted)
               for run in runs if run.merger == merger]  # fmt: skip
        axes.plot(*zip(*own, strict=True), color=look.color, ls=look.dash, marker=look.marker,
                  ms=style.MARKER_SIZE, lw=style.LINE_WIDTH, clip_on=False, zorder=2)  # fmt: skip
    return Picture(figure, readings.lost_sentence(runs))
