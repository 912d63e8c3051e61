"""The matrix: the rate of each design at each setting, as a table with coloured cells.

The colour follows the share of the best rate at the setting, and the text says both. A cell leads
to the rows behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from experiments.declare import Series
from experiments.judging.badges import in_unit, shortened
from experiments.records.quantities import quantity
from figures import page
from figures.page_data import PageData
from figures.settings_table import FELL_BEHIND, Setting, SettingsTable

# The least share of the best rate of each colour.
COLORS = ((0.95, "r5"), (0.75, "r4"), (0.5, "r3"), (0.25, "r2"), (0.0, "r1"))
LEGEND = (
    "A cell has the rate and, below it, the share of the best rate at that setting, by which it is"
    " coloured. A dash was not measured; a rate without a share fell behind when 70 % of it was"
    " offered. A click leads to the rows."
)


def section(data: PageData, tables: Sequence[SettingsTable]) -> str:
    """Return the section with the matrix of each family; empty where nothing is compared."""
    if not tables:
        return ""
    words = dict.fromkeys(
        word for table in tables for setting in table.settings for word in setting.words
    )
    chosen = {"setting": ("setting", {word: word for word in words})}
    form = page.filters(chosen, f"#matrix-{data.paper.id} tr[data-setting]")
    body = "".join(_table(data, table) for table in tables)
    content = f'<p class="soft">{escape(LEGEND)}</p>{form}{body}'
    return page.section(f"matrix-{data.paper.id}", "Designs by settings", content)


def _table(data: PageData, table: SettingsTable) -> str:
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in table.titles.values())
    rows = "".join(_row(data, table, setting) for setting in table.settings)
    words = quantity(table.quantity).words
    name = escape(f"{words} of {table.family.replace('_', ' ')}")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f'<table class="matrix"><caption>{name}</caption>'
        f'<thead><tr><th scope="col">figure, setting</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(data: PageData, table: SettingsTable, setting: Setting) -> str:
    cells = "".join(_cell(data, setting, design) for design in table.titles)
    link = escape(f"#{data.anchor(setting.figure.id)}")
    return (
        f'<tr data-setting="{escape("|".join(setting.words))}"><th scope="row">'
        f'<a href="{link}">{escape(setting.figure.id)}</a> {escape(setting.title)}</th>{cells}</tr>'
    )


def _cell(data: PageData, setting: Setting, design: Series) -> str:
    point = setting.points.get(design)
    if point is None:
        return '<td class="none">–</td>'
    rate = in_unit(point.spread.value, quantity(point.quantity).unit)
    link = escape(f"#{data.run_anchor(setting.figure, design, point.settings)}")
    share = setting.share(design)
    states = [state for state in point.states if state != FELL_BEHIND]
    hint = f' title="{escape(", ".join(states))}"' if states else ""
    if share is None:
        return f'<td class="none"{hint}><a href="{link}">{escape(rate)}<br>fell behind</a></td>'
    color = next(name for least, name in COLORS if share >= least)
    best = " best" if share == 1.0 else ""
    return (
        f'<td class="{color}{best}"{hint}><a href="{link}">{escape(rate)}'
        f"<br>{shortened(share)}</a></td>"
    )
