"""Pictures of a T-Gate and a W-Hive step by step, and of short live runs, from plain snapshots.

Nodes stand in the order of level 0 and are as high as the levels that they are on; a link is an
arrow on its level. Colour says what a node is waiting for, and so does its edge: dashed while it
waits, thick when it may be taken, thin and grey when it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Patch

from experiments.multiway_aggregation.snapshots import GateSnapshot, HiveSnapshot, LiveRun
from figures import marks, panel, plot, style
from figures.pictures import Picture, in_style

# State of a node to its face, its edge, the line of the edge and its width.
BOXES = {
    "passed": ("#f0f0f0", style.GREY, "-", 0.5),
    "out": ("#f0f0f0", style.GREY, "-", 0.5),
    "ready": ("#c5e8dc", style.GREEN, "-", 1.6),
    "waiting": ("#ffffff", style.BLUE, "--", 0.9),
    "open": ("#ffffff", style.BLUE, "--", 0.9),
}
TITLES = {
    "passed": "passed by the reader, or no tuple",
    "ready": "ready",
    "waiting": "waits: its source may be behind",
    "out": "put out",
    "open": "may still get tuples",
}
COLUMNS = 2
_WIDTH, _HEIGHT, _LEVEL = 0.62, 0.7, 0.66  # of a box, in nodes; of a level above another


@in_style
def gate_steps(snapshots: Sequence[GateSnapshot]) -> Picture:
    """Return a T-Gate after each step: nodes, levels, ``written`` of each source, the head.

    Parameters
    ----------
    snapshots : sequence of GateSnapshot
    """
    most = max(len(snapshot.nodes) for snapshot in snapshots)
    figure, panels = _panels(snapshots, most, ("passed", "ready", "waiting"))
    for number, (axes, snapshot) in enumerate(zip(panels, snapshots, strict=True)):
        nodes = snapshot.nodes
        for place, node in enumerate(nodes):
            _box(axes, place, node.label, node.under, node.height, node.state)
        _links(axes, [node.height for node in nodes], snapshot.levels)
        _pointer(axes, snapshot.head, "head", style.VERMILLION, -0.75)
        for place in sorted(set(snapshot.written.values())):
            names = [name for name, at in snapshot.written.items() if at == place]
            _pointer(axes, place, f"written {', '.join(names)}", style.BLUE, -1.15)
        _told(axes, number, snapshot.told, snapshot.delivered, "released: ")
    return Picture(figure)


@in_style
def hive_steps(snapshots: Sequence[HiveSnapshot]) -> Picture:
    """Return a W-Hive after each step: winsets, levels, both heads, ``written`` of each thread.

    Parameters
    ----------
    snapshots : sequence of HiveSnapshot
    """
    most = max(len(snapshot.winsets) for snapshot in snapshots) + 1
    figure, panels = _panels(snapshots, most, ("out", "ready", "open"), row=1.75)
    for number, (axes, snapshot) in enumerate(zip(panels, snapshots, strict=True)):
        winsets = snapshot.winsets
        for place, winset in enumerate(winsets):
            span = "" if winset.start is None else f"[{winset.start}, {winset.end})"
            counts = ", ".join(f"{key} {n}" for key, n in winset.windows.items())
            under = f"{span}\n{counts}" if counts else span
            _box(axes, place, winset.label, under, winset.height, winset.state)
        _links(axes, [winset.height for winset in winsets], snapshot.levels)
        if snapshot.read_head == snapshot.insert_head:
            _pointer(axes, snapshot.read_head, "both heads", style.VERMILLION, -0.75)
        else:
            _pointer(axes, snapshot.read_head, "read head", style.VERMILLION, -0.75)
            _pointer(axes, snapshot.insert_head, "insertion head", style.VERMILLION, -0.75)
        _threads(axes, snapshot)
        _told(axes, number, snapshot.told, snapshot.rows, "put out: ")
    return Picture(figure)


def _threads(axes: Axes, snapshot: HiveSnapshot) -> None:
    """Point from each thread to the first winset of its last tuple."""
    places = {winset.label: place for place, winset in enumerate(snapshot.winsets)}
    where: dict[int, list[str]] = {}
    absent = []
    for name, number in snapshot.written.items():
        place = places.get(f"w{number}")
        if place is None:
            absent.append(f"{name} {'not begun' if number is None else 'ended'}")
        else:
            where.setdefault(place, []).append(name)
    for place, names in where.items():
        _pointer(axes, place, f"written {', '.join(names)}", style.BLUE, -1.15)
    if absent:
        axes.text(len(places) - 0.4, 0.0, "\n".join(absent), va="center", fontsize=style.SMALL,
                  color=style.BLUE)  # fmt: skip


def _panels(
    snapshots: Sequence[GateSnapshot | HiveSnapshot],
    most: int,
    states: Sequence[str],
    row: float = 1.6,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel a snapshot, `COLUMNS` beside each other, and its legend."""
    rows = -(-len(snapshots) // COLUMNS)
    height = 0.35 + rows * row
    figure = Figure(figsize=(5.2 * COLUMNS, height))
    panels = []
    for place, snapshot in enumerate(snapshots):
        down, across = divmod(place, COLUMNS)
        bottom = 1 - (0.35 + (down + 1) * row) / height
        box = (0.01 + across / COLUMNS, bottom, 0.97 / COLUMNS, 0.97 * row / height)
        axes = figure.add_axes(box)
        axes.set_xlim(-0.6, max(most, 6) - 0.4)
        axes.set_ylim(-1.45, 0.5 + snapshot.levels * _LEVEL)
        axes.axis("off")
        panels.append(axes)
    handles = [
        Patch(facecolor=face, edgecolor=edge, ls=line, lw=width, label=TITLES[state])
        for state in states
        for face, edge, line, width in [BOXES[state]]
    ]
    figure.legend(handles=handles, loc="upper left", ncols=len(states), frameon=False,
                  fontsize=style.FONT_SIZE)  # fmt: skip
    return figure, panels


def _box(axes: Axes, place: int, label: str, under: str, height: int, state: str) -> None:
    face, edge, line, width = BOXES[state]
    top = (height - 1) * _LEVEL + _HEIGHT / 2
    corner = (place - _WIDTH / 2, -_HEIGHT / 2)
    style_of = "round,pad=0,rounding_size=0.08"
    axes.add_patch(
        FancyBboxPatch(
            corner, _WIDTH, top + _HEIGHT / 2, boxstyle=style_of, facecolor=face, edgecolor=edge,
            ls=line, lw=width, zorder=2,
        )
    )  # fmt: skip
    text = f"{label}\n{under}" if under else label
    lines = text.count("\n")
    size = style.SMALL if lines > 1 else style.FONT_SIZE - 1
    axes.text(place, 0.0, text, ha="center", va="center", fontsize=size - 0.5 * (lines > 1),
              zorder=3, linespacing=1.05)  # fmt: skip


def _links(axes: Axes, heights: Sequence[int], levels: int) -> None:
    """Draw an arrow on each level from a node to the next one that is as high."""
    for level in range(levels):
        places = [place for place, height in enumerate(heights) if height > level]
        for one, other in zip(places, places[1:], strict=False):
            y = level * _LEVEL
            axes.annotate(
                "",
                xy=(other - _WIDTH / 2, y),
                xytext=(one + _WIDTH / 2, y),
                arrowprops={"arrowstyle": "->", "lw": 0.7, "color": style.BLACK, "shrinkA": 0,
                            "shrinkB": 0},
                zorder=1,
            )  # fmt: skip


def _pointer(axes: Axes, place: int, label: str, color: str, y: float) -> None:
    axes.annotate(
        label,
        xy=(place, -_HEIGHT / 2),
        xytext=(place, y),
        ha="center",
        va="center",
        color=color,
        fontsize=style.SMALL,
        arrowprops={"arrowstyle": "->", "lw": 0.6, "color": color, "shrinkA": 1, "shrinkB": 1},
        zorder=0,
    )


def _told(axes: Axes, number: int, told: str, taken: Sequence[str], word: str) -> None:
    text = f"{number}. {told}{f'; {word}' if taken else ''}{', '.join(taken)}"
    axes.text(-0.35, axes.get_ylim()[1], text, va="top", fontsize=style.FONT_SIZE)


@in_style
def live_runs(runs: Sequence[LiveRun]) -> Picture:
    """Return the throughput of each live run as a dot, one column a variant.

    Parameters
    ----------
    runs : sequence of LiveRun
    """
    valid = [run for run in runs if run.valid]
    columns = list(dict.fromkeys(run.variant for run in runs))
    crowded = any(run.threads > run.cores for run in runs)
    lines = [f"{len(runs)} runs, by turns; {runs[0].cores} cores, {runs[0].threads} threads"]
    if len(valid) < len(runs):
        lines.append(f"{len(runs) - len(valid)} of {len(runs)} runs are invalid and not drawn")
    if crowded:
        lines.append("grey: more threads than cores")
    titles = [style.look_of("gate", each).title for each in columns]
    names = panel.category_names(titles, style.NARROW - plot.LEFT - plot.RIGHT)
    figure, (axes,) = plot.canvas(style.NARROW, (1, 1), 1.8, "Live: sorting alone", [], lines,
                                  below=panel.below_of(names, label=False))  # fmt: skip
    panel.categories(axes, names)
    if crowded:
        axes.set_facecolor(style.CROWDED)
    largest = max([run.throughput_tps for run in valid] or [1.0])
    scale, unit = style.rate_unit(largest)
    panel.zero_based(axes, largest / scale)
    panel.label_axis(axes, f"Closed-loop throughput ({unit})")
    rounds = max(run.round for run in runs)
    for run in valid:
        x = columns.index(run.variant) + 0.5 * (run.round - 0.5) / rounds - 0.25
        marks.dot(axes, x, run.throughput_tps / scale, style.look_of("gate", run.variant), "")
    return Picture(figure)
