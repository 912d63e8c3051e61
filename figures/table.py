"""Makes the cells of a figure from the measured points: the selection of a form.

``figures.cells`` describes a cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from experiments.declare import LINES, OFFERED_RATE, Figure, Series
from experiments.judging.points import Point, everywhere
from experiments.records.quantities import every, quantity
from figures.cells import (
    BRACKET,
    FAILED,
    FITTED,
    OVERSUBSCRIBED,
    PREDICTED,
    SATURATED,
    SCARCE,
    TIED,
    Cell,
    with_cells,
)
from figures.load import Results, comparable, points_of, predictions_of
from figures.ties import tied
from figures.view import View

RATE_UNIT = "t/s"
# Units of rates, printed in thousands, millions and billions: tuples and comparisons a second.
RATE_UNITS = (RATE_UNIT, "c/s")
THROUGHPUT = "throughput_tps"
# The fewest latencies for which ten lie beyond a percentile, from the highest percentile down.
# With fewer than the last number only the mean is shown.
PERCENTILES = {"p99": 1_000, "p90": 100, "p50": 20}
MEAN = "mean"
_LATENCY = re.compile(r"(\w+_ms_)(p\d+|mean)")


def panel_of(results: Results, view: View, name: str, ties: bool = True) -> list[Cell]:
    """Return the cells of one declared quantity of a figure, ties marked.

    A percentile for which most points have too few latencies is replaced by the next lower one,
    which names the panel. A failed point has a cell without a value.

    Parameters
    ----------
    results : Results
    view : View
    name : str
        Of a quantity.
    ties : bool
        Whether lines at one x compete, so that ties are marked.
    """
    figure = view.figure
    name = shown_for(results, view, name)
    members = points_of(results, view, name)
    # Lines that are values of one setting do not compete.
    rivals = ties and not figure.lined
    alike = tied(
        members, results.floors, lambda point: _rivals_of(point, figure) if rivals else None
    )
    cells = [_measured(*each, figure) for each in zip(members, alike, strict=True)]
    return cells + _failed(results, view, name, members)


def brackets_of(results: Results, view: View, name: str) -> list[Cell]:
    """Return the brackets shown with a quantity, in a separate panel.

    Brackets are not values of the quantity: a closed-loop rate differs from a sustained rate, and
    for a searched quantity a value is a mean over processes.
    """
    cells = []
    searched = quantity(name).bracket
    for point in points_of(results, view, searched) if searched else ():
        if point.bracket is not None:
            low, high = point.bracket
            given = {"value": low, "low": low, "high": high, "spread": BRACKET}
            cells.append(_cell_of(point, view.figure, panel=bracket_panel(name), **given))
    return cells


def bracket_panel(name: str) -> str:
    """Return the panel name of the brackets that go with panel `name`."""
    return f"{quantity(name).bracket} bracket"


def with_predicted(table: pd.DataFrame, results: Results, view: View) -> pd.DataFrame:
    """Return `table` with the figure's predictions appended; an extended form is left as it is.

    Predictions exist for the paper's lines wherever something was measured.
    """
    figure = view.figure
    predictions = None if view.extended else predictions_of(results, figure)
    if predictions is None or not predictions.values:
        return table
    predicted = [
        cell_at(
            figure,
            each.quantity,
            each.variant,
            each.settings,
            value=each.value,
            spread=predictions.source,
            states=(PREDICTED, FITTED) if each.fitted else (PREDICTED,),
        )
        for each in predictions.values
        if each.variant in figure.lines
    ]
    return with_cells(table, predicted)


def shown_for(results: Results, view: View, name: str) -> str:
    """Return the quantity shown where `name` was asked for: itself, or a lower percentile.

    It is the highest percentile up to `name` for which most points have enough latencies.
    """
    for candidate in lower_than(name):
        members = points_of(results, view, candidate)
        members = [point for point in members if SATURATED not in point.states]
        enough = sum(_enough(point) for point in members)
        if 2 * enough > len(members) or not members:
            return candidate
    return lower_than(name)[-1]


def lower_than(name: str) -> list[str]:
    """Return a latency and the lower ones that may replace it, the mean last.

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
    """Return whether ten latencies lie beyond the percentile of a point."""
    found = _LATENCY.fullmatch(point.quantity)
    needed = PERCENTILES.get(found[2], 0) if found else 0
    return needed == 0 or (point.samples or 0) >= needed


def _rivals_of(point: Point, figure: Figure) -> tuple | None:
    """Return the key that a point shares with its rivals; None for a point without rivals.

    Lines are offered different rates: over the offered rate only their maxima are compared.
    """
    if not comparable(figure.family, point.variant) or not _enough(point):
        return None
    subject = subject_of(point.settings, figure)
    if figure.x == OFFERED_RATE:
        return (subject,) if quantity(point.quantity).unit == RATE_UNIT else None
    return (subject, x_of(point, figure))


def cell_at(
    figure: Figure, name: str, variant: Series, settings: Mapping[str, Any], **given: Any
) -> Cell:
    """Return the cell of a series at some settings.

    Parameters
    ----------
    figure : Figure
    name : str
        Of the quantity, which is the panel.
    variant : Series
    settings : mapping
        Every setting by name.
    **given
        Other fields of the cell, and overrides of the declared ones.
    """
    declared = {
        "paper": figure.paper,
        "figure": figure.id,
        "panel": name,
        "subject": subject_of(settings, figure),
        "variant": variant,
        "line": line_of(variant, settings, figure),
        "x": _x(settings, figure),
        "unit": quantity(name).unit,
    }
    return Cell(**(declared | given))


def _cell_of(point: Point, figure: Figure, **given: Any) -> Cell:
    """Return the cell of a point, without its value."""
    own = {
        "x": x_of(point, figure),
        "n": point.processes,
        "samples": point.samples if quantity(point.quantity).unit == "ms" else None,
        "in_flight": point.in_flight,
        "states": point.states,
    }
    return cell_at(figure, point.quantity, point.variant, point.settings, **(own | given))


def _measured(point: Point, is_tied: bool, figure: Figure) -> Cell:
    """Return the cell of a point, without a value where it has too few latencies."""
    cell = _cell_of(point, figure)
    if not _enough(point) and SATURATED not in point.states:
        return cell.also(SCARCE)
    near, far = point.of_two_states or (None, None)
    cell = cell.with_spread(point.spread)._replace(near=near, far=far)
    return cell.also(TIED) if is_tied else cell


def _failed(results: Results, view: View, name: str, members: Sequence[Point]) -> list[Cell]:
    """Return a cell without a value for each setting that was tried and gave no valid run.

    A run that depends on another, as every latency run on the throughput, is not tried if that one
    failed: the setting counts as failed all the same.
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
    # Neither did this phase give a valid run nor, if it was not tried, the phase it depends on.
    lost = [p for p, phases in own.items() if not any(phases.get(one.phase, phases.get(tried)))]
    found = (_lost(name, *rows[place], figure) for place in lost if place not in there)
    return [cell for cell in found if cell.x is not None]


def _lost(name: str, line: Series, row: Mapping[str, Any], figure: Figure) -> Cell:
    """Return the cell of a setting without a valid run."""
    settings, oversubscribed = row["settings"], row["threads"] > row["cores"]
    return cell_at(
        figure,
        name,
        line,
        settings,
        x=row["offered_tps"] if figure.x == OFFERED_RATE else _x(settings, figure),
        in_flight=row["in_flight_tuples"],
        states=(OVERSUBSCRIBED, FAILED) if oversubscribed else (FAILED,),
    )


def _place(
    variant: Series, settings: Mapping[str, Any], fraction: float | None, figure: Figure
) -> tuple:
    swept = tuple(settings[sweep.setting] for sweep in figure.free)
    by_rate = figure.x == OFFERED_RATE and fraction is not None
    return (variant, swept, round(fraction, 3) if by_rate else None)


def line_of(variant: Series, settings: Mapping[str, Any], figure: Figure) -> str:
    """Return the key that joins points into a line: the series, or the values swept besides x."""
    told = [figure.setting_text(s.setting, settings[s.setting]) for s in figure.lined]
    if not told:
        return variant
    return ", ".join(told if figure.lines == (variant,) else [variant, *told])


def subject_of(settings: Mapping[str, Any], figure: Figure) -> str:
    """Return the subject at some settings: the figure's, or the values that have a panel each."""
    told = [figure.setting_text(s.setting, settings[s.setting]) for s in figure.columned]
    return ", ".join(told) or figure.subject


def x_of(point: Point, figure: Figure) -> Any:
    """Return the position of a point on the x axis; for a maximum over the rate, its value."""
    if figure.x == OFFERED_RATE:
        return point.offered_tps if point.offered_tps is not None else point.value
    return _x(point.settings, figure)


def _x(settings: Mapping[str, Any], figure: Figure) -> Any:
    if figure.x == OFFERED_RATE:
        return None
    return 0 if figure.x == LINES else settings[figure.x.setting]
