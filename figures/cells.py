"""The table of a figure: the cells, and the CSV file that is written next to the picture.

A cell is the point of one line at one x of one panel. In memory a table is a DataFrame of cells
with tuples for states and values; only the CSV (``csv_of``), a row a cell, has them as text:

===========  ===================================================================
paper        id of the paper
figure       id of the figure, unique in its paper
panel        name of a quantity, or of values that a form computed
subject      the measured task, as the figure declares it; where the figure has panels for the
             values of a setting, that value in words
variant      id of the variant with its settings: a series
line         name of the line that joins the points: the series, or a swept setting in words
x            value of the swept setting, offered tuples/s, tuples in flight, or 0 where each line
             has a single point
value        geometric mean over the processes, in ``unit``; empty where there is none to show
low, high    the ends of the spread; empty if there is only one value
spread       "95 % interval", "range of 3" (processes), "5 rounds of one process", or empty;
             ``BRACKET`` in the panel of the brackets of a rate search; the source of a prediction
values       the values behind the spread, separated by blanks: one a process, or one a round of a
             single process; drawn as ticks unless the spread is an interval
near, far    means with near cores and with far cores, if they differ by more than 1.25 times;
             else empty
n            processes
samples      the fewest latencies behind a value; empty for other quantities
in_flight    the most input tuples in flight at once
state        states of the point, separated by blanks: those of ``experiments.judging.points``,
             and those below
unit         unit of ``value``
===========  ===================================================================

``predicted`` was not measured; it is also ``fitted`` where the model was fitted to the measured
value and so predicts nothing. ``tied`` cannot be distinguished from the best line at the same x
(``figures.ties``). ``failed`` gave no valid run. ``scarce`` has too few latencies for the
percentile of the panel. ``published`` was not measured: it is the paper's published value, as
``spread`` says; ``level`` is a published value that holds for every x.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from experiments.declare import Series
from experiments.records.statistics import Spread

PREDICTED, FITTED, TIED, FAILED, SCARCE = "predicted", "fitted", "tied", "failed", "scarce"
PUBLISHED, LEVEL = "published", "level"
SATURATED, OVERSUBSCRIBED = "saturated", "oversubscribed"
BRACKET = "bracket of a rate search"
_NUMBER = "%.6g"
_NOTE = "# "


class Cell(NamedTuple):
    """The point of one line at one x of one panel.

    The fields are the columns of the CSV, in order; ``states`` is the column ``state``.
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
    near: float | None = None
    far: float | None = None
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
            # Rounded as in the CSV, so that each tick is drawn at the value in the table.
            values=tuple(float(_NUMBER % value) for value in spread.values),
            n=spread.processes,
        )

    def without_value(self) -> Cell:
        """Return the cell of a point that has no value to show."""
        nothing = dict.fromkeys(("value", "low", "high", "near", "far"))
        return self._replace(**nothing, spread="", values=(), n=0)

    def also(self, state: str) -> Cell:
        """Return the cell in one more state."""
        return self._replace(states=(*self.states, state))


def frame(cells: Iterable[Cell]) -> pd.DataFrame:
    """Return cells as a table."""
    numbers = dict.fromkeys(("value", "low", "high", "near", "far", "samples", "in_flight"), float)
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
    """Return the measured rows, and the predicted rows."""
    predicted = having(table, PREDICTED)
    return table[~predicted], table[predicted]


# --- as text -------------------------------------------------------------------------------------


def csv_of(table: pd.DataFrame, notes: Sequence[str] = ()) -> str:
    """Return a table as CSV text, below the notes: one line each, starting with "#"."""
    texts = table.assign(
        values=[" ".join(_NUMBER % value for value in own) for own in table["values"]],
        states=[" ".join(own) for own in table["states"]],
    )
    head = "".join(f"{_NOTE}{note}\n" for note in notes)
    named = texts.rename(columns={"states": "state"})
    return head + named.to_csv(index=False, float_format=_NUMBER)


def read_notes(file: Path) -> list[str]:
    """Return the notes at the head of the CSV of a figure."""
    lines = takewhile(lambda line: line.startswith(_NOTE), file.read_text("utf-8").splitlines())
    return [line.removeprefix(_NOTE) for line in lines]


def read_csv(file: Path) -> pd.DataFrame:
    """Return the CSV of a figure as a table; states and values are text."""
    # No column of text contains a "#": ids, quantities, and settings in words.
    return pd.read_csv(
        file,
        comment=_NOTE[0],
        keep_default_na=False,
        na_values={name: [""] for name in ("low", "high", "near", "far")},
    )
