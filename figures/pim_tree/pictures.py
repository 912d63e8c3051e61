"""Pictures of trees and chains at a moment, and of short live runs, from plain snapshots.

Blue entries are immutable until the index is rebuilt, new tuples go into the orange parts, and
expired entries are pale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from experiments.pim_tree.snapshots import (
    ChainSnapshot,
    Inserts,
    JoinRun,
    MergeSnapshot,
    PimSnapshot,
    SearchSnapshot,
)
from figures import boxes, marks, panel, plot, stacked_areas, style
from figures.boxes import CELL, EXPIRED, HIGH, LINE, MARGIN, MARKED, ROOM, Box
from figures.pictures import Picture, in_style
from figures.pim_tree import readings, trees
from figures.pim_tree.trees import FRESH, GAP, LEVEL, STABLE

# Inches: room left of a tree for the names of the levels, above everything, between linked leaves,
# from an input of a merge to the next, between the indexes of a chain.
_LEFT, _TOP, _LINKED, _INPUT, _APART = 0.72, 0.26, 0.2, 0.37, 0.24


@in_style
def tree_search(snapshot: SearchSnapshot) -> Picture:
    """Return an immutable tree, the path of a search in it, and the rank counted in each node.

    Parameters
    ----------
    snapshot : SearchSnapshot
    """
    tree, steps, key = snapshot.tree, snapshot.steps, snapshot.key
    last = len(steps) - 1
    width = max(style.WIDE, _LEFT + trees.width_of(len(tree.leaves), tree.fan_out) + MARGIN)
    tops = [-_TOP - 0.04 - level * LEVEL for level in range(len(steps))]
    figure, axes = boxes.board(width, _TOP + len(steps) * LEVEL)
    boxes.legend(figure, {"keys": STABLE, f"counted: below {key}": trees.BELOW})
    centres = trees.tree(axes, tree, _LEFT, tops, STABLE, trees.path_of(snapshot))
    for level, (top, step) in enumerate(zip(tops, steps, strict=True)):
        boxes.side_label(axes, top, "entries" if level == last else f"level {level}")
        taken = f"{step.rank} of {tree.fan_out} below {key}"
        middle, wide = centres[level][step.node], style.width_of(taken, style.SMALL)
        if level == last:
            x = min(max(middle, MARGIN + wide / 2), width - MARGIN - wide / 2)
            axes.text(x, top - HIGH - 0.04, f"{taken}:\nbegin there", ha="center", va="top",
                      fontsize=style.SMALL, linespacing=1.05)  # fmt: skip
            continue
        aside = tree.fan_out * CELL / 2 + 0.06
        right = middle + aside + wide + MARGIN < width
        axes.text(middle + (aside if right else -aside), top - HIGH / 2,
                  f"{taken}\n\u2192 child {step.rank}", ha="left" if right else "right",
                  va="center", fontsize=style.SMALL, linespacing=1.05)  # fmt: skip
    return Picture(figure)


# --- a merge --------------------------------------------------------------------------------------


@in_style
def merge_steps(snapshots: tuple[PimSnapshot, MergeSnapshot, PimSnapshot]) -> Picture:
    """Return a PIM-Tree before, during and after a merge; a subindex is drawn as leaves only.

    Parameters
    ----------
    snapshots : tuple of PimSnapshot, MergeSnapshot and PimSnapshot
    """
    before, during, after = snapshots
    fan_out = before.stable.fan_out
    most = max(len(each.stable.leaves) for each in (before, after))
    width = max(style.WIDE, _LEFT + trees.width_of(most, fan_out) + MARGIN)
    heights = [_height(before), LINE + 3 * _INPUT + 0.1, _height(after)]
    figure, axes = boxes.board(width, _TOP + sum(heights))
    boxes.legend(figure, {"T_S": STABLE, "T_I": FRESH, "expired": EXPIRED, "room": ROOM})
    _pim_tree(axes, before, -_TOP)
    _merge(axes, during, -_TOP - heights[0], fan_out)
    _pim_tree(axes, after, -_TOP - sum(heights[:2]))
    return Picture(figure)


def _height(snapshot: PimSnapshot) -> float:
    return LINE + (len(snapshot.stable.levels) + 2) * LEVEL - 0.14


def _pim_tree(axes: Axes, snapshot: PimSnapshot, top: float) -> None:
    """Draw T_S, and between two of the levels the leaves of T_I."""
    tree, hang = snapshot.stable, snapshot.depth
    boxes.event_label(axes, top, snapshot.event)
    rows = [top - LINE - row * LEVEL for row in range(len(tree.levels) + 2)]
    fresh = rows.pop(hang + 1)
    centres = trees.tree(axes, tree, _LEFT, rows, STABLE)
    for level in range(len(tree.levels)):
        own = "\n= D_I" if level == hang else ""
        boxes.side_label(axes, rows[level], f"T_S, depth {level}{own}")
    boxes.side_label(axes, fresh, "T_I")
    boxes.side_label(axes, rows[-1], "T_S, entries")
    wide = tree.fan_out * CELL
    last = None
    for number, leaves in enumerate(snapshot.subindexes):
        middle = centres[hang][number] if centres[hang:] else _LEFT + wide / 2
        span = len(leaves) * (wide + _LINKED) - _LINKED
        left = middle - span / 2
        bar = fresh + 0.06
        boxes.line(axes, (middle, middle), (rows[hang] - HIGH, bar), marked=True)
        axes.text(middle + 0.04, bar + 0.02, f"B_{number}", va="bottom", fontsize=style.SMALL,
                  color=style.readable(MARKED))  # fmt: skip
        boxes.line(axes, (left + wide / 2, left + span - wide / 2), (bar, bar), marked=True)
        for leaf in leaves:
            boxes.node(axes, left, fresh, trees.leaf_boxes(leaf, tree.fan_out, FRESH))
            boxes.line(axes, (left + wide / 2,) * 2, (bar, fresh), marked=True)
            if last is not None:
                boxes.link(axes, (last, left), fresh - HIGH / 2)
            last, left = left + wide, left + wide + _LINKED


def _merge(axes: Axes, snapshot: MergeSnapshot, top: float, fan_out: int) -> None:
    """Draw both inputs in order, the position of the merge in each, and the output so far."""
    boxes.event_label(axes, top, snapshot.event)
    fresh = frozenset(snapshot.fresh)
    written = [
        trees.entry_box(entry, FRESH if entry in fresh else STABLE) for entry in snapshot.written
    ]
    rows = (
        ("T_S, sorted", [trees.entry_box(entry, STABLE) for entry in snapshot.stable], "next",
         snapshot.stable_taken),
        ("T_I, sorted", [trees.entry_box(entry, FRESH) for entry in snapshot.fresh], "next",
         snapshot.fresh_taken),
        ("buffer", written + [Box("", ROOM)] * (snapshot.room - len(written)), "written so far",
         len(written)),
    )  # fmt: skip
    for row, (name, own, words, place) in enumerate(rows):
        y = top - LINE - row * _INPUT
        boxes.side_label(axes, y, name)
        for first in range(0, len(own), fan_out):
            boxes.node(axes, _at(first, fan_out), y, own[first : first + fan_out])
        x = _at(place, fan_out)
        axes.plot([x, x], [y - HIGH - 0.14, y + 0.03], color=MARKED, lw=1.4, zorder=5)
        axes.text(x + 0.04, y - HIGH - 0.03, words, va="top", fontsize=style.SMALL,
                  color=style.readable(MARKED))  # fmt: skip


def _at(place: int, fan_out: int) -> float:
    return _LEFT + place * CELL + place // fan_out * GAP


# --- a chain --------------------------------------------------------------------------------------


@in_style
def chain_steps(snapshots: Sequence[ChainSnapshot]) -> Picture:
    """Return a chain of B+-Trees at each of these moments, the oldest on the left.

    Parameters
    ----------
    snapshots : sequence of ChainSnapshot
    """
    every = [each.tree for snapshot in snapshots for each in snapshot.subindexes]
    fan_out = every[0].fan_out
    deepest = max(len(tree.levels) for tree in every)
    room = trees.width_of(max(len(tree.leaves) for tree in every), fan_out) + _APART
    length = len(snapshots[0].subindexes)
    width = max(style.WIDE, 2 * MARGIN + length * room - _APART)
    height = 2 * LINE + 0.04 + deepest * LEVEL + HIGH + 0.16
    figure, axes = boxes.board(width, _TOP + len(snapshots) * height)
    boxes.legend(figure, {"live": FRESH, "expired": EXPIRED, "room": ROOM})
    for number, snapshot in enumerate(snapshots):
        top = -_TOP - number * height
        boxes.event_label(axes, top, snapshot.event)
        for place, (kind, tree) in enumerate(snapshot.subindexes):
            # As far apart as the width allows.
            left = MARGIN + place * (width - 2 * MARGIN + _APART) / length
            axes.text(left, top - LINE, kind, va="top", fontsize=style.SMALL)
            bottom = top - 2 * LINE - 0.04 - deepest * LEVEL
            depth = len(tree.levels)
            tops = [bottom + (depth - level) * LEVEL for level in range(depth + 1)]
            trees.tree(axes, tree, left, tops, FRESH)
    return Picture(figure)


# --- short runs -----------------------------------------------------------------------------------


@in_style
def joins_by_window(runs: Sequence[JoinRun]) -> Picture:
    """Return the throughput of each join over growing windows.

    Parameters
    ----------
    runs : sequence of JoinRun
    """
    valid = [run for run in runs if run.valid]
    variants = list(dict.fromkeys(run.variant for run in runs))
    looks = {variant: style.look_of("join", variant) for variant in variants}
    lines = [f"{len(runs)} runs of an instant, one thread, two partners a tuple"]
    if len(valid) < len(runs):
        lines.append(f"{len(runs) - len(valid)} of {len(runs)} runs are invalid and not drawn")
    keys = [plot.handle_of(look) for look in looks.values()]
    figure, (axes,) = plot.canvas(style.NARROW, (1, 1), 1.9, "Live: joins over growing windows",
                                  [keys], [plot.as_one(lines)])  # fmt: skip
    rates = [run.throughput_tps for run in valid]
    scale, unit = style.rate_unit(max(rates, default=1.0))
    panel.log_axis(axes, np.array(rates) / scale)
    panel.label_axis(axes, f"Closed-loop throughput ({unit})")
    room = style.NARROW - plot.LEFT - plot.RIGHT
    panel.log_places(axes, [run.window for run in runs], room)
    panel.label_axis(axes, "Window (tuples)", along="x")
    for variant, look in looks.items():
        own = sorted((run.window, run.throughput_tps / scale) for run in valid
                     if run.variant == variant)  # fmt: skip
        axes.plot(*zip(*own, strict=True), color=look.color, ls=look.dash,
                  lw=plot.width_of_line(look), zorder=2)  # fmt: skip
        for window, rate in own:
            marks.dot(axes, window, rate, look, "")
    return Picture(figure, readings.sentence(runs))


@in_style
def inserts_by_subindex(found: Sequence[Inserts]) -> Picture:
    """Return the distribution of inserts, a panel a drift: a bar a subindex, and the equal share.

    Parameters
    ----------
    found : sequence of Inserts
    """
    lines = ["all inserts during the drift; subindexes by their range of keys, ascending"]
    parts = {
        f"r = {each.drift:g}": [count / max(sum(each.counts), 1) for count in each.counts]
        for each in found
    }
    color = style.look_of("join", "pim-tree").color
    title = "Live: where inserts go while keys drift"
    labels = ("Subindex", "Share of inserts")
    figure = stacked_areas.draw(title, lines, parts, [color] * len(found), labels)
    return Picture(figure, readings.inserts_sentence(found))
