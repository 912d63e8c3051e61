"""The section of one figure on a page: picture, files, values, rows, and the paper's statements."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from experiments.declare import Figure
from figures import cells, fidelity, findings, load, measured_rows, page
from figures.files import EXTENDED, KINDS, forms_of
from figures.footers import line_of
from figures.inline_svg import Pictures
from figures.page_data import PageData
from figures.view import View

NO_WIDE_FORM = "All that is measured for this figure is in it: there is no wide form."
COLUMNS = ["panel", "line", "x", "value", "low", "high", "n", "values", "state"]


def section(data: PageData, figure: Figure, pictures: Pictures) -> str:
    """Return the section of one figure."""
    behind = page.details("How it was measured", page.points(_notes(data, figure)))
    extended = data.svg(figure, extended=True)
    more = f'<p class="soft">{escape(NO_WIDE_FORM)}</p>'
    if EXTENDED in forms_of(figure) and extended.is_file():
        wide = picture(data, figure, pictures, extended=True) + links(data, extended)
        more = page.details("All measured variants, wide", wide)
    note = f'<p class="soft">{escape(figure.about)}</p>' if figure.about else ""
    heading = f"{title_of(figure)}: {figure.subject}"
    return (
        f'<section id="{escape(data.anchor(figure.id))}"><h3>{escape(heading)}</h3>\n'
        f'<div class="pair"><div class="stay">{picture(data, figure, pictures)}'
        f'<p class="soft">{about(data, figure)}</p>{links(data, data.svg(figure))}{note}'
        f"{fidelity.of_figure(data, figure.id)}{behind}</div>\n"
        f"<div>{findings.of_figure(data, figure.id)}</div></div>\n{more}"
        f"{_drawn(data, figure)}{measured_rows.of_figure(data, figure)}</section>"
    )


def title_of(figure: Figure) -> str:
    """Return the name of a figure in a sentence."""
    return f"Figure {figure.id}"


def about(data: PageData, figure: Figure) -> str:
    """Return the line below a figure: machine, processes and noise."""
    return f"{escape(line_of(load.footer_of(data.results, View(figure), None)))}."


def _notes(data: PageData, figure: Figure) -> list[str]:
    return cells.read_notes(data.svg(figure).with_suffix(".csv"))


def links(data: PageData, svg: Path) -> str:
    """Return links to the files of a figure: the table, and the picture in each format."""
    found = " ".join(
        f'<a href="{escape(_relative(data, svg.with_suffix(f".{kind}")))}">{kind.upper()}</a>'
        for kind in sorted(KINDS)
    )
    return f'<p class="soft">Files: {found}</p>'


def _relative(data: PageData, file: Path) -> str:
    """Return the address of a file as seen from the page, in the folder of the set."""
    return Path(os.path.relpath(file, data.folder.parents[1])).as_posix()


def picture(data: PageData, figure: Figure, pictures: Pictures, extended: bool = False) -> str:
    """Return the picture of a figure as a part of the page."""
    path = data.svg(figure, extended)
    wide = ", extended" if extended else ""
    alternative = f"{title_of(figure)}{wide}; its values stand in the table of drawn values"
    name = f"svg-{data.paper.id}-{path.stem}"
    return f"<figure>{pictures.add(path.read_text('utf-8'), name, alternative)}</figure>"


def _drawn(data: PageData, figure: Figure) -> str:
    """Return the table of the values that a figure draws; each point has an id."""
    csv = data.svg(figure).with_suffix(".csv")
    if not csv.is_file():
        return ""
    drawn = cells.read_csv(csv)
    rows = drawn[COLUMNS].astype(object).where(drawn[COLUMNS].notna(), None)
    place = data.anchor(figure.id)
    ids = [f"{place}-point-{number}" for number in range(1, len(rows) + 1)]
    table = page.table(COLUMNS, rows.itertuples(index=False), ids)
    return page.details(f"Drawn values: {len(rows)} points", table)
