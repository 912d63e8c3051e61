"""Raw results as tables: one row a point that a figure draws.

The table of a figure has the columns ``TABLE``:

===========  ===================================================================
paper        id of the paper
figure       id of the figure, unique in its paper
panel        name of a quantity, or of what a form has computed
subject      what was asked, as the figure declares it
variant      id of the variant with its settings (a series), or ``ideal``
line         what the points are joined by: the series, or a swept setting in words
x            value of the swept setting, offered tuples/s, or 0 where each line has one place
value        median over the repetitions, in ``unit``
low, high    95 % interval of the median; empty from one repetition
n            repetitions
state        states of the point, separated by blanks; ``predicted`` was not measured,
             ``tied`` differs from the best line at its x by less than equal runs do
unit         unit of ``value``
===========  ===================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.declare import LINES, OFFERED_RATE, Figure
from experiments.judging import points
from experiments.judging.claims import UsageError, read_verdicts
from experiments.judging.points import Point, equal_pairs, noise_floor
from experiments.records import columns, results
from experiments.records.quantities import quantity
from experiments.records.results import Raw

# Which set of results a notebook reads; that which was judged last where it is not set.
LABEL = "MILLRACE_LABEL"
# From so many pairs of equal runs on, their largest difference is more than an anecdote.
PAIRS_FOR_A_FLOOR = 3

TABLE = ("paper", "figure", "panel", "subject", "variant", "line", "x", "value", "low", "high",
         "n", "state", "unit")  # fmt: skip
# A series with this setting has windows of another length: no other variant did the same work.
OTHER_WORK = "unit_divisor="


class Results:
    """What was measured on one machine: raw rows, and the points of each figure.

    Attributes
    ----------
    raw : Raw
    """

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self._points: dict[tuple[str, str], list[Point]] = {}

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row a run, valid or not, with the columns of ``experiments.records.columns``."""
        return _frame_of(self.raw.rows)

    @cached_property
    def floor(self) -> float | None:
        """The ratio that two runs of the same variant stay below (A/A), over all rows."""
        return noise_floor(self.raw.rows)

    def points(self, paper: str, figure: Figure) -> list[Point]:
        """Return what a figure may draw: valid runs only, repetitions gathered."""
        place = (paper, figure.id)
        if place not in self._points:
            self._points[place] = points.gather(self.raw.rows, paper, figure)
        return self._points[place]

    def rows_of(self, paper: str, figure: Figure) -> list[Mapping[str, Any]]:
        """Return the rows that a figure shows, valid or not."""
        return [row for _, row in points.rows_of(self.raw.rows, paper, figure)]

    def floor_of(self, paper: str, figure: Figure) -> float | None:
        """Return what two runs of the same variant at a setting of this figure stay below."""
        return noise_floor(self.rows_of(paper, figure))


def _frame_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[column.name for column in columns.every()])


def read(raw_files: Iterable[str | Path]) -> Results:
    """Return the results in `raw_files`.

    Raises
    ------
    UsageError
        When a file is missing, cut, or no file of results, or files are of different machines.
    """
    raw = results.read_all(raw_files)
    results.one_machine(raw)
    return Results(raw)


def results_folder(label: str | None = None) -> Path:
    """Return the nearest folder of judged results, from the working directory upwards.

    Parameters
    ----------
    label : str, optional
        Name of a set below ``results``; that of the run that executes the notebook, or that
        which was judged last, unless told.

    Raises
    ------
    UsageError
        When there is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = results.judged_last(folder / "results", label or os.environ.get(LABEL))
        if found is not None:
            return found
    raise UsageError(f"no results in {here} or above: make them with `make figures`")


def verdict_table(claims_file: str | Path) -> pd.DataFrame:
    """Return the verdicts as a table: statement, figures, verdict and reason."""
    claims = read_verdicts(claims_file)["claims"]
    names = ["quote", "figures", "verdict", "reason"]
    table = pd.DataFrame(claims, columns=names)
    return table.assign(figures=table["figures"].map(", ".join))


def judged_files(claims_file: str | Path) -> list[Path]:
    """Return the raw files that verdicts were made from.

    Raises
    ------
    UsageError
        When there are no verdicts.
    """
    folder = Path(claims_file).parent
    return [(folder / file).resolve() for file in read_verdicts(claims_file)["raw_files"]]


def points_of(
    found: Results, paper: str, figure: Figure, name: str, extended: bool = False
) -> list[Point]:
    """Return the points of one quantity of a figure: of the paper's lines, or of every one."""
    return [
        point
        for point in found.points(paper, figure)
        if point.quantity == name and (extended or point.variant in figure.lines)
    ]


def table_of(members: Iterable[Point], figure: Figure) -> pd.DataFrame:
    """Return `members` as the table of a figure."""
    rows = []
    for point in members:
        value, low, high = point.middle
        unit, state = quantity(point.quantity).unit, " ".join(point.states)
        about = (x_of(point, figure), value, low, high, len(point.values), state, unit)
        rows.append((*place_of(point, figure), *about))
    return frame(rows)


def place_of(point: Point, figure: Figure) -> tuple[str, ...]:
    """Return what stands before the numbers of a point: the first six columns."""
    line = line_of(point, figure)
    return point.paper, point.figure, point.quantity, point.subject, point.variant, line


def line_of(point: Point, figure: Figure) -> str:
    """Return what a point is joined with others by: its series, or what is swept beside x."""
    told = [figure.told(s.setting, point.settings[s.setting]) for s in figure.sweeps]
    if not told:
        return point.variant
    return ", ".join(told if len(figure.lines) == 1 else [point.variant, *told])


def x_of(point: Point, figure: Figure) -> Any:
    """Return the place of a point on the x axis."""
    if figure.x == OFFERED_RATE:
        return point.offered_tps if point.offered_tps is not None else point.middle[0]
    return 0 if figure.x == LINES else point.settings[figure.x.setting]


def frame(rows: Iterable[tuple]) -> pd.DataFrame:
    """Return rows with the columns ``TABLE`` as the table of a figure."""
    return pd.DataFrame(rows, columns=TABLE).astype({"low": float, "high": float})


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of several panels as one."""
    filled = [part for part in parts if not part.empty]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=TABLE)


def comparable(variant: str) -> bool:
    """Say whether a series does the same work as the others of its figure."""
    return OTHER_WORK not in variant


def with_ties(table: pd.DataFrame, floor: float | None, by: str = "x") -> pd.DataFrame:
    """Return `table`, one panel, with those points ``tied`` that no difference sets apart.

    Where lines lie nearer to the best one at the same place of the column `by` than equal runs lie
    to each other, they and the best one are tied. Equal runs tell how far throughputs lie apart:
    latencies differ more, so that for them it is the least that a difference must be.
    """
    if floor is None or table.empty:
        return table
    table = table.reset_index(drop=True)
    same = table[table["variant"].map(comparable)]
    one = quantity(table["panel"].iloc[0])
    values = same["value"].groupby(same[by])
    if one.better == "higher":
        near = same["value"] * floor >= values.transform("max")
    else:
        near = same["value"] <= floor * values.transform("min")
    tied = near & (near.groupby(same[by]).transform("sum") > 1)
    tied = tied.reindex(table.index, fill_value=False)
    marked = (table["state"] + " tied").str.strip()
    return table.assign(state=table["state"].mask(tied, marked))


def footer_of(
    found: Results, paper: str, figure: Figure, claims_file: str | Path | None
) -> list[str]:
    """Return what a figure must say of itself: machine, repetitions, data, bounds, verdicts."""
    raw = found.rows_of(paper, figure)
    if not raw:
        return ["nothing was measured for this figure"]
    rows = _frame_of(raw)
    lines = [f"{machine_of(found, rows)}; {_measured(rows)}", _data(rows)]
    shares = rows[rows["phase"] == "open"]["rate_fraction"].dropna().astype(float).round(3).unique()
    if len(shares) == 1:
        lines.append(f"latency at {100 * shares[0]:.0f} % of each variant's own throughput")
    floor = noise_floor(raw)
    if floor is not None:
        lines.append(_floor(floor, len(equal_pairs(raw))))
    wrong = int((~rows["valid"].astype(bool)).sum())
    if wrong:
        lines.append(f"{wrong} of {len(rows)} runs are invalid and not drawn")
    if claims_file is not None:
        lines.append(_verdicts(read_verdicts(claims_file), figure.id))
    return lines


def machine_of(found: Results, rows: pd.DataFrame) -> str:
    """Return processor and cores in words."""
    told = []
    for name in rows["provenance"].dropna().unique():
        given = found.raw.provenances.get(name, {})
        cores = given.get("cores", "?")
        told.append(f"{given.get('cpu_model', 'unknown processor')}, {cores} cores")
    return " and ".join(dict.fromkeys(told)) or "unknown machine"


def _measured(rows: pd.DataFrame) -> str:
    count = rows["repetition"].nunique()
    many = f"n = {count}" if count > 1 else "n = 1 (no interval)"
    return f"profile {', '.join(sorted(rows['profile'].unique()))}, {many}"


def _floor(floor: float, pairs: int) -> str:
    apart = f"{100 * (floor - 1):.1f} % apart in throughput"
    if pairs >= PAIRS_FOR_A_FLOOR:
        return f"{pairs} pairs of equal runs were up to {apart}: less says nothing"
    return f"{'one pair' if pairs == 1 else f'{pairs} pairs'} of equal runs: {apart}"


def _data(rows: pd.DataFrame) -> str:
    """Return what the tuples were, and how much output they made."""
    pairs = rows[["dataset", "dataset_source"]].dropna().drop_duplicates()
    named = sorted(f"{name} ({source})" for name, source in pairs.itertuples(index=False))
    data = f"data: {', '.join(named)}" if named else "data: tuples made by the driver"
    drawn = rows[rows["valid"].astype(bool) & rows["phase"].isin(["closed", "sustained"])]
    if drawn.empty:
        return f"{data}; no valid run"
    if not named:
        return data
    per_row = drawn["outputs"].astype(float) / drawn["tuples"].astype(float)
    return f"{data}; {per_row.median():.2g} output rows a tuple"


def _verdicts(verdicts: Mapping[str, Any], figure: str) -> str:
    own = [claim["verdict"] for claim in verdicts["claims"] if figure in claim["figures"]]
    counts = [f"{own.count(v)} {v}" for v in verdicts["verdicts"] if v in own]
    return f"statements on this figure: {', '.join(counts) or 'none'}"
