"""The forest plot of a paper as a part of a page: text that can be read aloud, and small drawings.

Positions are shares of the width, so that the drawing fits any screen. Colours are those of the
page, in light and in dark. A row leads to its statement, and has the answer and the designs as
attributes, by which the script of the page filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from experiments.judging.badges import shortened
from experiments.judging.pool import DOES_NOT_HOLD, PRACTICALLY_EQUAL
from figures import page
from figures.forest_rows import (
    Absent,
    Axis,
    Group,
    Row,
    floor_words,
    groups_of,
    is_missing,
    numbers_of,
)
from figures.page_data import PageData
from figures.statements import designs_of

LEGEND = (
    "Each statement on one logarithmic axis: the filled mark is the ratio here, the line through"
    " it the 95 % interval from six processes on, with fewer the range of the processes; the hollow"
    " diamond is the paper's number. The grey zone around 1 is practical equality. A pale bar is"
    " the noise floor, within which 19 of 20 pairs of equal runs lie: with fewer than six processes"
    " a ratio inside it cannot be told from noise."
)
# Heights of a small plot, in pixels: a row, and the space between two findings.
THIN, APART = 5, 3


def section(data: PageData, names: Mapping[str, str], links: str) -> str:
    """Return the section with the forest plot of a paper.

    Parameters
    ----------
    data : PageData
    names : mapping
        The title of each design by id, for the filter.
    links : str
        Markup with the links to the files of the figure.
    """
    groups = groups_of(data.verdicts)
    axis = Axis.of(groups)
    grid = f"grid-{data.paper.id}"
    body = "".join(_group(data, group, axis, grid, names) for group in groups)
    return (
        f'<section id="forest-{escape(data.paper.id)}"><h2>Findings as ratios</h2>'
        f'<p class="soft">{escape(LEGEND)}</p>{links}{_grid(axis, grid)}'
        f'<div class="forest"><div class="ratio scale" aria-hidden="true"><span></span>'
        f"{_scale(axis)}<span></span></div>{body}</div></section>"
    )


def _grid(axis: Axis, name: str) -> str:
    """Return the drawing behind every row, which the rows refer to."""
    lines = "".join(
        f'<line class="{"one" if tick == 1.0 else "tick"}" x1="{at}" x2="{at}" y1="0" y2="100%"/>'
        for tick in axis.ticks
        for at in [_percent(axis, tick)]
    )
    wide = axis.share(PRACTICALLY_EQUAL) - axis.share(1.0 / PRACTICALLY_EQUAL)
    low = _percent(axis, 1.0 / PRACTICALLY_EQUAL)
    zone = f'<rect class="zone" x="{low}" width="{100 * wide:.2f}%" y="0" height="100%"/>'
    return (
        f'<svg class="letters" aria-hidden="true"><defs><g id="{name}">{zone}{lines}</g></defs>'
        "</svg>"
    )


def _scale(axis: Axis) -> str:
    texts = []
    for tick, words in axis.labels.items():
        side = {axis.low: "start", axis.high: "end"}.get(tick, "middle")
        texts.append(
            f'<text x="{_percent(axis, tick)}" y="75%" text-anchor="{side}">{words}</text>'
        )
    return f"<svg>{''.join(texts)}</svg>"


def _percent(axis: Axis, ratio: float) -> str:
    return f"{100 * axis.share(ratio):.2f}%"


def _group(data: PageData, group: Group, axis: Axis, grid: str, names: Mapping[str, str]) -> str:
    """Return a finding with its rows, and below them what was not measured."""
    claims = data.claims
    rows = [
        _row(data, row, axis, grid, designs_of(claims[row.statement], names)) for row in group.rows
    ]
    rows += [
        _absent(data, each, designs_of(claims[each.statement], names)) for each in group.absent
    ]
    place = escape(f"{data.paper.id}-ratios-{group.id}")
    return (
        f'<div class="group" id="{place}"><h3>{page.badge(group.direction)}'
        f' <a href="#{escape(data.finding_anchor(group.id))}">{escape(group.question)}</a></h3>'
        f'<ul class="ratios">{"".join(rows)}</ul></div>'
    )


def _row(data: PageData, row: Row, axis: Axis, grid: str, designs: Sequence[str]) -> str:
    link = escape(f"#{data.claim_anchor(row.statement)}")
    place = escape(f"{data.paper.id}-ratio-{row.statement}")
    there = "" if row.paper is None else f"<small>paper {shortened(row.paper)}</small>"
    kind = f" ({row.interval})" if row.interval else ""
    hint = escape(f"{row.direction}; {numbers_of(row)}{kind}; {floor_words(row)}", quote=True)
    return (
        f'<li class="ratio" id="{place}" {page.filtered(row.direction, designs)} title="{hint}">'
        f'<span>{page.mark(row.direction)}<a href="{link}">{escape(row.label)}</a></span>'
        f'<svg aria-hidden="true">{drawn(row, axis, grid)}</svg>'
        f"<span>{escape(numbers_of(row))} {there}</span></li>"
    )


def drawn(row: Row, axis: Axis, grid: str) -> str:
    """Return a row as SVG: floor, lines of the axis, interval, the paper's number, and ratio."""
    parts = []
    if row.floor is not None and row.floor > 1.0:
        low, high = axis.share(1.0 / row.floor), axis.share(row.floor)
        parts.append(
            f'<rect class="floor" x="{100 * low:.2f}%" width="{100 * (high - low):.2f}%"'
            ' y="25%" height="50%"/>'
        )
    parts.append(f'<use href="#{grid}"/>')
    look = page.BADGES[row.direction][1]
    if row.low is not None and row.high is not None:
        ends = [_percent(axis, end) for end in (row.low, row.high)]
        parts.append(f'<line class="{look}" x1="{ends[0]}" x2="{ends[1]}" y1="50%" y2="50%"/>')
    if row.paper is not None:
        parts.append(_shape(axis, row.paper, "paper", "M0-6 6 0 0 6-6 0z"))
    square = "M-4-4h8v8h-8z"
    parts.append(
        _shape(axis, row.ratio, look, square)
        if row.direction == DOES_NOT_HOLD
        else _shape(axis, row.ratio, look, "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z")
    )
    return "".join(parts)


def _shape(axis: Axis, ratio: float, look: str, path: str) -> str:
    """Return a mark at a ratio; an arrow at the end of the axis where it lies beyond."""
    arrows = {-1: "M-1 0 6-5V5z", 0: path, 1: "M1 0-6-5V5z"}
    return (
        f'<svg x="{_percent(axis, ratio)}" y="50%" overflow="visible">'
        f'<path class="{look}" d="{arrows[axis.beyond(ratio)]}"/></svg>'
    )


def _absent(data: PageData, each: Absent, designs: Sequence[str]) -> str:
    link = escape(f"#{data.claim_anchor(each.statement)}")
    place = escape(f"{data.paper.id}-ratio-{each.statement}")
    reason = each.reason if is_missing(each) else f"No ratio. {each.reason}"
    return (
        f'<li class="absent" id="{place}" {page.filtered(each.direction, designs)}>'
        f'{page.mark(each.direction)}<a href="{link}">{escape(each.label)}</a>'
        f' <span class="soft">{escape(reason)}</span></li>'
    )


def small(groups: Sequence[Group]) -> str:
    """Return a forest plot as one small picture without words, for a list of papers."""
    axis = Axis.of(groups)
    parts, top = [], 2.0
    for group in groups:
        for row in group.rows:
            look, middle = page.BADGES[row.direction][1], top + THIN / 2
            ends = [_percent(axis, end) for end in (row.low or row.ratio, row.high or row.ratio)]
            parts.append(
                f'<line class="{look}" x1="{ends[0]}" x2="{ends[1]}" y1="{middle}" y2="{middle}"/>'
                f'<circle class="{look}" cx="{_percent(axis, row.ratio)}" cy="{middle}" r="2"/>'
            )
            top += THIN
        top += APART * bool(group.rows)
    one = _percent(axis, 1.0)
    labels = "".join(
        f'<text x="{_percent(axis, tick)}" y="{top + 12:g}" text-anchor="middle">{words}</text>'
        for tick, words in axis.labels.items()
        if axis.low < tick < axis.high
    )
    behind = f'<line class="one" x1="{one}" x2="{one}" y1="0" y2="{top:g}"/>'
    return (
        f'<svg class="small" height="{top + 16:g}" role="img"'
        f' aria-label="Ratios of the statements, {axis.low:g} to {axis.high:g} times">'
        f"{behind}{''.join(parts)}{labels}</svg>"
    )
