"""A box a design over all settings: how near its rate comes to the best one.

Of each design the range, the quartiles and the geometric mean of its share of the best rate are
drawn, and the settings without a ratio are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log

import numpy as np

from experiments.judging.badges import shortened
from figures import page
from figures.settings_table import Ranking, SettingsTable

# The axis of shares ends here; a smaller share is drawn at the end.
LEAST = 0.02
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
LEGEND = (
    "Share of the best rate at each setting, on a logarithmic axis that ends at the best, 1: the"
    " line is the range, the box the middle half, the dot the geometric mean."
)


def of_tables(tables: Sequence[SettingsTable]) -> str:
    """Return the boxes of every table; empty without any."""
    parts = [_table(table) for table in tables]
    return f'<p class="soft">{escape(LEGEND)}</p>{"".join(parts)}' if parts else ""


def _table(table: SettingsTable) -> str:
    rows = "".join(_row(each, len(table.settings)) for each in table.ranking())
    title = f"{table.family.replace('_', ' ')}: {_settings(len(table.settings))}"
    scale = "".join(
        f'<text x="{_percent(tick)}" y="75%" text-anchor="{_side(tick)}">{tick:g}</text>'
        for tick in TICKS
    )
    return (
        f'<h3>{escape(title)}</h3><div class="ratio scale" aria-hidden="true"><span></span>'
        f'<svg>{scale}</svg><span></span></div><ul class="ratios">{rows}</ul>'
    )


def _settings(count: int) -> str:
    return "1 setting" if count == 1 else f"{count} settings"


def _side(tick: float) -> str:
    return {TICKS[0]: "start", TICKS[-1]: "end"}.get(tick, "middle")


def _percent(share: float) -> str:
    return f"{100 * (1 - log(max(share, LEAST)) / log(LEAST)):.2f}%"


def _row(each: Ranking, count: int) -> str:
    quartiles = np.quantile(each.shares, (0.0, 0.25, 0.75, 1.0))
    low, first, third, high = (_percent(float(share)) for share in quartiles)
    wide = f"{float(third[:-1]) - float(first[:-1]):.2f}%"
    drawing = (
        f'<line class="spread" x1="{low}" x2="{high}" y1="50%" y2="50%"/>'
        f'<rect class="middle" x="{first}" width="{wide}" y="22%" height="56%"/>'
        f'<circle class="point" cx="{_percent(each.mean)}" cy="50%" r="4.5"/>'
    )
    missing = ""
    if each.missing:
        summary = f"no ratio at {len(each.missing)} of {_settings(count)}"
        missing = page.details(summary, f'<p class="soft">{escape("; ".join(each.missing))}</p>')
    return (
        f'<li><div class="ratio"><span>{escape(each.title)}</span>'
        f'<svg aria-hidden="true">{drawing}</svg>'
        f"<span>{shortened(each.mean)} <small>of the best, {_settings(len(each.shares))}</small>"
        f"</span></div>{missing}</li>"
    )
