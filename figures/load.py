"""Raw results as figures read them: rows, points, and what a figure says of both.

``figures.table`` makes the table of a figure from the points.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from experiments import papers
from experiments.declare import Figure, Foretold
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
from experiments.records import columns, results
from experiments.records.quantities import quantity
from experiments.records.results import Raw
from figures import style

# Which set of results a notebook reads; that which was judged last where it is not set.
LABEL = "MILLRACE_LABEL"
# How the statement on what may be under way begins.
BOUNDS = "in flight at most"
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
        self._placed: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row a run, valid or not, with the columns of ``experiments.records.columns``."""
        return _frame_of(self.raw.rows)

    @cached_property
    def floors(self) -> Floors:
        """What equal runs of this machine differ by, over all rows: one floor for everybody."""
        return floors_of(self.raw.rows)

    def points(self, paper: str, figure: Figure) -> list[Point]:
        """Return what a figure may draw: valid runs only, processes and rounds gathered."""
        place = (paper, figure.id)
        if place not in self._points:
            self._points[place] = points.gather(self.raw.rows, paper, figure)
        return self._points[place]

    def placed_rows(self, paper: str, figure: Figure) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the rows that a figure shows, valid or not, each with its series."""
        place = (paper, figure.id)
        if place not in self._placed:
            self._placed[place] = points.rows_of(self.raw.rows, paper, figure)
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


def points_of(
    found: Results, paper: str, figure: Figure, name: str, extended: bool = False
) -> list[Point]:
    """Return the points of one quantity of a figure: of the paper's lines, or of every one."""
    return [
        point
        for point in found.points(paper, figure)
        if point.quantity == name and (extended or point.variant in figure.lines)
    ]


def foretold_by(found: Results, paper: str, figure: Figure) -> Foretold | None:
    """Return what the figure's model says of what was measured; None where it has no model.

    Raises
    ------
    UsageError
        When the paper has no module of that name.
    """
    if not figure.model:
        return None
    model = papers.own_module(paper, figure.model)
    if model is None:
        raise UsageError(
            f"figure {figure.id} of {paper} has the unknown model {figure.model!r}: there is no"
            f" experiments/{paper}/{figure.model}.py"
        )

    def measured(figure_id: str) -> list[Point]:
        other = figure if figure_id == figure.id else papers.figure(paper, figure_id)
        return found.points(paper, other)

    return model.predict(measured, figure)


def comparable(variant: str) -> bool:
    """Say whether a series does the same work as the others of its figure."""
    return OTHER_WORK not in variant


# --- what a figure says of itself ----------------------------------------------------------------


def footer_of(
    found: Results,
    paper: str,
    figure: Figure,
    claims_file: str | Path | None,
    extended: bool = False,
) -> list[str]:
    """Return what a figure must say of itself.

    Machine, processes, data, at which rates, what equal runs differ by, what may be in flight, and
    how its statements came out. What is said of the points that are drawn, such as how many are
    noisy, its form adds (``figures.plot.notes_of``).
    """
    shown = [
        row
        for line, row in found.placed_rows(paper, figure)
        if extended or line in figure.lines
    ]  # fmt: skip
    if not shown:
        return ["nothing was measured for this figure"]
    rows = _frame_of(shown)
    drawn = [p for p in found.points(paper, figure) if extended or p.variant in figure.lines]
    lines = [f"{machine_of(found, rows)}; {_measured(rows)}", _data(rows)]
    lines += filter(None, [_rates(drawn, figure, extended), _floors(found.floors, drawn, figure)])
    lines += filter(None, [in_flight(drawn, figure)])
    lines += [] if extended else _not_foretold(found, paper, figure)
    wrong = int((~rows["valid"].astype(bool)).sum())
    if wrong:
        lines.append(f"{wrong} of {len(rows)} runs are invalid and not drawn")
    if claims_file is not None:
        lines.append(answers(read_verdicts(claims_file), figure.id))
    return lines


def _not_foretold(found: Results, paper: str, figure: Figure) -> list[str]:
    """Return the statement that some of the paper's lines have no prediction, and why, if so."""
    foretold = foretold_by(found, paper, figure)
    if foretold is None or not foretold.lacking:
        return []
    points = found.points(paper, figure)
    there = {point.variant for point in points if point.quantity in figure.quantities}
    without = there - {each.variant for each in foretold.values}
    names = [style.look_of(figure.family, line).title for line in figure.lines if line in without]
    return [f"no prediction for {', '.join(names)}: {foretold.lacking}"] if names else []


def machine_of(found: Results, rows: pd.DataFrame) -> str:
    """Return processor and cores in words."""
    told = []
    for name in rows["provenance"].dropna().unique():
        given = found.raw.provenances.get(name, {})
        cores = given.get("cores", "?")
        told.append(f"{given.get('cpu_model', 'unknown processor')}, {cores} cores")
    return " and ".join(dict.fromkeys(told)) or "unknown machine"


def _measured(rows: pd.DataFrame) -> str:
    processes, rounds = rows["repetition"].nunique(), rows["round"].nunique()
    many = f"n = {processes} {'process' if processes == 1 else 'processes'}"
    if rounds > 1:
        many += f" of {rounds} rounds"
    return f"profile {', '.join(sorted(rows['profile'].unique()))}, {many}"


def _data(rows: pd.DataFrame) -> str:
    """Return what the tuples were, and how much output they made."""
    pairs = rows[["dataset", "dataset_source"]].dropna().drop_duplicates()
    named = sorted(f"{name} ({source})" for name, source in pairs.itertuples(index=False))
    data = f"data: {', '.join(named)}" if named else "data: tuples made by the driver"
    drawn = rows[rows["valid"].astype(bool) & (rows["phase"] == "closed")]
    if drawn.empty:
        return f"{data}; no valid run"
    if not named:
        return data
    per_row = drawn["outputs"].astype(float) / drawn["tuples"].astype(float)
    return f"{data}; {per_row.median():.2g} output rows a tuple"


def _rates(drawn: Sequence[Point], figure: Figure, extended: bool) -> str:
    """Return at which rates the latencies were measured, and how many stand behind a value."""
    names = figure.extended_quantities if extended else figure.quantities
    asked = [quantity(name) for name in names]
    told = []
    own = [p for p in drawn if quantity(p.quantity).phase == "open"]
    shares = {round(p.rate_fraction, 3) for p in own if p.rate_fraction is not None}
    if len(shares) == 1 and any(one.phase == "open" for one in asked):
        told.append(f"latency at {100 * shares.pop():.0f} % of own throughput")
    common = [p for p in drawn if quantity(p.quantity).phase == "common" and p.offered_tps]
    if common and any(one.phase == "common" for one in asked):
        slow, fast = min(p.offered_tps for p in common), max(p.offered_tps for p in common)
        scale, unit = style.rate_unit(fast)
        ends = dict.fromkeys(f"{each / scale:.3g}" for each in (slow, fast))
        told.append(f"common rate {' to '.join(ends)} {unit}")
    counted = [p.samples for p in (*own, *common) if p.samples]
    if counted:
        ends = dict.fromkeys(f"{each:,}" for each in (min(counted), max(counted)))
        told.append(f"{' to '.join(ends)} latencies a value")
    return "; ".join(told)


def _floors(floors: Floors, drawn: Sequence[Point], figure: Figure) -> str:
    """Return what equal runs differ by where a figure's points are: 12 % in throughput (40 pairs).

    With fewer threads than cores and with more it is not the same.
    """
    told: dict[bool, str] = {}
    shown = {kind_of(each) for each in (*figure.quantities, *figure.extended_quantities)}
    kinds = [kind for kind in (THROUGHPUT, LATENCY, PROCESSING) if kind in shown]
    # Where one kind of crowd has no equal runs, those of the other kind count.
    used = {
        (kind, crowded if (kind, crowded) in floors.floors else not crowded)
        for kind in kinds
        for crowded in {point.crowded for point in drawn}
    }
    for crowded in (False, True):
        parts = []
        for kind in kinds:
            floor = floors.floors.get((kind, crowded))
            if floor is not None and (kind, crowded) in used:
                # The word once is enough.
                word = "" if told or parts else " pair" if floor.pairs == 1 else " pairs"
                parts.append(f"{_apart(floor.factor)} in {kind} ({floor.pairs}{word})")
        if parts:
            told[crowded] = f"by up to {', '.join(parts)}"
    if not told:
        return ""
    where = ", with more threads than cores"
    if list(told) == [True]:
        return f"equal runs{where}, differ {told[True]}"
    return f"equal runs differ {told[False]}" + (
        f";{where[1:]} {told[True]}" if True in told else ""
    )


def _apart(factor: float) -> str:
    """Return a difference in words: 12 %, or 3.5 times."""
    return f"{100 * (factor - 1):.0f} %" if factor < 2 else f"{factor:.2g} times"


def in_flight(drawn: Sequence[Point], figure: Figure) -> str:
    """Return what may be under way, by series: WiML 30,000; all others 20,480 tuples."""
    most: dict[str, int] = {}
    for point in drawn:
        if point.in_flight is not None:
            title = style.look_of(figure.family, point.variant).title
            most[title] = max(point.in_flight, most.get(title, 0))
    titles: dict[int, list[str]] = {}
    for title, bound in most.items():
        titles.setdefault(bound, []).append(title)
    if not titles:
        return ""
    *named, (common, rest) = sorted(titles.items(), key=lambda item: len(item[1]))
    told = [f"{' and '.join(own)} {bound:,}" for bound, own in named]
    if len(rest) > 2 or not named:
        rest = ["all others" if named else "all"]
    told.append(f"{' and '.join(rest)} {common:,} tuples")
    return f"{BOUNDS}: {', '.join(told)}"
