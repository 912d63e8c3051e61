"""The table of a figure: its cells, and the CSV that is written beside the picture.

A cell is what one line shows at one x of one panel. In memory a table is a DataFrame of cells,
whose states and values are tuples; only the CSV (``csv_of``), a row a cell, has them as text:

===========  ===================================================================
paper        id of the paper
figure       id of the figure, unique in its paper
panel        name of a quantity, or of what a form has computed
subject      what was asked, as the figure declares it; where it has panels beside each other for
             the values of a setting, that value in words
variant      id of the variant with its settings: a series
line         what the points are joined by: the series, or a swept setting in words
x            value of the swept setting, offered tuples/s, tuples in flight, or 0 where each line
             has one place
value        geometric mean over the processes, in ``unit``; empty where there is none to show
low, high    what ``spread`` names; empty where one value is all there is
spread       "95 % interval", "range of 3" (processes), "5 rounds of one process", or empty;
             in a panel of its own it is a rate search's ``BRACKET``; of a prediction it is what
             that follows from
values       the values behind the spread, separated by blanks: one a process, or a round of a
             single one; ticks where no interval is drawn
n            processes
samples      the fewest latencies behind a value; empty for what is no latency
in_flight    the most input tuples in flight at once
state        states of the point, separated by blanks: those of ``experiments.judging.points``,
             and those below
unit         unit of ``value``
===========  ===================================================================

``predicted`` was not measured; it is ``fitted`` too where the model was fitted to the measured
value, so that it predicts nothing. ``tied`` cannot be told from the best line at its x
(``figures.ties``). ``failed`` gave no valid run. ``scarce`` has too few latencies for the
percentile of its panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from experiments.declare import Series
from experiments.records.statistics import Spread

PREDICTED, FITTED, TIED, FAILED, SCARCE = "predicted", "fitted", "tied", "failed", "scarce"
SATURATED, OVERSUBSCRIBED = "saturated", "oversubscribed"
BRACKET = "bracket of a rate search"
_NUMBER = "%.6g"


class Cell(NamedTuple):
    """What one line shows at one x of one panel.

    Its fields are the columns of the CSV, in their order; ``states`` is the column ``state``.
    """

    paper: str
    figure: str
    panel: str
    subject: str
    variant: Series
    line: str
    x: Any
    value: float | None = None
    low: float | None = None
    high: float | None = None
    spread: str = ""
    values: tuple[float, ...] = ()
    n: int = 0
    samples: int | None = None
    in_flight: int | None = None
    states: tuple[str, ...] = ()
    unit: str = ""

    def with_spread(self, spread: Spread) -> Cell:
        """Return the cell with the value, the ends and the processes of a spread."""
        return self._replace(
            value=spread.value,
            low=spread.low,
            high=spread.high,
            spread=spread.kind,
            # With the digits of the CSV, so that each tick stands where its table says.
            values=tuple(float(_NUMBER % value) for value in spread.values),
            n=spread.processes,
        )

    def without_value(self) -> Cell:
        """Return the cell of a point that has no value to show."""
        return self._replace(value=None, low=None, high=None, spread="", values=(), n=0)

    def also(self, state: str) -> Cell:
        """Return the cell in one more state."""
        return self._replace(states=(*self.states, state))


def frame(cells: Iterable[Cell]) -> pd.DataFrame:
    """Return cells as a table."""
    numbers = dict.fromkeys(("value", "low", "high", "samples", "in_flight"), float)
    return pd.DataFrame(cells, columns=Cell._fields).astype(numbers)


def joined(panels: Iterable[list[Cell]]) -> pd.DataFrame:
    """Return the cells of several panels as one table, each panel once."""
    filled: dict[str, pd.DataFrame] = {}
    for cells in panels:
        if cells:
            filled.setdefault(cells[0].panel, frame(cells))
    return pd.concat(filled.values(), ignore_index=True) if filled else frame([])


def with_cells(table: pd.DataFrame, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a table with more cells below."""
    return pd.concat([table, frame(cells)], ignore_index=True) if cells else table


def having(table: pd.DataFrame, *states: str) -> pd.Series:
    """Return which rows of a table are in any of these states."""
    return table["states"].map(lambda own: not {*states}.isdisjoint(own)).astype(bool)


def off_scale(table: pd.DataFrame) -> pd.Series:
    """Return which rows are latencies at saturation: they grow with the run, so none is drawn."""
    return having(table, SATURATED) & (table["unit"] == "ms")


def readable_values(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose values are drawn where they lie: not failed, not saturated."""
    return table[table["value"].notna() & ~off_scale(table)]


def parted(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what was measured, and what was predicted."""
    predicted = having(table, PREDICTED)
    return table[~predicted], table[predicted]


# --- as text -------------------------------------------------------------------------------------


def csv_of(table: pd.DataFrame) -> str:
    """Return a table as the text of its CSV."""
    texts = table.assign(
        values=[" ".join(_NUMBER % value for value in own) for own in table["values"]],
        states=[" ".join(own) for own in table["states"]],
    )
    return texts.rename(columns={"states": "state"}).to_csv(index=False, float_format=_NUMBER)


def read_csv(file: Path) -> pd.DataFrame:
    """Return what the CSV of a figure says; its states and values are text."""
    return pd.read_csv(file, keep_default_na=False, na_values={"low": [""], "high": [""]})


def has_rows(file: Path) -> bool:
    """Say whether the CSV of a figure is there and has a row."""
    return file.is_file() and not read_csv(file).empty
