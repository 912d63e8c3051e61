"""The section of a page on what users would take instead: the figure of peers with its caption."""

from __future__ import annotations

from html import escape

import pandas as pd

from figures import cells, figure_section, page
from figures.files import PEERS
from figures.inline_svg import Pictures
from figures.page_data import PageData

TITLE = "What users would take instead"
COLUMNS = ("comparison", "kind", "title", "version", "threads", "output", "tuples", "value", "low",
           "high", "n", "state")  # fmt: skip


def anchor(data: PageData) -> str:
    """Return the id of the section."""
    return f"peers-{data.paper.id}"


def section(data: PageData, pictures: Pictures) -> str:
    """Return the section: picture, files, caption, and the table of what is drawn."""
    svg = data.folder / f"{PEERS}.svg"
    csv = svg.with_suffix(".csv")
    alternative = f"{TITLE}: the values stand in the table below"
    picture = pictures.add(svg.read_text("utf-8"), f"svg-{data.paper.id}-{PEERS}", alternative)
    table = pd.read_csv(csv, comment="#", keep_default_na=False)
    shown = table[list(COLUMNS)].astype(object)
    ids = [f"{anchor(data)}-point-{number}" for number in range(1, len(shown) + 1)]
    drawn = page.table(COLUMNS, shown.itertuples(index=False), ids)
    return page.section(
        anchor(data),
        escape(TITLE),
        f'<div class="pair"><div class="stay"><figure>{picture}</figure>'
        f"{figure_section.links(data, svg)}</div>"
        f"<div>{page.points(cells.read_notes(csv))}</div></div>"
        f"{page.details(f'Drawn values: {len(shown)} points', drawn)}",
    )
