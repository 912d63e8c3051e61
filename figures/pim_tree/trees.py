"""Nodes and trees as rows of boxes.

A row of boxes is a node or a leaf, a box a key; an empty box is a free slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from experiments.pim_tree.snapshots import Entries, Entry, SearchSnapshot, TreeSnapshot
from figures import style
from figures.boxes import CELL, EXPIRED, HIGH, PALE, ROOM, Box, line, node

# Faces of boxes: for entries that never change, for new tuples, and for counted keys.
STABLE, FRESH = style.mixed(style.BLUE, 0.72), style.mixed(style.ORANGE, 0.5)
BELOW = style.mixed(style.GREEN, 0.6)
INFINITE = "\u221e"
# Inches: between two leaves, from a level to the next.
GAP, LEVEL = 0.05, 0.46


class Path(NamedTuple):
    """The path of a search: the node on each level, and the number of keys counted there."""

    nodes: Sequence[int]
    ranks: Sequence[int]


NO_PATH = Path((), ())


def path_of(snapshot: SearchSnapshot) -> Path:
    """Return the path of a search."""
    steps = snapshot.steps
    return Path([step.node for step in steps], [step.rank for step in steps])


def entry_box(entry: Entry, face: str) -> Box:
    """Return the box of an entry, pale if the tuple has left the window."""
    return Box(str(entry.key), face) if entry.live else Box(str(entry.key), EXPIRED, PALE)


def leaf_boxes(leaf: Entries, fan_out: int, face: str) -> list[Box]:
    """Return the boxes of a leaf, padded with +oo after the last entry."""
    padding = [Box(INFINITE, ROOM, PALE)] * (fan_out - len(leaf))
    return [entry_box(entry, face) for entry in leaf] + padding


def inner_boxes(keys: Sequence[int | None], face: str) -> list[Box]:
    """Return the boxes of an inner node, paler than a leaf's because the keys are no entries."""
    face = style.mixed(face, 0.55)
    return [Box(INFINITE if key is None else str(key), face) for key in keys]


def width_of(leaves: int, fan_out: int) -> float:
    """Return the width in inches of this many leaves side by side."""
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
        Position of the left edge of the first leaf.
    tops : sequence of float
        Upper edge of each level, the leaves last.
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
