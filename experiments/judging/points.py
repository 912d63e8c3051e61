"""The points of a figure: raw rows of several repetitions gathered at one place of its axes.

The judge and the figures read the same points, so that a verdict never speaks of a value that is
not drawn. A row belongs to no figure: a figure shows every row of its series whose settings are its
own, those that it sweeps at any value. Which row gives which value:

* throughput: the ``sustained`` row of a rate search where there is one, else the ``closed`` run,
  which is marked unsteady where a search found no rate that was sustained;
* latency: the ``open`` rows, one point for each offered rate where the rate is the x axis. Other
  figures have one latency a setting, at the share of its throughput that the profile has for all;
* what a phase of the family's own gives: the row of that phase;
* a count such as outputs per tuple: from the row that gave the throughput. It is no time: no state
  of the machine touches it.

Rows that are not valid give no point. ``control`` rows give the noise floor only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments import series
from experiments.declare import OFFERED_RATE, Figure, Paper
from experiments.records import quantities, statistics
from operators.contract import UsageError

# In the order in which legends and sentences name them.
STATES = ("saturated", "oversubscribed", "noisy", "unsteady", "coarse")
# The kinds of run that every figure shows, whatever else was asked of its settings.
ALWAYS = ("closed", "control", "probe", "sustained")


@dataclass(frozen=True)
class Point:
    """One quantity of one series at one setting, over all repetitions.

    Attributes
    ----------
    paper, figure : str
        Ids; a figure's is unique in its paper.
    machine : str
    subject : str
        The figure's.
    variant : str
        The series: the variant's id, with the settings that tell it from its defaults.
    settings : mapping
        Every setting by name.
    quantity : str
        Name of a quantity.
    rate_fraction : float or None
        Offered rate over the variant's maximum throughput; None where nothing was offered.
    offered_tps : float or None
        The median offered rate.
    values : dict of int to float
        Repetition to value.
    states : tuple of str
        The members of ``STATES`` that at least one of its rows is in.
    threads, cores : int
        The most threads and the fewest cores among its rows.
    """

    paper: str
    figure: str
    machine: str
    subject: str
    variant: str
    settings: Mapping[str, Any]
    quantity: str
    rate_fraction: float | None
    offered_tps: float | None
    values: Mapping[int, float]
    states: tuple[str, ...]
    threads: int
    cores: int

    @cached_property
    def middle(self) -> tuple[float, float | None, float | None]:
        """The median and its 95 % interval; no interval from one repetition."""
        values = list(self.values.values())
        if len(values) == 1:
            return values[0], None, None
        found = statistics.interval(values)
        return found.median, found.low, found.high

    @property
    def place(self) -> tuple:
        """What tells it from every other point, its rate apart."""
        where = (self.paper, self.figure, self.machine, self.variant)
        return (*where, _words(self.settings), self.quantity)


def rows_of(
    rows: Iterable[Mapping[str, Any]], paper: str, figure: Figure
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the rows that a figure shows, valid or not, each with the series it is drawn in.

    Control runs are among them.

    Raises
    ------
    UsageError
        When two lines of the figure are the same setting.
    """
    free = {sweep.setting for sweep in figure.free}
    phases = {*ALWAYS, *quantities.phases_of(paper, figure)}
    own: dict[tuple, str] = {}
    for line in series.measured(paper, figure):
        settings = _words(series.resolved(figure, line, {}), free)
        other = own.setdefault((series.parse(line).variant, settings), line)
        if other != line:
            raise UsageError(
                f"figure {figure.id} of {paper} has two lines of the same settings, {other} and"
                f" {line}: leave one out"
            )
    found = []
    for row in rows:
        if row["family"] == figure.family and _is_asked(row, figure, phases):
            line = own.get((row["variant"], _words(row["settings"], free)))
            if line is not None:
                found.append((line, row))
    return found


def _is_asked(row: Mapping[str, Any], figure: Figure, phases: Set[str]) -> bool:
    """Say whether a figure shows this kind of run: others may have asked for more of a setting."""
    if row["phase"] == "open" and figure.x != OFFERED_RATE:
        # One latency a setting, at the share that the profile has for all.
        if row["rate_fraction"] != row["usual_fraction"]:
            return False
    return row["phase"] in phases


def _words(settings: Mapping[str, Any], without: Set[str] = frozenset()) -> tuple:
    """Return settings in a form that can be compared and looked up."""
    return tuple(sorted((n, v) for n, v in settings.items() if n not in without))


def points_of_paper(rows: Iterable[Mapping[str, Any]], paper: Paper) -> list[Point]:
    """Return the points of every figure of a paper, in their order."""
    rows = list(rows)
    return [point for figure in paper.figures for point in gather(rows, paper.id, figure)]


def gather(rows: Iterable[Mapping[str, Any]], paper: str, figure: Figure) -> list[Point]:
    """Return the points of a figure, sorted by series, swept settings and rate.

    Parameters
    ----------
    rows : iterable of mapping
        Raw results of any settings; those that the figure does not show, and those that are not
        valid, are passed over.
    paper : str
    figure : Figure
    """
    found: dict[tuple, list[tuple[Mapping[str, Any], float]]] = {}
    shown = rows_of(rows, paper, figure)
    searches = [row for _, row in shown if row["phase"] == "sustained"]
    searched = {_setting(row) for row in searches if row["valid"]}
    in_vain = {_setting(row) for row in searches} - searched
    for line, row in shown:
        if not row["valid"]:
            continue
        if row["phase"] == "closed" and _setting(row) in in_vain:
            row = {**row, "steady": False}
        for quantity, value in _values(row, searched):
            place = (row["machine"], line, _words(row["settings"]), quantity, _fraction(row))
            found.setdefault(place, []).append((row, value))
    made = [_point(paper, figure, place, found[place]) for place in found]
    return sorted(made, key=lambda point: _order(point, figure))


def _order(point: Point, figure: Figure) -> tuple:
    places = [sweep.place_of(point.settings.get(sweep.setting)) for sweep in figure.free]
    rate = point.rate_fraction or 0.0
    return (point.machine, point.variant, places, point.quantity, rate)


def _setting(row: Mapping[str, Any]) -> tuple:
    # A setting is measured once a repetition, in the process of its group.
    names = ("machine", "group", "variant", "repetition")
    return (*(row[name] for name in names), _words(row["settings"]))


def _fraction(row: Mapping[str, Any]) -> float | None:
    """Return the rate fraction, rounded so that equal requests of two repetitions meet."""
    if row["phase"] != "open" or row["rate_fraction"] is None:
        return None
    return round(row["rate_fraction"], 3)


def _values(row: Mapping[str, Any], searched: set[tuple]) -> Iterator[tuple[str, float]]:
    """Yield the quantities that a row gives."""
    phase = row["phase"]
    if phase == "sustained":
        phase = "closed"
    elif phase == "closed" and _setting(row) in searched:
        return
    for quantity in quantities.every().values():
        if quantity.phase == phase:
            value = quantity.value(row)
            if value is not None:
                yield quantity.name, value


def states_of(row: Mapping[str, Any]) -> set[str]:
    """Return the members of ``STATES`` that `row` is in."""
    flags = {state for state in STATES if row.get(state)}
    if row.get("steady") is False:
        flags.add("unsteady")
    return flags


def _point(
    paper: str,
    figure: Figure,
    place: tuple,
    members: Sequence[tuple[Mapping[str, Any], float]],
) -> Point:
    machine, line, settings, quantity, fraction = place
    flags = set().union(*(states_of(row) for row, _ in members))
    if not quantities.quantity(quantity).timed:
        flags = set()
    offered = sorted(row["offered_tps"] for row, _ in members if row["offered_tps"] is not None)
    return Point(
        paper=paper,
        figure=figure.id,
        machine=machine,
        subject=figure.subject,
        variant=line,
        settings=dict(settings),
        quantity=quantity,
        rate_fraction=fraction,
        offered_tps=offered[len(offered) // 2] if offered else None,
        values={row["repetition"]: value for row, value in members},
        states=tuple(state for state in STATES if state in flags),
        threads=max(row["threads"] for row, _ in members),
        cores=min(row["cores"] for row, _ in members),
    )


def at_maximum(points: Iterable[Point]) -> list[Point]:
    """Return `points` with one latency a setting: that at the highest rate below the maximum.

    Where every offered rate was at or above the maximum, the lowest of them stands in and carries
    its state.
    """
    chosen: dict[tuple, Point] = {}
    for point in points:
        before = chosen.get(point.place)
        if before is None or _nearer(point, before):
            chosen[point.place] = point
    return list(chosen.values())


def _nearer(point: Point, before: Point) -> bool:
    one, other = point.rate_fraction or 0.0, before.rate_fraction or 0.0
    if (one < 1.0) != (other < 1.0):
        return one < 1.0
    return one > other if one < 1.0 else one < other


def noise_floor(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the ratio that two runs of the same variant at the same setting stay below (A/A).

    A smaller difference between two variants says nothing on this machine. None when no run was
    repeated for this.
    """
    difference = statistics.smallest_detectable_difference(equal_pairs(rows))
    return None if difference is None else 1.0 + difference


def equal_pairs(rows: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return the throughputs of each pair of equal runs (A/A): what the noise floor rests on."""
    rows = [row for row in rows if row["valid"]]
    closed = {_setting(row): row["throughput_tps"] for row in rows if row["phase"] == "closed"}
    return [
        (row["throughput_tps"], closed[_setting(row)])
        for row in rows
        if row["phase"] == "control" and _setting(row) in closed
    ]
