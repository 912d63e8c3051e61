"""The machine during the runs of a set: the speed of a core, and the transfer between cores.

Each dot is a run. A fixed loop (the *sentinel*) before and after it says how fast a core was, a
cache line that went between two cores how far apart they were: the host of a virtual machine may
move its cores. Runs are not left out for either, so that this picture says what equal runs had in
common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from experiments.records.files import write_file
from figures import panel, plot, style
from figures.draw import saved
from figures.files import MACHINE, PICTURES

TITLE = "The machine during the runs"
COLUMNS = ("minute", "sentinel_times_median", "transfer_ns")
LABELS = ("Fixed loop (times\nits median)", "Cache line between\ncores (ns)")
NS_PER_MINUTE = 60e9


def table_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row for each run that noted the state of the machine, in order of time.

    Parameters
    ----------
    rows : iterable of mapping
        Raw rows of one machine.

    Returns
    -------
    DataFrame
        The `COLUMNS`; NaN where a run did not note one, such as the transfer with one core.
    """
    noted = [row for row in rows if row.get("sentinel_ns")]
    begin = min((row["started_at"] for row in noted), default=0)
    middle = float(np.median([row["sentinel_ns"] for row in noted])) if noted else 1.0
    table = pd.DataFrame(
        [
            (
                (row["started_at"] - begin) / NS_PER_MINUTE,
                row["sentinel_ns"] / middle,
                row["transfer_ns"],
            )
            for row in noted
        ],
        columns=COLUMNS,
        dtype=float,
    )
    return table.sort_values("minute", kind="stable", ignore_index=True)


def draw_machine(table: pd.DataFrame, machine: str) -> Picture:
    """Return the picture of a table; `machine` names processor and cores in the footer."""
    spread = table["sentinel_times_median"].quantile([0.05, 0.95])
    footer = f"{machine} · {len(table):,} runs · nine in ten fixed loops within {_percent(spread)}"
    with matplotlib.rc_context(style.PARAMETERS):
        shape = (len(LABELS), 1)
        picture, panels = plot.canvas(style.WIDE, shape, 0.95, TITLE, [], [footer], left=0.9)
        for axes, column, label in zip(panels, COLUMNS[1:], LABELS, strict=True):
            axes.plot(table["minute"], table[column], ".", ms=2, color=style.BLUE, alpha=0.4)
            axes.set_ylabel(label)
            axes.set_xlim(0.0, max([1.0, *table["minute"]]))
            axes.tick_params(labelbottom=axes is panels[-1])
            panel.space_numbers(axes)
        panels[-1].set_xlabel("Minutes since the first run")
        _logarithmic(panels[1])
    return picture


def write_machine(
    rows: Iterable[Mapping[str, Any]], machine: str, folder: str | Path
) -> list[Path]:
    """Write the picture as pdf, svg and png, and its table as CSV; return the paths."""
    table = table_of(rows)
    picture = draw_machine(table, machine)
    stem = Path(folder, MACHINE)
    files = [write_file(f"{stem}.{kind}", saved(picture, kind)) for kind in PICTURES]
    return [*files, write_file(f"{stem}.csv", table.to_csv(index=False).encode())]


def _percent(ends: pd.Series) -> str:
    return f"{100 * (ends.iloc[1] / ends.iloc[0] - 1):.0f} %" if len(ends.dropna()) else "nothing"


def _logarithmic(axes: Axes) -> None:
    """Put an axis of nanoseconds on a logarithmic scale, if it has values."""
    if np.isfinite(axes.lines[0].get_ydata()).any():
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
