"""Raw results as figures read them: rows, points, and the statements in the footer of a figure.

``figures.table`` makes the cells of a figure from the points.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
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
from experiments.judging.points import STATES_APART, Point, UsageError, Ways
from experiments.judging.reasons import answers
from experiments.predictions import Predictions
from experiments.records import columns, results
from experiments.records.columns import CLOSED, COMMON, OPEN
from experiments.records.quantities import quantity
from experiments.records.results import Raw
from figures import style
from figures.view import View

# The set of results that a notebook reads; without it, the set that was judged last.
LABEL = "MILLRACE_LABEL"
# Begins the statement on tuples in flight.
BOUNDS = "in flight at most"
# Begins the statement on processes and rounds; for a single run, the whole statement.
COUNTED = "n = "
ONE_RUN = f"{COUNTED}1 run"
# Begins the statement on the noise floor.
FLOORS = "equal runs differ at most: "
# If the output per tuple of runs differs by more than this factor, no common number is stated.
ALIKE = 1.5
# Text for a noise floor that too few equal runs support.
UNKNOWN = "too few to say"


class Results:
    """The measurements on one machine: raw rows, and the points of each figure.

    Attributes
    ----------
    raw : Raw
    floors : Floors
        Noise floors: how far equal runs of the machine differ; computed from `raw` unless given.
    """

    def __init__(self, raw: Raw, floors: Floors | None = None) -> None:
        self.raw = raw
        self.floors = floors_of(raw.rows) if floors is None else floors
        self._points: dict[tuple[str, str], list[Point]] = {}
        self._placed: dict[tuple[str, str], list[tuple[Series, Mapping[str, Any]]]] = {}

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row a run, valid or not, with the columns of ``experiments.records.columns``."""
        return _frame_of(self.raw.rows)

    def points(self, figure: Figure) -> list[Point]:
        """Return the points that a figure may draw: valid runs, by process and round."""
        place = (figure.paper, figure.id)
        if place not in self._points:
            self._points[place] = points.gather(self.raw.rows, figure)
        return self._points[place]

    def placed_rows(self, figure: Figure) -> list[tuple[Series, Mapping[str, Any]]]:
        """Return the rows that a figure shows, valid or not, each with the series of the row."""
        place = (figure.paper, figure.id)
        if place not in self._placed:
            self._placed[place] = points.rows_of(self.raw.rows, figure)
        return self._placed[place]


def _frame_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[column.name for column in columns.every()])


def read(raw_files: Iterable[str | Path], claims_file: str | Path | None = None) -> Results:
    """Return the results in `raw_files`.

    Parameters
    ----------
    raw_files : iterable of path
    claims_file : path, optional
        Verdicts on the same rows. Their noise floors, which hold for the whole machine, are used:
        so a figure ties exactly the lines that the judge could not tell apart.

    Raises
    ------
    UsageError
        When a file is missing, cut, or no file of results, or files are of different machines.
    """
    raw = results.read_all(raw_files)
    results.one_machine(raw)
    if claims_file is None:
        return Results(raw)
    return Results(raw, Floors.of_records(read_verdicts(claims_file)["floors"]))


def judged(claims_file: str | Path) -> Results:
    """Return the results that verdicts were made from, with the noise floors of the verdicts.

    Raises
    ------
    UsageError
        When there are no verdicts, or as ``read``.
    """
    return read(judged_files(claims_file), claims_file)


def results_folder(label: str | None = None) -> Path:
    """Return the nearest folder of judged results, from the working directory upwards.

    Parameters
    ----------
    label : str, optional
        Name of a set below ``results``. By default the set of the run that executes the
        notebook, or else the set judged last.

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
    """Return the predictions of the figure's model from the measured points; None without a model.

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
    """Return whether a series does the same work as the others of the figure."""
    return series.drawn(family, line).rival


# --- the footer of a figure ----------------------------------------------------------------------


def footer_of(found: Results, view: View, claims_file: str | Path | None) -> list[str]:
    """Return the statements that a figure must carry, for the quantities of this form alone.

    They give machine, profile, number of processes, data, offered rates, noise floors, tuples in
    flight, and how the paper's statements came out. The form adds notes on the drawn points, such
    as how many are noisy (``figures.plot.notes_of``).
    """
    figure = view.figure
    shown = [row for line, row in found.placed_rows(figure) if view.shows(line)]
    if not shown:
        return ["nothing was measured for this figure"]
    rows = _frame_of(shown)
    asked = [quantity(name) for name in view.quantities]
    # A percentile and the lower one that replaces it share phase and noise floor.
    kinds = {(one.phase, kind_of(one.name)) for one in asked}
    drawn = [
        point
        for point in found.points(figure)
        if view.shows(point.variant)
        and (quantity(point.quantity).phase, kind_of(point.quantity)) in kinds
    ]
    lines = [machine_of(found, rows), f"profile {', '.join(sorted(rows['profile'].unique()))}"]
    lines += [
        counted(drawn, are_forked(rows)),
        _data(rows),
        _rates(drawn),
        _floors(found.floors, drawn),
    ]
    lines += [_ways(rows)]
    lines += [in_flight(drawn, figure)]
    lines += noted_of(found, view)
    lines += [] if view.extended else _without_prediction(found, figure)
    wrong = int((~rows["valid"].astype(bool)).sum())
    if wrong:
        lines.append(f"{wrong} of {len(rows)} runs invalid")
    if claims_file is not None:
        lines.append(answers(read_verdicts(claims_file), figure.id))
    return list(filter(None, lines))


def noted_of(found: Results, view: View) -> list[str]:
    """Return the range of each noted quantity, by line: share of ...: QST 8 to 61 %; LP 0 %.

    A quantity that has a panel in this form is left out.
    """
    sentences = []
    for name in [each for each in view.figure.noted if each not in view.quantities]:
        values: dict[str, list[float]] = {}
        for point in points_of(found, view, name):
            title = style.look_of(view.figure.family, point.variant).title
            values.setdefault(title, []).append(point.value)
        told = [f"{title} {_ends(own, quantity(name).unit)}" for title, own in values.items()]
        if told:
            sentences.append(f"{quantity(name).words}: {'; '.join(told)}")
    return sentences


def _ends(values: Sequence[float], unit: str) -> str:
    """Return the minimum and maximum of some values, in percent where they have no unit."""
    scale, digits = (1.0, ".2g") if unit else (100.0, ".0f")
    ends = dict.fromkeys(f"{scale * each:{digits}}" for each in (min(values), max(values)))
    return f"{' to '.join(ends)} {unit.replace('us', 'µs') or '%'}"


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


def are_forked(rows: pd.DataFrame) -> bool:
    """Return whether fewer processes were started than measured a group: the rest are forks."""
    if "started" not in rows or rows["started"].isna().all():
        return False
    each = rows.groupby("group")[["repetition", "started"]].nunique()
    return bool((each["repetition"] > each["started"]).any())


def counted(drawn: Sequence[Point], forked: bool = False) -> str:
    """Return the number of processes behind each drawn point, and of rounds in each process.

    Some kinds of run are made once per process, or once in all, and some points may have extra
    processes: where points differ, the statement gives the range.
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
    many += " forked" if forked and most > 1 else ""
    many += " process" if most == 1 else " processes"
    return many if last == 1 else f"{many} of {'up to ' if least < last else ''}{last} rounds"


def _data(rows: pd.DataFrame) -> str:
    """Return the data sets, and the output per tuple where it is about the same in all runs."""
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
    """Return the offered rates of the latencies, and the number of samples behind a value."""
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
    """Return the noise floors at these points: throughput 10 %, on grey 40 %.

    Grey is oversubscribed: more threads than cores. The last part is the difference of one setting
    between processes. The report says how many pairs of runs support each number.
    """
    crowds: dict[str, set[bool]] = {}
    for point in drawn:
        if quantity(point.quantity).timed:
            crowds.setdefault(kind_of(point.quantity), set()).add(point.oversubscribed)
    told = []
    for kind in (kind for kind in (THROUGHPUT, LATENCY, PROCESSING) if kind in crowds):
        found = {
            oversubscribed: floors.known(kind, oversubscribed)
            for oversubscribed in sorted(crowds[kind])
        }
        words = dict.fromkeys(
            apart_words(each.factor) if each else UNKNOWN for each in found.values()
        )
        free, *grey = words
        told.append(f"{kind} {free}{f', on grey {grey[0]}' if grey else ''}")
    between = [floors.between(oversubscribed) for oversubscribed in set().union(*crowds.values())]
    if told and None not in between:
        told.append(f"between processes {apart_words(max(between).factor)}")
    return f"{FLOORS}{'; '.join(told)}" if told else ""


def _ways(rows: pd.DataFrame) -> str:
    """Return the distance between the cores: how many runs had near cores, far ones, or moved.

    Far is more than ``STATES_APART`` times the nearest tenth.
    """
    each = [ways for row in rows.to_dict("records") if (ways := Ways.of(row))]
    if not each:
        return ""
    nearest = float(np.quantile([ways.short for ways in each], 0.1))
    near = [ways.long for ways in each if ways.long <= STATES_APART * nearest]
    far = [ways.short for ways in each if ways.short > STATES_APART * nearest]
    moved = len(each) - len(near) - len(far)
    told = f"a cache line took {median(near):.0f} ns from core to core" if near else ""
    if far:
        told += f", in {len(far)} of {len(each)} runs {median(far):.0f} ns"
    if moved:
        told += f", and the cores moved during {moved}"
    return told


def apart_words(factor: float) -> str:
    """Return a difference in words: 12 %, or 3.5 times."""
    return f"{100 * (factor - 1):.0f} %" if factor < 2 else f"{factor:.2g} times"


def in_flight(drawn: Sequence[Point], figure: Figure) -> str:
    """Return the bound on tuples in flight, by series: WiML 30,000; all others 20,480 tuples.

    Counted quantities do not depend on the bound, so their points are skipped.
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
