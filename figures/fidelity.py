"""What differs from a paper on the page: all of it once, and under each figure the way there."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from experiments.fidelity import ALL, Deviation, read_fidelity
from figures import page
from figures.page_data import PageData


def section(data: PageData) -> str:
    """Return the section of all that differs from a paper, folded; empty where nothing is told."""
    own = read_fidelity(data.paper.id)
    if not own:
        return ""
    items = "".join(
        f'<li id="{_place(data, each)}"><b>Paper:</b> {escape(each.paper)}<br><b>Here:</b>'
        f" {escape(each.here)}<br><b>So:</b> {escape(each.effect)}<br><b>In favour of:</b>"
        f" {escape(each.in_favour_of)}. <b>Figures:</b> {escape(each.figures_in_words)}.</li>"
        for each in own
    )
    content = page.details(_summary(own), f"<ul>{items}</ul>")
    return f'<section id="fidelity-{escape(data.paper.id)}">{content}</section>'


def of_figure(data: PageData, figure_id: str) -> str:
    """Return what a figure has otherwise than the paper, folded, each with a link to all of it."""
    own = [each for each in read_fidelity(data.paper.id) if each.touches(figure_id)]
    if not own:
        return ""
    items = "".join(
        f'<li><a href="#{_place(data, each)}">{escape(each.paper)}</a>'
        f" In favour of: {escape(each.in_favour_of)}.</li>"
        for each in own
        if each.figures != ALL
    )
    everywhere = sum(each.figures == ALL for each in own)
    if everywhere:
        place = f"fidelity-{escape(data.paper.id)}"
        items += f'<li><a href="#{place}">What touches every figure: {everywhere}</a></li>'
    return page.details(_summary(own), f"<ul>{items}</ul>")


def _summary(own: Sequence[Deviation]) -> str:
    """Return how often the method differs: what came out otherwise is with the findings."""
    return f"Measured otherwise than in the paper: {len(own)}"


def _place(data: PageData, deviation: Deviation) -> str:
    return escape(f"fidelity-{data.paper.id}-{deviation.id}")
