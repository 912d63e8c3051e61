"""Lists of nodes on levels, such as T-Gate and W-Hive, step by step from plain snapshots.

Nodes are in the order of level 0, and as high as their number of levels; a link is an arrow on the
link's level. Colour and edge give the state of a node: dashed while it waits, thick when it may be
taken, thin and grey once it was taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Patch

from experiments.families.gate.snapshots import GateSnapshot
from figures import panel, style
from figures.pictures import Picture, in_style

# By state of a node: face, edge colour, line style of the edge, width of the edge.
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
# Inches: width of a figure with room for a dozen nodes a panel; height of the legend above the
# panels; width of the names of rows of pointers.
BROAD, _TOP, _NAMED = 10.4, 0.35, 0.42
_WIDTH, _HEIGHT, _LEVEL = 0.62, 0.7, 0.66  # of a box, in nodes; of a level above another
# Y positions of the labels of the two rows of pointers, in nodes.
HEADS, WRITTEN = -0.75, -1.15


@in_style
def gate_steps(snapshots: Sequence[GateSnapshot], width: float = BROAD, first: int = 0) -> Picture:
    """Return a T-Gate after each step: nodes, levels, ``written`` of each source, the head.

    Parameters
    ----------
    snapshots : sequence of GateSnapshot
    width : float
        Inches of the figure.
    first : int
        Number of the first step.
    """
    most = max(len(snapshot.nodes) for snapshot in snapshots)
    states = ("passed", "ready", "waiting")
    figure, axes_of = panels(
        [each.levels for each in snapshots], most, states, width=width, left=_NAMED
    )
    for number, (axes, snapshot) in enumerate(zip(axes_of, snapshots, strict=True), first):
        nodes = snapshot.nodes
        for place, node in enumerate(nodes):
            box(axes, place, node.label, node.under, node.height, node.state)
        links(axes, [node.height for node in nodes], snapshot.levels)
        row_of_pointers(axes, "head", {snapshot.head: ""}, style.VERMILLION, HEADS)
        names: dict[int, str] = {}
        for name, place in snapshot.written.items():
            names[place] = f"{names[place]}, {name}" if place in names else name
        row_of_pointers(axes, "written", names, style.BLUE, WRITTEN)
        step_label(axes, number, snapshot.event, snapshot.delivered, "released: ")
    return Picture(figure)


def panels(
    levels: Sequence[int],
    most: int,
    states: Sequence[str],
    row: float = 1.6,
    width: float = BROAD,
    left: float = 0.0,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel a snapshot, `COLUMNS` side by side, and a legend.

    Parameters
    ----------
    levels : sequence of int
        By snapshot.
    most : int
        The most nodes of a snapshot.
    states : sequence of str
        States that the legend explains.
    row, width : float
        Height of a row of panels and width of the figure, in inches.
    left : float
        Inches to the left of the first node.
    """
    most = max(most, 6)
    aside = left * (most + 0.2) / (0.97 * width / COLUMNS - left)
    height = _TOP + -(-len(levels) // COLUMNS) * row
    figure = Figure(figsize=(width, height))
    found = []
    for place, own in enumerate(levels):
        down, across = divmod(place, COLUMNS)
        bottom = 1 - (_TOP + (down + 1) * row) / height
        area = (0.01 + across / COLUMNS, bottom, 0.97 / COLUMNS, 0.97 * row / height)
        axes = figure.add_axes(area)
        axes.set_xlim(-0.6 - aside, most - 0.4)
        axes.set_ylim(-1.45, 0.5 + own * _LEVEL)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.axis("off")
        found.append(axes)
    handles = [
        Patch(facecolor=face, edgecolor=edge, ls=line, lw=thick, label=TITLES[state])
        for state in states
        for face, edge, line, thick in [BOXES[state]]
    ]
    figure.legend(handles=handles, loc="upper left", ncols=len(states), frameon=False,
                  fontsize=style.FONT_SIZE)  # fmt: skip
    return figure, found


def box(axes: Axes, place: int, label: str, under: str, height: int, state: str) -> None:
    """Draw a node."""
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


def links(axes: Axes, heights: Sequence[int], levels: int) -> None:
    """Draw an arrow on each level from each node to the next node of at least that height."""
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


def pointer(axes: Axes, place: int, label: str, color: str, y: float) -> None:
    """Point to a node from below."""
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


def row_of_pointers(
    axes: Axes, name: str, labels: dict[int, str], color: str, y: float
) -> None:  # fmt: skip
    """Point to the nodes in `labels`; the name of the row is left of all nodes."""
    axes.text(-0.6, y, name, ha="right", va="center", color=color, fontsize=style.SMALL)
    for place, label in labels.items():
        pointer(axes, place, label, color, y)


def step_label(axes: Axes, number: int, words: str, taken: Sequence[str], word: str) -> None:
    """Write a step above a panel: number, event, and the tuples or rows taken so far."""
    left, right = axes.get_xlim()
    room = panel.inches_of(axes, "x") * (right + 0.35) / (right - left)
    lines = [f"{number}. {words}"]
    if taken:
        lines.append(f"{word}{', '.join(taken)}")
        one = "; ".join(lines)
        lines = [one] if style.width_of(one, style.FONT_SIZE) <= room else lines
    axes.text(-0.35, axes.get_ylim()[1], "\n".join(lines), va="top", fontsize=style.FONT_SIZE,
              linespacing=1.05)  # fmt: skip
