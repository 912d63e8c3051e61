"""Raw results as figures read them: rows, points, and what a figure says of both.

``figures.table`` makes the cells of a figure from the points.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from experiments import papers, series
from experiments.declare import Figure, Series
from experiments.judging import points
from experiments.judging.claims import read_verdicts
from experiments.judging.floors import (
    LATENCY,
    PROCESSING,
    THROUGHPUT,
    Floors,
    floors_of,
    kind_of,
)
from experiments.judging.points import Point, UsageError
from experiments.judging.reasons import answers
from experiments.predictions import Predictions
from experiments.records import columns, results
from experiments.records.columns import CLOSED, COMMON, MOVED, OPEN
from experiments.records.quantities import quantity
from experiments.records.results import Raw
from figures import style
from figures.view import View

# Which set of results a notebook reads; that which was judged last where it is not set.
LABEL = "MILLRACE_LABEL"
# How the statement on what may be under way begins.
BOUNDS = "in flight at most"
# How that on processes and rounds begins, and what it is of a single run.
COUNTED = "n = "
ONE_RUN = f"{COUNTED}1 run"
# Runs whose tuples made so much more output than those of others have none in common to tell.
ALIKE = 1.5
# Fewer pairs of equal runs than these say nothing in a footer.
ENOUGH_PAIRS = 6


class Results:
    """What was measured on one machine: raw rows, and the points of each figure.

    Attributes
    ----------
    raw : Raw
    """

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self._points: dict[tuple[str, str], list[Point]] = {}
        self._placed: dict[tuple[str, str], list[tuple[Series, Mapping[str, Any]]]] = {}

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row a run, valid or not, with the columns of ``experiments.records.columns``."""
        return _frame_of(self.raw.rows)

    @cached_property
    def floors(self) -> Floors:
        """What equal runs of this machine differ by, over all rows: one floor for everybody."""
        return floors_of(self.raw.rows)

    def points(self, figure: Figure) -> list[Point]:
        """Return what a figure may draw: valid runs only, processes and rounds gathered."""
        place = (figure.paper, figure.id)
        if place not in self._points:
            self._points[place] = points.gather(self.raw.rows, figure)
        return self._points[place]

    def placed_rows(self, figure: Figure) -> list[tuple[Series, Mapping[str, Any]]]:
        """Return the rows that a figure shows, valid or not, each with its series."""
        place = (figure.paper, figure.id)
        if place not in self._placed:
            self._placed[place] = points.rows_of(self.raw.rows, figure)
        return self._placed[place]


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
    """Return the verdicts as a table: statement, figures, kind, direction here and reason."""
    claims = read_verdicts(claims_file)["claims"]
    table = pd.DataFrame(claims, columns=["quote", "figures", "kind", "direction", "reason"])
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


def points_of(found: Results, view: View, name: str) -> list[Point]:
    """Return the points of one quantity that a view shows."""
    return [
        point
        for point in found.points(view.figure)
        if point.quantity == name and view.shows(point.variant)
    ]


def predictions_of(found: Results, figure: Figure) -> Predictions | None:
    """Return what the figure's model says of what was measured; None where it has no model.

    Raises
    ------
    UsageError
        When the paper has no module of that name.
    """
    if not figure.model:
        return None
    model = papers.own_module(figure.paper, figure.model)
    if model is None:
        raise UsageError(
            f"figure {figure.id} of {figure.paper} has the unknown model {figure.model!r}: there is"
            f" no experiments/{figure.paper}/{figure.model}.py"
        )

    def measured(figure_id: str) -> list[Point]:
        other = figure if figure_id == figure.id else papers.figure(figure.paper, figure_id)
        return found.points(other)

    return model.predict(measured, figure)


def comparable(family: str, line: Series) -> bool:
    """Say whether a series does the same work as the others of its figure."""
    return series.drawn(family, line).rival


# --- what a figure says of itself ----------------------------------------------------------------


def footer_of(found: Results, view: View, claims_file: str | Path | None) -> list[str]:
    """Return what a figure must say of itself, of the quantities of this form alone.

    Machine, profile, how many processes, data, at which rates, what equal runs differ by, what may
    be in flight, and how its statements came out. What is said of the points that are drawn, such
    as how many are noisy, its form adds (``figures.plot.notes_of``).
    """
    figure = view.figure
    shown = [row for line, row in found.placed_rows(figure) if view.shows(line)]
    if not shown:
        return ["nothing was measured for this figure"]
    rows = _frame_of(shown)
    asked = [quantity(name) for name in view.quantities]
    # A percentile that gives way to a lower one is of its phase and its floor.
    kinds = {(one.phase, kind_of(one.name)) for one in asked}
    drawn = [
        point
        for point in found.points(figure)
        if view.shows(point.variant)
        and (quantity(point.quantity).phase, kind_of(point.quantity)) in kinds
    ]
    lines = [machine_of(found, rows), f"profile {', '.join(sorted(rows['profile'].unique()))}"]
    lines += [counted(drawn), _data(rows), _rates(drawn), _floors(found.floors, drawn)]
    lines += [_ways(rows)]
    lines += [in_flight(drawn, figure)]
    lines += [] if view.extended else _without_prediction(found, figure)
    wrong = int((~rows["valid"].astype(bool)).sum())
    if wrong:
        lines.append(f"{wrong} of {len(rows)} runs invalid")
    if claims_file is not None:
        lines.append(answers(read_verdicts(claims_file), figure.id))
    return list(filter(None, lines))


def _without_prediction(found: Results, figure: Figure) -> list[str]:
    """Return the statement that some of the paper's lines have no prediction, and why, if so."""
    predictions = predictions_of(found, figure)
    if predictions is None or not predictions.lacking:
        return []
    points = found.points(figure)
    there = {point.variant for point in points if point.quantity in figure.quantities}
    without = there - {each.variant for each in predictions.values}
    names = [style.look_of(figure.family, line).title for line in figure.lines if line in without]
    return [f"no prediction for {', '.join(names)}: {predictions.lacking}"] if names else []


def machine_of(found: Results, rows: pd.DataFrame) -> str:
    """Return processor and cores in words."""
    told = []
    for name in rows["provenance"].dropna().unique():
        given = found.raw.provenances.get(name, {})
        cores = given.get("cores", "?")
        told.append(f"{given.get('cpu_model', 'unknown processor')}, {cores} cores")
    return " and ".join(dict.fromkeys(told)) or "unknown machine"


def counted(drawn: Sequence[Point]) -> str:
    """Return how many processes, and rounds in each, stand behind what is drawn.

    Some kinds of run are made once a process, or once at all, and processes may have been added for
    some points: where points differ the ends are told.
    """
    if not drawn:
        return ""
    of = [Counter(process for process, _ in point.values) for point in drawn]
    fewest, most = min(map(len, of)), max(map(len, of))
    rounds = [max(own.values()) for own in of]
    least, last = min(rounds), max(rounds)
    if most == last == 1:
        return ONE_RUN
    many = f"{COUNTED}{fewest} to {most}" if fewest < most else f"{COUNTED}{most}"
    many += " process" if most == 1 else " processes"
    return many if last == 1 else f"{many} of {'up to ' if least < last else ''}{last} rounds"


def _data(rows: pd.DataFrame) -> str:
    """Return what the tuples were, and how much output they made where all made about as much."""
    pairs = rows[["dataset", "dataset_source"]].dropna().drop_duplicates()
    named = sorted(f"{name} ({source})" for name, source in pairs.itertuples(index=False))
    data = f"data: {', '.join(named)}" if named else "data: tuples made by the driver"
    closed = rows[rows["valid"].astype(bool) & (rows["phase"] == CLOSED)]
    made = closed["outputs"].astype(float) / closed["tuples"].astype(float)
    if not named or made.dropna().empty or made.max() > ALIKE * made.min():
        return data
    median = made.median()
    return f"{data}, {f'{median:.2g}' if median < 100 else f'{median:,.0f}'} rows out a tuple"


def _rates(drawn: Sequence[Point]) -> str:
    """Return at which rates the latencies were measured, and how many stand behind a value."""
    told = []
    own = [p for p in drawn if quantity(p.quantity).phase == OPEN]
    shares = {round(p.rate_fraction, 3) for p in own if p.rate_fraction is not None}
    if len(shares) == 1:
        told.append(f"latency at {100 * shares.pop():.0f} % of own throughput")
    common = [p for p in drawn if quantity(p.quantity).phase == COMMON and p.offered_tps]
    if common:
        slow, fast = min(p.offered_tps for p in common), max(p.offered_tps for p in common)
        scale, unit = style.rate_unit(fast)
        ends = dict.fromkeys(f"{each / scale:.3g}" for each in (slow, fast))
        told.append(f"common rate {' to '.join(ends)} {unit}")
    samples = [p.samples for p in (*own, *common) if p.samples]
    if samples:
        told.append(f"{min(samples):,}{'' if len(set(samples)) == 1 else '+'} samples a value")
    return ", ".join(told)


def _floors(floors: Floors, drawn: Sequence[Point]) -> str:
    """Return what equal runs differ by where points are: throughput 10 %, on grey 40 %.

    Grey is where threads are more than cores. Last stands what the setting that all processes
    measure differs by from one to the next. How many pairs say so stands in the report.
    """
    crowds: dict[str, set[bool]] = {}
    for point in drawn:
        if quantity(point.quantity).timed:
            crowds.setdefault(kind_of(point.quantity), set()).add(point.crowded)
    told = []
    for kind in (kind for kind in (THROUGHPUT, LATENCY, PROCESSING) if kind in crowds):
        words = []
        for crowded in sorted(crowds[kind]):
            # Where one kind of crowd has no equal runs, those of the other kind count.
            own = (floors.floors.get((kind, each)) for each in (crowded, not crowded))
            floor = next(filter(None, own), None)
            if floor is not None:
                few = floor.pairs < ENOUGH_PAIRS
                words.append("too few to say" if few else _apart(floor.factor))
        free, *grey = dict.fromkeys(words) or [""]
        if free:
            told.append(f"{kind} {free}{f', on grey {grey[0]}' if grey else ''}")
    between = floors.between
    if told and between is not None and between.pairs >= ENOUGH_PAIRS:
        told.append(f"between processes {_apart(between.factor)}")
    return f"equal runs differ at most: {'; '.join(told)}" if told else ""


def _ways(rows: pd.DataFrame) -> str:
    """Return how far the cores lay from each other, where they were moved meanwhile.

    There may be more than two ways: on one core, on one die, on two.
    """
    if "transfer_ns" not in rows:
        return ""
    ways = rows["transfer_ns"].dropna().astype(float)
    usual = ways.median()
    elsewhere = int(((ways > MOVED * usual) | (usual > MOVED * ways)).sum())
    if not elsewhere:
        return ""
    return (
        f"cores moved in between: a cache line took {usual:.0f} ns from one to the other,"
        f" otherwise in {elsewhere} of {len(ways)} runs ({ways.min():.0f} to {ways.max():.0f} ns)"
    )


def _apart(factor: float) -> str:
    """Return a difference in words: 12 %, or 3.5 times."""
    return f"{100 * (factor - 1):.0f} %" if factor < 2 else f"{factor:.2g} times"


def in_flight(drawn: Sequence[Point], figure: Figure) -> str:
    """Return what may be under way, by series: WiML 30,000; all others 20,480 tuples.

    Of what is counted it makes no difference.
    """
    most: dict[str, int] = {}
    for point in drawn:
        if point.in_flight is not None and quantity(point.quantity).timed:
            title = style.look_of(figure.family, point.variant).title
            most[title] = max(point.in_flight, most.get(title, 0))
    titles: dict[int, list[str]] = {}
    for title, bound in most.items():
        titles.setdefault(bound, []).append(title)
    if not titles:
        return ""
    *named, (common, rest) = sorted(titles.items(), key=lambda item: len(item[1]))
    if not named:
        return f"{BOUNDS}: {common:,} tuples"
    told = [f"{' and '.join(own)} {bound:,}" for bound, own in named]
    others = "all others" if len(rest) > 2 else " and ".join(rest)
    return f"{BOUNDS}: {', '.join(told)}, {others} {common:,} tuples"
