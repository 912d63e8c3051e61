"""Quantities over the bound on tuples in flight, logarithmic: a line a variant, a panel each.

For a figure whose series are variants at several settings of their bound on tuples in flight. The
bounds of the designs have different kinds (tuples an input, winsets, panes) and are comparable only
in tuples. The points of a variant are joined over its settings. No paper has this form, so there is
no extended one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure as Picture

from figures import style
from figures.cells import Cell, joined
from figures.forms import curves
from figures.load import BOUNDS, Results
from figures.table import panel_of
from figures.view import View


def select(results: Results, view: View) -> pd.DataFrame:
    """Return the drawn cells, in the form of ``figures.cells``; x is in tuples."""
    # Points at one x are not rivals: their bounds were set, and bound different things.
    panels = (panel_of(results, view, name, ties=False) for name in view.quantities)
    return joined([_over_tuples(cell) for cell in cells if cell.in_flight] for cells in panels)


def _over_tuples(cell: Cell) -> Cell:
    """Return a cell with the tuples in flight as x, on the line of the cell's variant."""
    return cell._replace(x=float(cell.in_flight), line=cell.variant.variant)


def draw(table: pd.DataFrame, view: View, footer: Sequence[str]) -> Picture:
    """Return the picture of `table`."""
    lines = dict.fromkeys(line.variant for line in view.figure.lines)
    there = set(table["line"])
    looks = {line: style.look_of(view.figure.family, line) for line in lines if line in there}
    # The x axis already shows the bound.
    footer = [each for each in footer if not each.startswith(BOUNDS)]
    label = "Tuples in flight, at most"
    return curves.over(table, view, footer, looks, (), label, free=True)
