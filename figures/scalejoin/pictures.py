"""Pictures of a ScaleJoin and of chains of cores at a moment, and of short live runs.

They are made from plain snapshots. Blue is R, orange is S; a thick edge marks the element that a
picture is about.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch, Patch, Rectangle

from experiments.families.gate.snapshots import GateSnapshot
from experiments.scalejoin.snapshots import (
    Arrived,
    ChainSnapshot,
    Core,
    JoinRun,
    JoinSnapshot,
    Pair,
    Thread,
    Visit,
)
from figures import boxes, nodes, stacked_areas, style
from figures.boxes import EXPIRED, HIGH, LINE, MARGIN, MARKED, PALE, ROOM, Box
from figures.pictures import Picture, in_style
from figures.scalejoin import readings
from figures.short_runs import Dot, by_column, left_out

FACES = {"R": style.mixed(style.BLUE, 0.72), "S": style.mixed(style.ORANGE, 0.5)}
NEWEST = style.BLUE
# Inches: of a legend's row, of a thread's name, of the names of windows; from one box with the
# name of a tuple to the next, of a tuple in a gate, of a pair, of a circle, of a thread's row.
_LEGEND, _LEFT, _WINDOW = 0.19, 0.74, 0.26
_CELL, _TUPLE, _PAIR, _RADIUS, _THREAD = 0.19, 0.44, 0.35, 0.055, 0.5
_BETWEEN = 0.03
# The same for a chain: from a row of boxes to the next, the names in a core, gaps, the margin.
_ROW, _NAMED, _APART, _AROUND = 0.23, 0.24, 0.1, 0.07


@in_style
def gate_steps(snapshots: Sequence[GateSnapshot]) -> Picture:
    """Return the first gate after each step.

    Parameters
    ----------
    snapshots : sequence of GateSnapshot
    """
    return nodes.gate_steps(snapshots, style.WIDE, 1)


# --- a ScaleJoin ----------------------------------------------------------------------------------


@in_style
def join_steps(snapshots: Sequence[JoinSnapshot]) -> Picture:
    """Return a ScaleJoin at each of these moments: the gates, and each thread's work on tuples.

    Parameters
    ----------
    snapshots : sequence of JoinSnapshot
    """
    threads = len(snapshots[0].threads)
    sides = {each.name: each.side for snapshot in snapshots for each in snapshot.tuples}
    each_thread = [each for snapshot in snapshots for each in snapshot.threads]
    wide = [_width_of(visit) for each in each_thread for visit in each.visits]
    kept = max(len(window) for each in each_thread for window in (each.r, each.s))
    beside = 0.08 + _WINDOW + kept * _CELL + MARGIN
    column = max([(style.WIDE - _LEFT - beside) / max(len(sides), 1), *wide])
    across = max(int(column // (_PAIR + 0.02)), 1)
    lines = max(_lines_of_pairs(snapshot, across) for snapshot in snapshots)
    height = LINE + 0.32 + threads * _THREAD + lines * (HIGH + 0.03) + 0.16
    top = 2 * _LEGEND + 0.06
    figure, axes = boxes.board(
        max(style.WIDE, _LEFT + len(sides) * column + beside), top + len(snapshots) * height
    )
    _legend(figure)
    for number, snapshot in enumerate(snapshots):
        _join(axes, snapshot, -top - number * height, column, across, sides)
    return Picture(figure)


def _width_of(visit: Visit) -> float:
    return max(len(visit.compared), 2 * len(visit.removed) + 1) * _CELL + 0.06


def _lines_of_pairs(snapshot: JoinSnapshot, across: int) -> int:
    most = max((len(own) for own in _by_later(snapshot).values()), default=0)
    return max(-(-most // across), 1)


def _by_later(snapshot: JoinSnapshot) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {}
    for pair in snapshot.pairs:
        found.setdefault(pair.later, []).append(pair)
    return found


def _legend(figure: Figure) -> None:
    circle = {"marker": "o", "ls": "", "ms": 7, "mec": style.BLACK, "mew": 0.8}
    kept = [Line2D([], [], mfc=style.BLACK, label="processed and stored", **circle),
            Line2D([], [], mfc=ROOM, label="processed", **circle)]  # fmt: skip
    kinds = [Patch(facecolor=face, edgecolor=style.GREY, lw=0.4, label=side)
             for side, face in FACES.items()]  # fmt: skip
    done = [
        Patch(facecolor=ROOM, edgecolor=style.GREY, lw=0.6, label="below: compared with"),
        Patch(facecolor=ROOM, edgecolor=MARKED, lw=1.6, label="paired with"),
        Patch(facecolor=EXPIRED, edgecolor=style.GREY, lw=0.4, label="leaves the window"),
    ]
    states = [
        Patch(facecolor=ROOM, edgecolor=edge, ls=line, lw=thick, label=f"in a gate: {label}")
        for state, label in (("passed", "passed on"), ("ready", "ready"), ("waiting", "waits"))
        for _, edge, line, thick in [nodes.BOXES[state]]
    ]
    for row, handles in enumerate(((*kept, *done), (*kinds, *states))):
        top = 1 - (0.02 + row * _LEGEND) / figure.get_figheight()
        figure.legend(handles=handles, loc="upper left", ncols=len(handles), frameon=False,
                      handlelength=1.2, borderaxespad=0.0, borderpad=0.2, columnspacing=1.2,
                      bbox_to_anchor=(0.0, top))  # fmt: skip


def _join(
    axes: Axes,
    snapshot: JoinSnapshot,
    top: float,
    column: float,
    across: int,
    sides: dict[str, str],
) -> None:
    """Draw a join: a column a tuple, the first gate, a row a thread, the second gate."""
    boxes.event_label(axes, top, snapshot.event)
    middles = {each: _LEFT + (place + 0.5) * column for place, each in enumerate(sides)}
    y = top - LINE - 0.04
    boxes.side_label(axes, y, "SG_in")
    for each in snapshot.tuples:
        _in_gate(axes, middles[each.name] - _TUPLE / 2, y, _TUPLE, each)
    for number, thread in enumerate(snapshot.threads):
        own = y - 0.32 - number * _THREAD
        _thread(axes, thread, number, own, middles, sides)
        _windows(axes, thread, _LEFT + len(sides) * column + 0.08, own)
    y -= 0.32 + len(snapshot.threads) * _THREAD
    boxes.side_label(axes, y, "SG_out")
    for later, pairs in _by_later(snapshot).items():
        for place, pair in enumerate(pairs):
            line, at = divmod(place, across)
            own = min(len(pairs) - line * across, across)
            left = middles[later] + (at - own / 2) * (_PAIR + 0.02) + 0.01
            _in_gate(axes, left, y - line * (HIGH + 0.03), _PAIR, pair)


def _in_gate(axes: Axes, left: float, top: float, wide: float, shown: Arrived | Pair) -> None:
    """Draw a tuple or a pair in a gate; the edge shows the state."""
    if isinstance(shown, Arrived):
        label, face = f"{shown.name} ({shown.timestamp})", FACES[shown.side]
    else:
        label, face = f"{shown.earlier} {shown.later}", ROOM
    _, edge, line, thick = nodes.BOXES[shown.state]
    axes.add_patch(Rectangle((left, top - HIGH), wide, HIGH, facecolor=face, edgecolor=edge,
                             ls=line, lw=thick, zorder=2))  # fmt: skip
    axes.text(left + wide / 2, top - HIGH / 2 - 0.005, label, ha="center", va="center",
              fontsize=style.SMALL, zorder=4)  # fmt: skip


def _thread(
    axes: Axes,
    thread: Thread,
    number: int,
    top: float,
    middles: dict[str, float],
    sides: dict[str, str],
) -> None:
    """Draw the work of a thread on each tuple."""
    words = f"thread {number}\n{thread.comparisons} compared"
    axes.text(MARGIN, top - 0.17, words, va="center", fontsize=style.SMALL, linespacing=1.05)
    y = top - _RADIUS - 0.02
    ends = [middles[visit.name] for visit in thread.visits]
    if ends:
        boxes.line(axes, (ends[0], ends[-1]), (y, y), marked=False)
    for visit in thread.visits:
        x = middles[visit.name]
        axes.add_patch(Circle((x, y), _RADIUS, facecolor=style.BLACK if visit.stored else ROOM,
                              edgecolor=style.BLACK, lw=0.8, zorder=3))  # fmt: skip
        gone = [Box(name, EXPIRED, PALE) for name in visit.removed]
        _row(axes, x + 0.1, y + HIGH / 2, gone)
        met = [Box(name, FACES[sides[name]]) for name in visit.compared]
        paired = [name in visit.matched for name in visit.compared]
        _row(axes, _centred(x, met), y - 0.115, met, paired)


def _windows(axes: Axes, thread: Thread, left: float, top: float) -> None:
    """Draw the windows of a thread."""
    for row, (name, kept) in enumerate((("R", thread.r), ("S", thread.s))):
        at = top - row * (HIGH + 0.03)
        axes.text(left, at - HIGH / 2, f"W_{name}", va="center", fontsize=style.SMALL)
        _row(axes, left + _WINDOW, at, [Box(each, FACES[name]) for each in kept])


def _centred(middle: float, row: Sequence[Box]) -> float:
    """Return the left end of a row of boxes centred on `middle`."""
    return middle - (len(row) * _CELL - _BETWEEN) / 2


def _row(
    axes: Axes, left: float, top: float, row: Sequence[Box], marked: Sequence[bool] = ()
) -> None:
    """Draw boxes side by side, each with a frame."""
    for place, box in enumerate(row):
        pointed = bool(marked) and marked[place]
        boxes.node(axes, left + place * _CELL, top, [box], pointed, _CELL - _BETWEEN)


# --- chains of cores ------------------------------------------------------------------------------


@in_style
def chain_steps(snapshots: Sequence[ChainSnapshot]) -> Picture:
    """Return chains of cores at these moments: the tuples in each core, and those in flight.

    Parameters
    ----------
    snapshots : sequence of ChainSnapshot
    """
    cores = [core for snapshot in snapshots for core in snapshot.cores]
    most = max(len(row) for core in cores for row in (core.r, core.s, core.handed_on))
    in_flight = max(len(row) for core in cores for row in (core.from_left, core.from_right))
    length = len(snapshots[0].cores)
    between = max(in_flight, 1) * _CELL + 2 * _APART
    room = most * _CELL + _NAMED + _AROUND
    width = max(style.WIDE, 2 * MARGIN + length * (room + between) + between)
    # Cores are as wide as the figure allows.
    room = (width - 2 * MARGIN - between) / length - between
    heights = [LINE + 0.18 + _height_of(snapshot) for snapshot in snapshots]
    figure, axes = boxes.board(width, 0.26 + sum(heights))
    faces = {**FACES, "the newest of R": NEWEST, "handed on, not acknowledged": EXPIRED}
    boxes.legend(figure, faces, "met by it")
    for number, snapshot in enumerate(snapshots):
        top = -0.26 - sum(heights[:number])
        title = style.look_of("theta_join", snapshot.variant).title
        event = f"{title}, {snapshot.event}: R's tuple {snapshot.newest} has met"
        event += f" {len(snapshot.met)} of the {snapshot.before} in the window of S"
        boxes.event_label(axes, top, event)
        for place, core in enumerate(snapshot.cores):
            left = MARGIN + between + place * (room + between)
            _core(axes, snapshot, core, place, left, top - LINE - 0.04, room)
            _ways(axes, snapshot, place, left, top - LINE - 0.04, room, between)
    return Picture(figure)


def _height_of(snapshot: ChainSnapshot) -> float:
    """Return the height of the cores: a third row is needed if something was handed on."""
    return LINE + (2 + any(core.handed_on for core in snapshot.cores)) * _ROW + 0.03


def _core(
    axes: Axes,
    snapshot: ChainSnapshot,
    core: Core,
    number: int,
    left: float,
    top: float,
    room: float,
) -> None:
    """Draw a core: R's newest tuples on the left, S's on the right, in order of arrival."""
    high = _height_of(snapshot)
    axes.add_patch(
        FancyBboxPatch(
            (left, top - high), room, high, boxstyle="round,pad=0,rounding_size=0.05",
            facecolor="none", edgecolor=style.GREY, lw=0.6, zorder=1,
        )
    )  # fmt: skip
    axes.text(left + room / 2, top - 0.03, f"core {number}", ha="center", va="top",
              fontsize=style.SMALL)  # fmt: skip
    rows = (
        ("R", [_of_r(snapshot, each) for each in reversed(core.r)], []),
        ("S", [Box(str(each), FACES["S"]) for each in core.s],
         [each in snapshot.met for each in core.s]),
        ("sent", [Box(str(each), EXPIRED, PALE) for each in core.handed_on], []),
    )  # fmt: skip
    for row, (name, own, marked) in enumerate(rows):
        y = top - LINE - row * _ROW
        if own:
            axes.text(left + _AROUND, y - HIGH / 2, name, va="center", fontsize=style.SMALL)
        _row(axes, _centred(left + (_NAMED + room) / 2, own), y, own, marked)


def _of_r(snapshot: ChainSnapshot, number: int) -> Box:
    newest = number == snapshot.newest
    return Box(str(number), NEWEST if newest else FACES["R"], ROOM if newest else style.BLACK)


def _ways(
    axes: Axes,
    snapshot: ChainSnapshot,
    place: int,
    left: float,
    top: float,
    room: float,
    between: float,
) -> None:
    """Draw the channels of R and of S into a core, with the tuples in flight."""
    core = snapshot.cores[place]
    right, arrow = left + room, {"arrowstyle": "->", "lw": 0.7, "color": style.GREY,
                                 "shrinkA": 0, "shrinkB": 0}  # fmt: skip
    ways = (
        # The tuple sent first is next to the core.
        (left - between, left, top - LINE, [_of_r(snapshot, n) for n in reversed(core.from_left)]),
        (right + between, right, top - LINE - _ROW,
         [Box(str(n), FACES["S"]) for n in core.from_right]),
    )  # fmt: skip
    for begin, end, y, own in ways:
        axes.annotate("", xy=(end, y - HIGH / 2), xytext=(begin, y - HIGH / 2), arrowprops=arrow,
                      zorder=1)  # fmt: skip
        _row(axes, _centred((begin + end) / 2, own), y, own)


# --- short runs -----------------------------------------------------------------------------------


@in_style
def comparisons_by_threads(runs: Sequence[JoinRun]) -> Picture:
    """Return the comparisons a second of each join, a column a number of threads.

    Parameters
    ----------
    runs : sequence of JoinRun
    """
    dots = [
        Dot(run.variant, run.threads, run.comparisons_ps, run.valid, run.oversubscribed)
        for run in runs
    ]
    title, axis = "Live: comparisons by processing threads", "Processing threads"
    picture = by_column("theta_join", dots, "c/s", title, "Comparisons", axis)
    return Picture(picture.figure, readings.sentence(runs))


@in_style
def work_of_threads(runs: Sequence[JoinRun]) -> Picture:
    """Return the distribution of comparisons over threads, a panel a join.

    Parameters
    ----------
    runs : sequence of JoinRun
        One run for each join.
    """
    valid = [run for run in runs if run.valid]
    looks = [style.look_of("theta_join", run.variant) for run in valid]
    parts = {look.title: run.shares for look, run in zip(looks, valid, strict=True)}
    lines = ["comparisons of each processing thread in a run of an instant", *left_out(runs)]
    colors, labels = [look.color for look in looks], ("Processing thread", "Share of comparisons")
    title = "Live: who compares how much"
    figure = stacked_areas.draw(title, lines, parts, colors, labels)
    return Picture(figure, readings.work_sentence(runs))
