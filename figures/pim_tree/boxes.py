"""Nodes and trees as rows of boxes, on a board that is measured in inches.

A row of boxes is a node or a leaf, a box a key; an empty box has room for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from experiments.pim_tree.snapshots import Entries, Entry, SearchSnapshot, TreeSnapshot
from figures import style

# What a box is to its face: of what never changes, of what new tuples go into, of others.
STABLE, FRESH = style.mixed(style.BLUE, 0.72), style.mixed(style.ORANGE, 0.5)
EXPIRED, ROOM, BELOW = "#f2f2f2", "#ffffff", style.mixed(style.GREEN, 0.6)
PALE = "#909090"  # letters of what has expired
MARKED = style.VERMILLION  # what a picture points at
INFINITE = "\u221e"
# Inches: a box, between two leaves, from a level to the next, a row of letters, beside it all.
CELL, HIGH, GAP, LEVEL, LINE, MARGIN = 0.138, 0.17, 0.05, 0.46, 0.17, 0.06


class Box(NamedTuple):
    """One box of a node."""

    label: str
    face: str
    color: str = style.BLACK


class Path(NamedTuple):
    """A search: its node on each level, and how many keys it counted there."""

    nodes: Sequence[int]
    ranks: Sequence[int]


NO_PATH = Path((), ())


def path_of(snapshot: SearchSnapshot) -> Path:
    """Return the path of a search."""
    steps = snapshot.steps
    return Path([step.node for step in steps], [step.rank for step in steps])


def entry_box(entry: Entry, face: str) -> Box:
    """Return the box of an entry, pale where its tuple has left the window."""
    return Box(str(entry.key), face) if entry.live else Box(str(entry.key), EXPIRED, PALE)


def leaf_boxes(leaf: Entries, fan_out: int, face: str) -> list[Box]:
    """Return the boxes of a leaf, those behind its last entry filled with +oo."""
    padding = [Box(INFINITE, ROOM, PALE)] * (fan_out - len(leaf))
    return [entry_box(entry, face) for entry in leaf] + padding


def inner_boxes(keys: Sequence[int | None], face: str) -> list[Box]:
    """Return the boxes of an inner node, whose keys are no entries: paler than these."""
    face = style.mixed(face, 0.55)
    return [Box(INFINITE if key is None else str(key), face) for key in keys]


def board(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure whose axes are its inches, from the upper left corner on; down is below 0."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(-height, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.axis("off")
    return figure, axes


def legend(figure: Figure, faces: Mapping[str, str]) -> None:
    """Say above everything what the faces of boxes mean."""
    handles = [
        Patch(facecolor=face, edgecolor=style.GREY, lw=0.4, label=told)
        for told, face in faces.items()
    ]
    figure.legend(handles=handles, loc="upper left", ncols=len(handles), frameon=False,
                  handlelength=1.2, borderaxespad=0.1, columnspacing=1.2)  # fmt: skip


def told(axes: Axes, top: float, words: str) -> None:
    """Write what has happened, above what is drawn."""
    axes.text(MARGIN, top, words, va="top", fontsize=style.FONT_SIZE, fontweight="bold")


def beside(axes: Axes, top: float, words: str) -> None:
    """Write what a row of boxes is, to the left of it."""
    axes.text(MARGIN, top - HIGH / 2, words, va="center", fontsize=style.SMALL, linespacing=1.05)


def node(axes: Axes, left: float, top: float, boxes: Sequence[Box], marked: bool = False) -> None:
    """Draw the boxes of a node."""
    for place, box in enumerate(boxes):
        x = left + place * CELL
        axes.add_patch(Rectangle((x, top - HIGH), CELL, HIGH, facecolor=box.face,
                                 edgecolor=style.FAINT, lw=0.4, zorder=2))  # fmt: skip
        axes.text(x + CELL / 2, top - HIGH / 2 - 0.005, box.label, ha="center", va="center",
                  fontsize=style.SMALL, color=box.color, zorder=4)  # fmt: skip
    color, wide = (MARKED, 1.6) if marked else (style.GREY, 0.6)
    axes.add_patch(Rectangle((left, top - HIGH), len(boxes) * CELL, HIGH, facecolor="none",
                             edgecolor=color, lw=wide, zorder=3))  # fmt: skip


def line(axes: Axes, x: Sequence[float], y: Sequence[float], marked: bool) -> None:
    """Draw a line behind all boxes."""
    color, wide = (MARKED, 1.2) if marked else (style.FAINT, 0.7)
    axes.plot(x, y, color=color, lw=wide, zorder=1.5 if marked else 1)


def link(axes: Axes, x: Sequence[float], y: float) -> None:
    """Draw an arrow from a leaf to the next."""
    arrow = {"arrowstyle": "->", "lw": 0.8, "color": MARKED, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(x[1], y), xytext=(x[0], y), arrowprops=arrow, zorder=3)


def width_of(leaves: int, fan_out: int) -> float:
    """Return how wide so many leaves are beside each other."""
    return leaves * fan_out * CELL + (leaves - 1) * GAP


def centres_of(shown: TreeSnapshot, left: float) -> list[list[float]]:
    """Return the middle of each node, level by level, the leaves last.

    An inner node is over the middle of its children.
    """
    wide = shown.fan_out * CELL
    below = [left + place * (wide + GAP) + wide / 2 for place in range(len(shown.leaves))]
    found = [below]
    for level in reversed(shown.levels):
        first, own = 0, []
        for each in level:
            own.append((below[first] + below[first + each.children - 1]) / 2)
            first += each.children
        found.append(own)
        below = own
    return found[::-1]


def tree(
    axes: Axes,
    shown: TreeSnapshot,
    left: float,
    tops: Sequence[float],
    face: str,
    path: Path = NO_PATH,
) -> list[list[float]]:
    """Draw a tree, and a search in it.

    Parameters
    ----------
    axes : Axes
        Of a board.
    shown : TreeSnapshot
    left : float
        Where its first leaf begins.
    tops : sequence of float
        Upper edge of each level, that of the leaves last.
    face : str
    path : Path

    Returns
    -------
    list of list of float
        The middle of each node, level by level.
    """
    centres = centres_of(shown, left)
    half = shown.fan_out * CELL / 2
    rows = [[inner_boxes(each.keys, face) for each in level] for level in shown.levels]
    rows.append([leaf_boxes(leaf, shown.fan_out, face) for leaf in shown.leaves])
    for depth, row in enumerate(rows):
        child = 0
        for place, boxes in enumerate(row):
            marked = place in path.nodes[depth : depth + 1]
            rank = path.ranks[depth] if marked else 0
            x = centres[depth][place] - half
            counted = [box._replace(face=BELOW) for box in boxes[:rank]]
            node(axes, x, tops[depth], counted + boxes[rank:], marked)
            children = shown.levels[depth][place].children if depth < len(shown.levels) else 0
            for own in range(children):
                ends = (x + (own + 0.5) * CELL, centres[depth + 1][child])
                line(axes, ends, (tops[depth] - HIGH, tops[depth + 1]), marked and own == rank)
                child += 1
    return centres
