"""An abstract query: the operators row by row, and the streams between them.

All lengths are in inches from the upper left corner; y below it is negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from experiments.streamcloud.snapshots import OperatorBox, QueryDrawn
from figures import style

INPUT = "input"
STATEFUL, STATELESS = style.mixed(style.BLUE, 0.8), "#ffffff"
# Heights of a row of letters and of a row of small ones; the minimum distance between rows of the
# query; the length of an arrow; the height of an input or output; the width of an input that is
# next to an operator.
LINE, SMALL_LINE = 0.13, 0.112
_PITCH, _ARROW, _END, _INPUT = 0.63, 0.23, 0.3, 0.52


class Span(NamedTuple):
    """An interval from left to right, or from top to bottom; down is negative."""

    first: float
    last: float

    @property
    def middle(self) -> float:
        """The middle of the interval."""
        return (self.first + self.last) / 2

    @property
    def size(self) -> float:
        """The length of the interval."""
        return abs(self.last - self.first)

    def moved(self, by: float) -> Span:
        """Return the interval moved by so many inches."""
        return Span(self.first + by, self.last + by)


class Rows:
    """Rows of a query: contents, heights and middles.

    Attributes
    ----------
    of : dict of str to int
        Row by name of an operator or input.
    middles : list of float
        Middle of each row, below the top of the query.
    height : float
    """

    def __init__(self, drawn: QueryDrawn, width: float) -> None:
        self.drawn, self.width = drawn, width
        self.operators = {each.name: each for each in drawn.operators}
        self.of: dict[str, int] = {}
        takers: dict[str, list[int]] = {}
        for each in drawn.operators:
            if each.kind != INPUT:
                row = 1 + max(self.of.get(taken.name, 0) for taken in each.taken)
                self.of[each.name] = row
                for taken in each.taken:
                    takers.setdefault(taken.name, []).append(row)
        self.of |= {
            each.name: min(takers[each.name]) - 1 for each in drawn.operators if each.kind == INPUT
        }
        self.outputs = {name: 1 + self.of[taken.name] for name, taken in drawn.outputs}
        self.places = self._placed()
        self.lines = {each.name: _lines_of(each, self._room(each.name)) for each in drawn.operators}
        self.middles = self._middles()
        self.height = _END / 2 - self.middles[-1]

    def _placed(self) -> dict[str, Span]:
        """Return the interval of each operator and input, from the left edge of the query."""
        found = {}
        for row in range(max(self.of.values()) + 1):
            own = [each for each in self.drawn.operators if self.of[each.name] == row]
            operators = [each.name for each in own if each.kind != INPUT]
            inputs = [each.name for each in own if each.kind == INPUT]
            aside = _INPUT * len(inputs) if operators else self.width
            for names, left, room in (
                (operators, 0.0, self.width - aside),
                (inputs, self.width - aside, aside),
            ):
                for place, name in enumerate(names):
                    wide = room / len(names)
                    found[name] = Span(left + place * wide, left + (place + 1) * wide)
        return found

    def _room(self, name: str) -> float:
        return self.places[name].size - 0.1

    def height_of(self, name: str) -> float:
        """Return the height of an operator's box."""
        if self.operators[name].kind == INPUT:
            return _END
        return LINE + (len(self.lines[name]) - 1) * SMALL_LINE + 0.07

    def _middles(self) -> list[float]:
        last = max(self.outputs.values())
        heights = [_END] * (last + 1)
        for name, row in self.of.items():
            heights[row] = max(heights[row], self.height_of(name))
        found = [-heights[0] / 2]
        for row, (before, own) in enumerate(pairwise(heights), start=1):
            apart = _PITCH if 1 < row < last else _PITCH - 0.1
            found.append(found[-1] - max(apart, (before + own) / 2 + _ARROW))
        return found


def _lines_of(operator: OperatorBox, room: float) -> list[str]:
    """Return the text lines in the box of an operator, or at an input."""
    if operator.kind == INPUT:
        return [shortened(operator.name, room + 0.08, style.SMALL)]
    first = shortened(operator.name, room, style.FONT_SIZE, bold=True)
    return [first, *style.wrapped(operator.text, room, style.SMALL)]


def draw_query(axes: Axes, rows: Rows, left: float, top: float) -> None:
    """Draw boxes for operators, and arrows with the columns of the streams."""
    arrow = {"arrowstyle": "-|>", "lw": 0.7, "color": style.BLACK, "shrinkA": 0, "shrinkB": 0,
             "mutation_scale": 6}  # fmt: skip
    for each in rows.drawn.operators:
        _draw_operator(axes, rows, each, left, top)
        span, count = rows.places[each.name], len(each.taken)
        for number, taken in enumerate(each.taken):
            to = span.first + (number + 1) / (count + 1) * span.size
            begin, end = rows.of[taken.name], rows.of[each.name]
            down = top + rows.middles[end] + rows.height_of(each.name) / 2
            up = top + rows.middles[begin] - rows.height_of(taken.name) / 2
            source = rows.places[taken.name]
            x = min(max(to, source.first + 0.1), source.last - 0.1)
            axes.annotate("", (left + to, down), (left + x, up), arrowprops=arrow, zorder=1)
            if rows.operators[taken.name].kind != INPUT:
                room = Span(max(source.first, span.first), min(source.last, span.last))
                _flows(axes, taken.columns, left + x, room.moved(left), up)
    for name, taken in rows.drawn.outputs:
        span = rows.places[taken.name]
        x = left + span.middle
        up = top + rows.middles[rows.of[taken.name]] - rows.height_of(taken.name) / 2
        down = top + rows.middles[rows.outputs[name]] + 0.06
        axes.annotate("", (x, down), (x, up), arrowprops=arrow, zorder=1)
        _flows(axes, taken.columns, x, span.moved(left), up)
        axes.text(x, down - 0.02, shortened(name, rows.width, style.SMALL), ha="center", va="top",
                  fontsize=style.SMALL)  # fmt: skip


def _flows(axes: Axes, columns: Sequence[str], x: float, room: Span, up: float) -> None:
    """Write the columns of a stream next to the upper end of the arrow."""
    words = ", ".join(columns[1:])
    wide, beside = style.width_of(words, style.SMALL), 0.05
    before, behind = x - room.first - beside, room.last - x - beside
    to_the_left = behind < wide and before > behind
    axes.text(x - beside if to_the_left else x + beside, up - 0.03,
              shortened(words, before if to_the_left else behind, style.SMALL), va="top",
              ha="right" if to_the_left else "left", fontsize=style.SMALL,
              color=style.GREY)  # fmt: skip


def _draw_operator(axes: Axes, rows: Rows, operator: OperatorBox, left: float, top: float) -> None:
    span, height = rows.places[operator.name], rows.height_of(operator.name)
    middle, lines = top + rows.middles[rows.of[operator.name]], rows.lines[operator.name]
    x = left + span.middle
    if operator.kind == INPUT:
        axes.text(x, middle - 0.04, lines[0], ha="center", va="center", fontsize=style.SMALL)
        return
    axes.add_patch(
        FancyBboxPatch(
            (left + span.first + 0.01, middle - height / 2), span.last - span.first - 0.02, height,
            boxstyle="round,pad=0,rounding_size=0.04", lw=0.7, edgecolor=style.BLACK, zorder=2,
            facecolor=STATEFUL if operator.stateful else STATELESS,
        )
    )  # fmt: skip
    y = middle + height / 2 - 0.04
    axes.text(x, y, lines[0], ha="center", va="top", fontweight="bold", zorder=3)
    for number, line in enumerate(lines[1:]):
        axes.text(x, y - LINE - number * SMALL_LINE, line, ha="center", va="top",
                  fontsize=style.SMALL, zorder=3)  # fmt: skip


def shortened(text: str, width: float, size: float, bold: bool = False) -> str:
    """Return a text, shortened to fit `width`."""
    if style.width_of(text, size, bold) <= width:
        return text
    while text and style.width_of(f"{text}…", size, bold) > width:
        text = text[:-1]
    return f"{text.rstrip(' ,')}…"
