"""The table of a figure: one row a point that it draws, the CSV beside it.

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
             in a panel of its own it is a rate search's ``BRACKET``; of what is predicted it is
             what that follows from
values       the values behind the spread, separated by blanks: one a process, or a round of a
             single one; ticks where no interval is drawn
n            processes
samples      the fewest latencies behind a value; empty for what is no latency
in_flight    the most input tuples under way at once
state        states of the point, separated by blanks: those of ``experiments.judging.points``,
             and those below
unit         unit of ``value``
===========  ===================================================================

``predicted`` was not measured; it is ``fitted`` too at a place that the model was fitted to, where
it foretells nothing. ``tied`` cannot be told from the best line at its x (``figures.ties``).
``failed`` gave no valid run. ``scarce`` has too few latencies for the percentile of its panel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from experiments.declare import LINES, OFFERED_RATE, Figure
from experiments.judging.points import Point, everywhere
from experiments.records.quantities import every, quantity
from figures.load import Results, comparable, foretold_by, points_of
from figures.ties import tied
from figures.view import View

TABLE = ("paper", "figure", "panel", "subject", "variant", "line", "x", "value", "low", "high",
         "spread", "values", "n", "samples", "in_flight", "state", "unit")  # fmt: skip
RATE_UNIT = "t/s"
# What is told in thousands, millions and billions: tuples and comparisons a second.
RATE_UNITS = (RATE_UNIT, "c/s")
THROUGHPUT = "throughput_tps"
BRACKET = "bracket of a rate search"
PREDICTED, FITTED = "predicted", "fitted"
# The fewest latencies of which ten lie beyond a percentile, from the highest one on. Below the last
# of them there is only the mean.
PERCENTILES = {"p99": 1_000, "p90": 100, "p50": 20}
MEAN = "mean"
_LATENCY = re.compile(r"(\w+_ms_)(p\d+|mean)")


def panel_of(results: Results, view: View, name: str, ties: bool = True) -> pd.DataFrame:
    """Return the rows of one declared quantity of a figure, ties marked.

    A percentile that most points have too few latencies for gives way to the next lower one, and
    the panel bears that one's name. What failed has a row without a value.

    Parameters
    ----------
    results : Results
    view : View
    name : str
        Of a quantity.
    ties : bool
        Whether lines at one x are rivals.
    """
    figure = view.figure
    name = shown_for(results, view, name)
    members = points_of(results, view, name)
    # Lines that are values of one setting are no rivals.
    rivals = ties and not figure.sweeps
    alike = tied(
        members, results.floors, lambda point: _rivals_of(point, figure) if rivals else None
    )
    rows = [*_rows(members, alike, figure)]
    rows += _failed(results, view, name, members)
    return frame(rows)


def brackets_of(results: Results, view: View, name: str) -> pd.DataFrame:
    """Return the brackets that stand beside a quantity, in a panel of their own.

    They are no values: a closed loop's rate is another thing than one that is kept up with, and of
    what is searched for itself a value is a mean over processes.
    """
    rows = []
    searched = quantity(name).bracket
    for point in points_of(results, view, searched) if searched else ():
        if point.bracket is not None:
            low, high = point.bracket
            given = {"value": low, "low": low, "high": high, "spread": BRACKET, "values": ""}
            rows.append(_row(point, view.figure, panel=bracket_panel(name), **given))
    return frame(rows)


def bracket_panel(name: str) -> str:
    """Return the name of the panel whose rows are the brackets beside those of panel `name`."""
    return f"{quantity(name).bracket} bracket"


def with_predicted(table: pd.DataFrame, results: Results, view: View) -> pd.DataFrame:
    """Return `table` and below it what the figure's model predicts; an extended one as it is.

    There are predictions of the paper's lines at the places where something was measured.
    """
    figure = view.figure
    foretold = None if view.extended else foretold_by(results, figure)
    if foretold is None or not foretold.values:
        return table
    rows = []
    for each in foretold.values:
        known = {
            "paper": figure.paper,
            "figure": figure.id,
            "panel": each.quantity,
            "subject": subject_of(each.settings, figure),
            "variant": each.variant,
            "line": line_of(each.variant, each.settings, figure),
            "x": _x(each.settings, figure),
            "value": each.value,
            "spread": foretold.told,
            "n": 0,
            "state": f"{PREDICTED} {FITTED}" if each.fitted else PREDICTED,
            "unit": quantity(each.quantity).unit,
        }
        rows.append(tuple(known.get(name) for name in TABLE))
    predicted = frame(row for row in rows if row[TABLE.index("variant")] in figure.lines)
    return pd.concat([table, predicted], ignore_index=True)


def parted(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what was measured, and what was predicted."""
    predicted = table["state"].str.split().map(lambda states: PREDICTED in states).astype(bool)
    return table[~predicted], table[predicted]


def shown_for(results: Results, view: View, name: str) -> str:
    """Return the quantity that is shown where `name` was asked for: itself, or a lower percentile.

    It is the highest one, up to the asked one, that most points have enough latencies for.
    """
    for candidate in lower_than(name):
        members = points_of(results, view, candidate)
        members = [point for point in members if "saturated" not in point.states]
        enough = sum(_enough(point) for point in members)
        if 2 * enough > len(members) or not members:
            return candidate
    return lower_than(name)[-1]


def lower_than(name: str) -> list[str]:
    """Return a latency and the lower ones that may stand in for it, the mean last.

    Examples
    --------
    >>> lower_than("latency_ms_p90")
    ['latency_ms_p90', 'latency_ms_p50', 'latency_ms_mean']
    >>> lower_than("throughput_tps")
    ['throughput_tps']
    """
    found = _LATENCY.fullmatch(name)
    if found is None or found[2] not in PERCENTILES:
        return [name]
    ranks = list(PERCENTILES)
    lower = [f"{found[1]}{rank}" for rank in (*ranks[ranks.index(found[2]) :], MEAN)]
    return [each for each in lower if each in every()]


def _enough(point: Point) -> bool:
    """Say whether ten latencies lie beyond the percentile that a point is."""
    found = _LATENCY.fullmatch(point.quantity)
    needed = PERCENTILES.get(found[2], 0) if found else 0
    return needed == 0 or (point.samples or 0) >= needed


def _rivals_of(point: Point, figure: Figure) -> tuple | None:
    """Return what a point has in common with its rivals; None where it has no rival.

    No two lines are offered the same rates: over the rate only their maxima are compared.
    """
    if not comparable(figure.family, point.variant) or not _enough(point):
        return None
    subject = subject_of(point.settings, figure)
    if figure.x == OFFERED_RATE:
        return (subject,) if quantity(point.quantity).unit == RATE_UNIT else None
    return (subject, x_of(point, figure))


def _rows(members: Iterable[Point], alike: Iterable[bool], figure: Figure) -> list[tuple]:
    rows = []
    for point, is_tied in zip(members, alike, strict=True):
        spread = point.spread
        given: dict[str, Any] = {
            "value": spread.value,
            "low": spread.low,
            "high": spread.high,
            "spread": spread.kind,
            "values": told_values(spread.values),
        }
        if is_tied:
            given["state"] = "tied"
        if not _enough(point) and "saturated" not in point.states:
            given = dict.fromkeys(("value", "low", "high", "values")) | {
                "spread": "",
                "state": "scarce",
            }
        rows.append(_row(point, figure, **given))
    return rows


def _row(point: Point, figure: Figure, state: str = "", **given: Any) -> tuple:
    states = " ".join(filter(None, [*point.states, state]))
    known = {
        "paper": point.paper,
        "figure": point.figure,
        "panel": point.quantity,
        "subject": subject_of(point.settings, figure),
        "variant": point.variant,
        "line": line_of(point.variant, point.settings, figure),
        "x": x_of(point, figure),
        "n": point.processes,
        "samples": point.samples if quantity(point.quantity).unit == "ms" else None,
        "in_flight": point.in_flight,
        "state": states,
        "unit": quantity(point.quantity).unit,
    }
    return tuple((known | given)[name] for name in TABLE)


def _failed(results: Results, view: View, name: str, members: Sequence[Point]) -> list[tuple]:
    """Return a row without a value for each place that was tried and gave no valid run.

    A run that depends on another's outcome, as every latency on the throughput, is not tried where
    that failed: the place is failed all the same.
    """
    figure, one = view.figure, quantity(name)
    by_rate = figure.x == OFFERED_RATE and one.unit != RATE_UNIT
    tried = "closed" if not by_rate else one.phase
    there = {_place(p.variant, p.settings, p.rate_fraction, figure) for p in members}
    own: dict[tuple, dict[str, list[bool]]] = {}
    rows: dict[tuple, tuple[str, Mapping[str, Any]]] = {}
    placed = results.placed_rows(figure)
    asked = [row["settings"] for _, row in placed]
    for line, row in placed:
        if view.shows(line) and row["phase"] in (one.phase, tried):
            for settings in everywhere(line, row["settings"], figure, asked):
                place = _place(line, settings, row["rate_fraction"], figure)
                own.setdefault(place, {}).setdefault(row["phase"], []).append(row["valid"])
                rows[place] = (line, {**row, "settings": settings})
    # Neither a run of its own that failed nor, where none was made, the one that it depends on.
    lost = [p for p, phases in own.items() if not any(phases.get(one.phase, phases.get(tried)))]
    found = (_lost(name, *rows[place], figure) for place in lost if place not in there)
    return [row for row in found if row[TABLE.index("x")] is not None]


def _lost(name: str, line: str, row: Mapping[str, Any], figure: Figure) -> tuple:
    """Return the row of a place without a valid run."""
    by_rate = figure.x == OFFERED_RATE
    known = {
        "paper": figure.paper,
        "figure": figure.id,
        "panel": name,
        "subject": subject_of(row["settings"], figure),
        "variant": line,
        "line": line_of(line, row["settings"], figure),
        "x": row["offered_tps"] if by_rate else _x(row["settings"], figure),
        "spread": "",
        "n": 0,
        "in_flight": row["in_flight_tuples"],
        "state": "oversubscribed failed" if row["threads"] > row["cores"] else "failed",
        "unit": quantity(name).unit,
    }
    return tuple(known.get(each) for each in TABLE)


def _place(
    variant: str, settings: Mapping[str, Any], fraction: float | None, figure: Figure
) -> tuple:
    swept = tuple(settings[sweep.setting] for sweep in figure.free)
    by_rate = figure.x == OFFERED_RATE and fraction is not None
    return (variant, swept, round(fraction, 3) if by_rate else None)


def line_of(variant: str, settings: Mapping[str, Any], figure: Figure) -> str:
    """Return what a point is joined with others by: its series, or what is swept beside x."""
    told = [figure.told(s.setting, settings[s.setting]) for s in figure.sweeps]
    if not told:
        return variant
    return ", ".join(told if len(figure.lines) == 1 else [variant, *told])


def subject_of(settings: Mapping[str, Any], figure: Figure) -> str:
    """Return what was asked at some settings: the figure's, or the value of what is beside."""
    if figure.beside is None:
        return figure.subject
    return figure.told(figure.beside.setting, settings[figure.beside.setting])


def x_of(point: Point, figure: Figure) -> Any:
    """Return the place of a point on the x axis; that of a maximum is the maximum."""
    if figure.x == OFFERED_RATE:
        return point.offered_tps if point.offered_tps is not None else point.value
    return _x(point.settings, figure)


def _x(settings: Mapping[str, Any], figure: Figure) -> Any:
    if figure.x == OFFERED_RATE:
        return None
    return 0 if figure.x == LINES else settings[figure.x.setting]


def frame(rows: Iterable[tuple]) -> pd.DataFrame:
    """Return rows with the columns ``TABLE`` as the table of a figure."""
    numbers = dict.fromkeys(("value", "low", "high", "samples", "in_flight"), float)
    return pd.DataFrame(rows, columns=TABLE).astype(numbers)


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of several panels as one, each panel once."""
    filled: dict[str, pd.DataFrame] = {}
    for part in parts:
        if not part.empty:
            filled.setdefault(part["panel"].iloc[0], part)
    return pd.concat(filled.values(), ignore_index=True) if filled else frame([])


def told_values(values: Iterable[float]) -> str:
    """Return values as the table has them; ``values_of`` reads them again."""
    return " ".join(f"{value:.6g}" for value in values)


def values_of(told: str | None) -> list[float]:
    """Return the values behind a row of the table."""
    return [float(value) for value in (told or "").split()]


def readable_values(members: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose values are drawn where they lie: not failed, not saturated."""
    saturated = members["state"].str.contains("saturated") & (members["unit"] == "ms")
    return members[members["value"].notna() & ~saturated]
