"""Raw results as tables: one row a run, and one row a point that a figure draws.

The table of a figure has the columns ``TABLE``:

===========  ===================================================================
figure       id of the figure whose raw results it draws
panel        quantity of a column of ``experiments.harness.points.QUANTITIES``
query        id of the query
variant      id of the variant with its settings (a series), or ``ideal``
inputs       number of inputs
x            number of inputs or of update threads, or offered tuples/s
value        median over the repetitions, in ``unit``
low, high    95 % interval of the median; empty from one repetition
n            repetitions
state        states of the point, separated by blanks; ``predicted`` was not measured,
             ``tied`` differs from the best variant at its x by less than equal runs do
unit         unit of ``value``
===========  ===================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness import columns
from experiments.harness.claims import UsageError, read_verdicts
from experiments.harness.points import (
    QUANTITIES,
    Point,
    equal_pairs,
    gather,
    noise_floor,
    read_raw,
)

# From so many pairs of equal runs on, their largest difference is more than an anecdote.
PAIRS_FOR_A_FLOOR = 3

TABLE = ("figure", "panel", "query", "variant", "inputs", "x", "value", "low", "high", "n",
         "state", "unit")  # fmt: skip
# A series with this setting has windows of another length: no other variant did the same work.
OTHER_WORK = "unit_divisor="


@dataclass(frozen=True)
class Results:
    """Everything that was measured in some raw files.

    Attributes
    ----------
    rows : DataFrame
        One row a run, valid or not, with the columns of ``experiments.harness.columns``.
    points : list of Point
        What may be drawn: valid runs only, repetitions gathered.
    provenances : mapping of str to dict
        Provenance by its id.
    floor : float or None
        The ratio that two runs of the same variant stay below (A/A).
    pairs : int
        Pairs of equal runs that `floor` rests on.
    """

    rows: pd.DataFrame
    points: list[Point]
    provenances: Mapping[str, Mapping[str, Any]]
    floor: float | None
    pairs: int


def read(raw_files: Iterable[str | Path]) -> Results:
    """Return the results in `raw_files`.

    Raises
    ------
    UsageError
        When a file is missing, cut, or no file of results.
    """
    raw = read_raw(raw_files)
    table = pd.DataFrame(raw.rows, columns=[column.name for column in columns.COLUMNS])
    pairs = len(equal_pairs(raw.rows))
    return Results(table, gather(raw.rows), raw.provenances, noise_floor(raw.rows), pairs)


def results_folder() -> Path:
    """Return the nearest folder ``results`` with verdicts, from the working directory upwards.

    Raises
    ------
    UsageError
        When there is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "results" / "claims.json").is_file():
            return folder / "results"
    raise UsageError(f"no results in {here} or above: make them with `make figures`")


def verdict_table(claims_file: str | Path) -> pd.DataFrame:
    """Return the verdicts as a table: statement, figures, verdict and reason."""
    claims = read_verdicts(claims_file)["claims"]
    names = ["quote", "figures", "verdict", "reason"]
    table = pd.DataFrame(claims, columns=names)
    return table.assign(figures=table["figures"].map(", ".join))


def judged_files(results_folder: str | Path = "results") -> list[Path]:
    """Return the raw files that the verdicts in a folder of results were made from.

    Raises
    ------
    UsageError
        When there are no verdicts.
    """
    folder = Path(results_folder)
    return [folder / file for file in read_verdicts(folder / "claims.json")["raw_files"]]


def points_of(
    results: Results, figure: str, quantity: str, variants: Sequence[str] | None
) -> list[Point]:
    """Return the points of one quantity of a figure; of every variant when `variants` is None."""
    return [
        point
        for point in results.points
        if (point.figure, point.quantity) == (figure, quantity)
        and (variants is None or point.variant in variants)
    ]


def table_of(points: Iterable[Point], x: str = "inputs") -> pd.DataFrame:
    """Return `points` as the table of a figure; `x` is an attribute of a point."""
    rows = []
    for point in points:
        value, low, high = point.middle
        unit, state = QUANTITIES[point.quantity], " ".join(point.states)
        place = (point.figure, point.quantity, point.query, point.variant, point.inputs)
        about = (getattr(point, x), value, low, high, len(point.values), state, unit)
        rows.append((*place, *about))
    return frame(rows)


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


def with_ties(table: pd.DataFrame, floor: float | None, by: str = "inputs") -> pd.DataFrame:
    """Return `table`, one panel, with those points ``tied`` that no difference sets apart.

    Where variants lie nearer to the best one at the same place of the column `by` than equal runs
    lie to each other, they and the best one are tied. The best one has the highest throughput, or
    the lowest latency. Equal runs tell how far throughputs lie apart: latencies differ more, so
    that for them it is the least that a difference must be.
    """
    if floor is None or table.empty:
        return table
    table = table.reset_index(drop=True)
    same = table[table["variant"].map(comparable)]
    if same["unit"].eq("t/s").all():
        near = same["value"] * floor >= same.groupby(by)["value"].transform("max")
    else:
        near = same["value"] <= floor * same.groupby(by)["value"].transform("min")
    tied = near & (near.groupby(same[by]).transform("sum") > 1)
    tied = tied.reindex(table.index, fill_value=False)
    marked = (table["state"] + " tied").str.strip()
    return table.assign(state=table["state"].mask(tied, marked))


def footer_of(results: Results, figure: str, claims_file: str | Path | None) -> list[str]:
    """Return what a figure must say of itself: machine, repetitions, data, bounds, verdicts."""
    rows = results.rows[results.rows["figure"] == figure]
    if rows.empty:
        return ["nothing was measured for this figure"]
    lines = [f"{machine_of(results, rows)}; {_measured(rows)}", _data(rows)]
    shares = rows[rows["phase"] == "open"]["rate_fraction"].dropna().astype(float).round(3).unique()
    if len(shares) == 1:
        lines.append(f"latency at {100 * shares[0]:.0f} % of each variant's own throughput")
    if results.floor is not None:
        lines.append(_floor(results.floor, results.pairs))
    wrong = int((~rows["valid"].astype(bool)).sum())
    if wrong:
        lines.append(f"{wrong} of {len(rows)} runs are invalid and not drawn")
    if claims_file is not None:
        lines.append(_verdicts(json.loads(Path(claims_file).read_text("utf-8")), figure))
    return lines


def machine_of(results: Results, rows: pd.DataFrame) -> str:
    """Return processor and cores in words; every machine, should there be several."""
    found = []
    for name in rows["provenance"].dropna().unique():
        given = results.provenances.get(name, {})
        cores = given.get("cores", "?")
        found.append(f"{given.get('cpu_model', 'unknown processor')}, {cores} cores")
    return " and ".join(dict.fromkeys(found)) or "unknown machine"


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
