"""Pictures of an abstract query and of plans for it, side by side, row by row.

A plan is drawn to the right of its query, each operator on the same row as in the query, so that
the cuts of the query are visible. All lengths are in inches from the upper left corner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch, Patch, Rectangle

from experiments.streamcloud.snapshots import (
    PlanDrawn,
    QueryDrawn,
    StageDrawn,
    WayDrawn,
)
from figures import boxes, style
from figures.boxes import MARGIN
from figures.pictures import Picture, in_style
from figures.streamcloud.abstract import (
    LINE,
    SMALL_LINE,
    STATELESS,
    Rows,
    Span,
    draw_query,
    shortened,
)

STATEFUL = style.mixed(style.BLUE, 0.45)
MERGER, BALANCER = style.mixed(style.GREEN, 0.55), style.mixed(style.ORANGE, 0.5)
SUBCLUSTER, PROCESSOR = "#f4f4f4", "#e4e4e4"
# Kinds of channels.
IN, BETWEEN, OUT = "in", "between", "out"
# Up to this many instances are all drawn; of more the first two and the last.
ALL_DRAWN = 4
# Lanes of at least this many inches are wide; a narrower lane has room for one instance fewer.
ROOMY = 1.1
# Inches: width of the query's column next to one plan (alone, narrow) and to several; the gap
# between columns.
_QUERY_ALONE, _QUERY_NARROW, _QUERY_WIDE, _BETWEEN = 3.0, 1.58, 1.9, 0.12
# An operator in an instance, the margin around it, a merger or balancer, the frame around an
# instance; the letters at the left of the instances of a stage; the maximum width of an instance.
_SQUARE, _AROUND, _BAND, _FRAME, _LABEL, _WIDE = 0.11, 0.03, 0.07, 0.045, 0.66, 0.2
_TITLE = 3 * LINE
_LEGEND = 0.17


class _Slot(NamedTuple):
    """Number and middle of a drawn instance; the number None stands for those left out."""

    number: int | None
    x: float


@in_style
def query(drawn: QueryDrawn) -> Picture:
    """Return the picture of an abstract query: operators, and the streams between them.

    Parameters
    ----------
    drawn : QueryDrawn
    """
    rows = Rows(drawn, _QUERY_ALONE)
    figure, axes = boxes.board(style.NARROW, LINE + 0.08 + rows.height + MARGIN)
    axes.text(MARGIN, -MARGIN, f"Query {drawn.name}", va="top", fontweight="bold")
    left = (style.NARROW - _QUERY_ALONE) / 2
    draw_query(axes, rows, left, -LINE - 0.08)
    return Picture(figure)


@in_style
def cut(plans: Sequence[PlanDrawn]) -> Picture:
    """Return the picture of an abstract query next to the plans that strategies make of it.

    Parameters
    ----------
    plans : sequence of PlanDrawn
        Of one query; a single plan gives a picture of one column's width.
    """
    drawn = plans[0].query
    narrow = len(plans) == 1
    width = style.NARROW if narrow else style.WIDE
    own = _QUERY_NARROW if narrow else _QUERY_WIDE
    rows = Rows(drawn, own)
    keys = _rows_of_key(_key(plans), width - 2 * MARGIN)
    above = len(keys) * _LEGEND + 0.04
    figure, axes = boxes.board(width, above + _TITLE + rows.height + MARGIN)
    _legend(figure, keys)
    axes.text(MARGIN, -above, "Abstract query", va="top", fontweight="bold")
    name = shortened(drawn.name, own, style.FONT_SIZE)
    axes.text(MARGIN, -above - LINE, name, va="top", fontsize=style.FONT_SIZE)
    draw_query(axes, rows, MARGIN, -above - _TITLE)
    column = (width - MARGIN - own - len(plans) * _BETWEEN - 0.02) / len(plans)
    for place, plan in enumerate(plans):
        left = MARGIN + own + _BETWEEN + place * (column + _BETWEEN)
        _title(axes, plan, left, -above)
        _Column(plan, rows, Span(left, left + column), -above - _TITLE).draw(axes)
    return Picture(figure)


# --- a plan ---------------------------------------------------------------------------------------


def _title(axes: Axes, plan: PlanDrawn, left: float, top: float) -> None:
    words = style.look_of("streamcloud", plan.strategy).title
    axes.text(left, top, words, va="top", fontweight="bold")
    told = (_count(plan.processors, "processor"),
            f"{_count(plan.hops, 'hop')}, {_count(plan.channels, 'channel')}")  # fmt: skip
    for number, line in enumerate(told):
        axes.text(left, top - LINE - 0.01 - number * SMALL_LINE, line, va="top",
                  fontsize=style.SMALL)  # fmt: skip


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass
class _Column:
    """One plan next to the query.

    Attributes
    ----------
    plan : PlanDrawn
    rows : Rows
    across : Span
        Inches.
    top : float
        Of the query.
    """

    plan: PlanDrawn
    rows: Rows
    across: Span
    top: float

    def __post_init__(self) -> None:
        self._lanes = dict(_lanes(self.plan.stages, self.rows.of))
        self._slots = {each.name: self._slots_of(each) for each in self.plan.stages}

    def draw(self, axes: Axes) -> None:
        """Draw channels, subclusters, and the instances in them."""
        if self.plan.shared:
            self._draw_processors(axes)
        for stage in self.plan.stages:
            self._draw_stage(axes, stage)
        for receiver in dict.fromkeys(each.receiver for each in self.plan.ways if each.kind != OUT):
            self._draw_into(axes, receiver)
        for each in self.plan.ways:
            if each.kind == OUT:
                self._draw_out(axes, each)

    # --- positions ------------------------------------------------------------------------------

    def _lane(self, stage: StageDrawn) -> Span:
        number, count = self._lanes[stage.name]
        wide = self.across.size / count
        return Span(self.across.first + number * wide, self.across.first + (number + 1) * wide)

    @staticmethod
    def _beside(lane: Span) -> float:
        """Return the width of a lane that is reserved for letters."""
        return min(_LABEL, 0.45 * lane.size)

    @staticmethod
    def _most(lane: Span) -> int:
        """Return the number of instances that fit a lane."""
        return ALL_DRAWN if lane.size > ROOMY else ALL_DRAWN - 1

    def _slots_of(self, stage: StageDrawn) -> list[_Slot]:
        lane = self._lane(stage)
        first = lane.first + self._beside(lane)
        room = lane.last - _FRAME - first
        most = self._most(lane)
        numbers: list[int | None] = list(range(stage.instances))
        if stage.instances > most:
            numbers = [*range(most - 2), None, stage.instances - 1]
        # All stages use the same columns for instances, whatever their number of instances.
        places = max(len(numbers), min(most, max(e.instances for e in self.plan.stages)))
        return [_Slot(each, first + (n + 0.5) * room / places) for n, each in enumerate(numbers)]

    def _wide(self, stage: StageDrawn) -> float:
        lane = self._lane(stage)
        room = lane.last - _FRAME - lane.first - self._beside(lane)
        return min(_WIDE, room / self._most(lane) - 0.04)

    def _y(self, name: str) -> float:
        return self.top + self.rows.middles[self.rows.of[name]]

    def _down(self, stage: StageDrawn) -> Span:
        """Return the upper and the lower end of the instances of a stage."""
        own = [self._y(each) for each in (*stage.unions, *stage.operators, *stage.filters)]
        half = _SQUARE / 2 + _AROUND + _BAND
        return Span(max(own) + half, min(own) - half)

    # --- drawing --------------------------------------------------------------------------------

    def _draw_processors(self, axes: Axes) -> None:
        """Draw the one subcluster of all stages, and each processor through them."""
        spans = [self._down(each) for each in self.plan.stages]
        down = Span(max(s.first for s in spans), min(s.last for s in spans))
        _frame(axes, self.across, Span(down.first + _FRAME, down.last - _FRAME))
        # If stages stand side by side, no stage is below another.
        below = all(count == 1 for _, count in self._lanes.values())
        widest = max(self.plan.stages, key=lambda each: len(self._slots[each.name]))
        wide = self._wide(widest) + 0.05
        for slot in self._slots[widest.name]:
            if slot.number is not None and below:
                axes.add_patch(Rectangle((slot.x - wide / 2, down.last - 0.02), wide,
                                         down.first - down.last + 0.04, facecolor=PROCESSOR,
                                         edgecolor="none", zorder=1.5))  # fmt: skip

    def _draw_stage(self, axes: Axes, stage: StageDrawn) -> None:
        lane, down = self._lane(stage), self._down(stage)
        if not self.plan.shared:
            _frame(axes, lane, Span(down.first + _FRAME, down.last - _FRAME))
        slots = self._slots[stage.name]
        room = slots[0].x - self._wide(stage) / 2 - lane.first - 0.07
        words = [shortened(stage.name, room, style.SMALL), f"× {stage.instances}"]
        for number, line in enumerate(words):
            y = down.middle + (0.5 - number) * SMALL_LINE
            axes.text(lane.first + 0.05, y, line, va="center", fontsize=style.SMALL, zorder=4)
        for slot in slots:
            if slot.number is None:
                axes.text(slot.x, down.middle, "…", ha="center", va="center", zorder=4)
            else:
                self._draw_instance(axes, stage, slot.x, down)

    def _draw_instance(self, axes: Axes, stage: StageDrawn, x: float, down: Span) -> None:
        wide, half = self._wide(stage), _SQUARE / 2 + _AROUND
        inside = [self._y(each) for each in stage.operators] or [down.middle]
        parts = (
            (down.first, max(inside) + half, MERGER),
            (max(inside) + half, min(inside) - half, "#ffffff"),
            (min(inside) - half, down.last, BALANCER),
        )
        for upper, lower, face in parts:
            axes.add_patch(Rectangle((x - wide / 2, lower), wide, upper - lower, facecolor=face,
                                     edgecolor="none", zorder=2))  # fmt: skip
        axes.add_patch(Rectangle((x - wide / 2, down.last), wide, down.first - down.last,
                                 facecolor="none", edgecolor=style.BLACK, lw=0.6,
                                 zorder=3))  # fmt: skip
        for name in (*stage.unions, *stage.operators, *stage.filters):
            stateful, side = self.rows.operators[name].stateful, min(_SQUARE, wide - 0.04)
            axes.add_patch(Rectangle((x - side / 2, self._y(name) - side / 2), side, side,
                                     facecolor=STATEFUL if stateful else STATELESS,
                                     edgecolor=style.BLACK, lw=0.6, zorder=3))  # fmt: skip

    def _draw_into(self, axes: Axes, receiver: str) -> None:
        """Draw the channels into a stage, and write how many there are between stages."""
        stage = next(each for each in self.plan.stages if each.name == receiver)
        ways = [each for each in self.plan.ways if each.receiver == receiver and each.kind != OUT]
        lane, top = self._lane(stage), self._down(stage).first
        ends = self._ends(stage, top)
        # The streams of each input enter at the right, from a dot.
        for place in range(len({each.sender for each in ways if each.kind == IN})):
            x, y = lane.last - 0.06 - place * 0.12, top + _FRAME + 0.1
            _channels(axes, [(x, y)], ends)
            axes.add_patch(Circle((x, y), 0.028, facecolor=style.BLACK, edgecolor="none", zorder=4))
        between = [each for each in ways if each.kind == BETWEEN]
        for each in dict.fromkeys(way.sender for way in between):
            sender = next(s for s in self.plan.stages if s.name == each)
            _channels(axes, self._ends(sender, self._down(sender).last), ends)
        told = between or ways
        words = [", ".join(dict.fromkeys(each.split for each in told)),
                 f"{sum(each.count for each in told):,} ch."]  # fmt: skip
        room = self._beside(lane) - 0.02
        for number, line in enumerate(words):
            y = top + _FRAME + 0.02 + (1 - number) * 0.1
            axes.text(lane.first + 0.03, y, shortened(line, room, style.SMALL), va="bottom",
                      fontsize=style.SMALL, color=style.GREY, zorder=4)  # fmt: skip

    def _draw_out(self, axes: Axes, way: WayDrawn) -> None:
        """Draw the channels to an output: all instances send to the output's merger."""
        stage = next(each for each in self.plan.stages if each.name == way.sender)
        own = self._slots[stage.name]
        x = (own[0].x + own[-1].x) / 2
        y = self.top + self.rows.middles[self.rows.outputs[way.receiver]] + 0.1
        _channels(axes, self._ends(stage, self._down(stage).last), [(x, y)])
        wide = self._wide(stage)
        axes.add_patch(Rectangle((x - wide / 2, y - _BAND), wide, _BAND, facecolor=MERGER,
                                 edgecolor=style.BLACK, lw=0.6, zorder=3))  # fmt: skip

    def _ends(self, stage: StageDrawn, y: float) -> list[tuple[float, float]]:
        return [(slot.x, y) for slot in self._slots[stage.name] if slot.number is not None]


def _lanes(
    stages: Sequence[StageDrawn], row_of: Mapping[str, int]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield for each stage a lane and the number of lanes of the stages that share its rows."""
    spans = {}
    for stage in stages:
        own = [row_of[each] for each in (*stage.unions, *stage.operators, *stage.filters)]
        spans[stage.name] = (min(own), max(own))
    names = sorted(spans, key=spans.__getitem__)
    while names:
        group = [names.pop(0)]
        while names and spans[names[0]][0] <= max(spans[each][1] for each in group):
            group.append(names.pop(0))
        ends: list[int] = []
        lane_of = {}
        for name in group:
            first, last = spans[name]
            free = next((n for n, end in enumerate(ends) if end < first), len(ends))
            ends[free : free + 1] = [last]
            lane_of[name] = free
        yield from ((name, (lane, len(ends))) for name, lane in lane_of.items())


def _frame(axes: Axes, across: Span, down: Span) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (across.first, down.last), across.last - across.first - 0.01, down.first - down.last,
            boxstyle="round,pad=0,rounding_size=0.04", facecolor=SUBCLUSTER, edgecolor=style.GREY,
            lw=0.6, zorder=1.2,
        )
    )  # fmt: skip


def _channels(
    axes: Axes, senders: Sequence[tuple[float, float]], receivers: Sequence[tuple[float, float]]
) -> None:
    for x, y in senders:
        for to, end in receivers:
            axes.plot((x, to), (y, end), color=style.GREY, lw=0.5, zorder=1.6)


# --- the legend -----------------------------------------------------------------------------------


def _key(plans: Sequence[PlanDrawn]) -> list[Artist]:
    """Return the entries of the legend."""

    def face(color: str, told: str) -> Patch:
        return Patch(facecolor=color, edgecolor=style.BLACK, lw=0.6, label=told)

    kinds = [face(STATEFUL, "stateful operator"), face(STATELESS, "stateless operator"),
             face(MERGER, "merger"), face(BALANCER, "balancer")]  # fmt: skip
    more: list[Artist] = [
        Patch(facecolor=SUBCLUSTER, edgecolor=style.GREY, lw=0.6, label="subcluster")
    ]
    if any(plan.shared for plan in plans):
        more.append(Patch(facecolor=PROCESSOR, edgecolor="none", label="processor"))
    more.append(Line2D([], [], color=style.GREY, lw=0.7, label="channel (ch.)"))
    more.append(Line2D([], [], color=style.BLACK, marker="o", ms=3, ls="", label="stream"))
    return kinds + more


def _rows_of_key(key: Sequence[Artist], room: float) -> list[list[Artist]]:
    """Return the entries of the legend in rows that fit into `room` inches."""
    rows: list[list[Artist]] = [[]]
    used = 0.0
    for each in key:
        wide = 0.26 + style.width_of(each.get_label(), style.SMALL)
        if used + wide > room:
            rows.append([])
            used = 0.0
        rows[-1].append(each)
        used += wide
    return rows


def _legend(figure: Figure, keys: Sequence[Sequence[Artist]]) -> None:
    for row, handles in enumerate(keys):
        top = 1 - (0.03 + row * _LEGEND) / figure.get_figheight()
        figure.legend(handles=list(handles), loc="upper left", ncols=len(handles), frameon=False,
                      handlelength=1.0, handletextpad=0.4, borderaxespad=0.0, borderpad=0.0,
                      columnspacing=0.9,
                      bbox_to_anchor=(MARGIN / figure.get_figwidth(), top))  # fmt: skip
