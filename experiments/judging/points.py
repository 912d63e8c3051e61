"""The points of a figure: raw rows of all processes and rounds, gathered by place on its axes.

The judge and the figures read the same points, so that a verdict never speaks of a value that is
not drawn. A row belongs to no figure: a figure shows every row of its series whose settings are its
own, those that it sweeps at the values that it declares for the size of the row's profile. Other
values are those of another figure, which measured few of the lines there. Which row gives which
value:

* throughput: the ``closed`` rows, each the middle of a back-pressured slice;
* the sustained rate: the ``sustained`` row of a rate search, where the profile has one;
* latency: the ``open`` rows, one point for each offered rate where the rate is the x axis. Other
  figures have one latency a setting, at the share of its throughput that the profile has for all;
* what another phase gives: the rows of that phase;
* a count such as outputs per tuple: from the ``closed`` rows. It is no time: no state of the
  machine touches it.

Rows that are not valid give no point. Rows of equal runs (``equal``, ``equal open``, ``reference``)
give the floors of noise only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from experiments import series
from experiments.declare import OFFERED_RATE, Figure, Paper, Series, paper_of
from experiments.judging.disturbed import is_disturbed, usual_ways
from experiments.records import quantities, statistics
from experiments.records.columns import CLOSED, EQUAL_OPEN, OPEN, PROBE, SUSTAINED
from experiments.records.statistics import Place, Spread
from operators.contract import UsageError

# In the order in which legends and sentences name them. ``unsustained``: its own open run at the
# usual share of this throughput did not keep up, twice.
STATES = ("unsustained", "saturated", "oversubscribed", "noisy", "unsteady")
# The kinds of run that every figure shows, whatever else was asked of its settings.
ALWAYS = (CLOSED, PROBE, SUSTAINED)


@dataclass(frozen=True)
class Point:
    """One quantity of one series at one setting, over all processes and rounds.

    Attributes
    ----------
    paper, figure : str
        Ids; a figure's is unique in its paper.
    machine : str
    subject : str
        The figure's.
    variant : Series
    settings : mapping
        Every setting by name.
    quantity : str
        Name of a quantity.
    rate_fraction : float or None
        Offered rate over the variant's throughput; None where nothing was offered.
    offered_tps : float or None
        The median offered rate.
    values : dict of (int, int) to float
        Process and round to value.
    states : tuple of str
        The members of ``STATES`` that more than half of its rows are in.
    threads, cores : int
        The most threads and the fewest cores among its rows.
    in_flight : int or None
        The most input tuples that the design lets be under way at once.
    samples : int or None
        The fewest latencies that a value stands on.
    bracket : tuple of (float, float) or None
        Of a rate search: the highest rate that passed, the lowest that failed.
    """

    paper: str
    figure: str
    machine: str
    subject: str
    variant: Series
    settings: Mapping[str, Any]
    quantity: str
    rate_fraction: float | None
    offered_tps: float | None
    values: Mapping[Place, float]
    states: tuple[str, ...]
    threads: int
    cores: int
    in_flight: int | None = None
    samples: int | None = None
    bracket: tuple[float, float | None] | None = None

    @cached_property
    def spread(self) -> Spread:
        """Its value, and how far processes or rounds lie apart."""
        return statistics.spread(self.values, added=quantities.quantity(self.quantity).is_added)

    @property
    def value(self) -> float:
        """The mean over processes: geometric of times and rates, arithmetic of what is added."""
        return self.spread.value

    @property
    def processes(self) -> int:
        """How many processes measured it."""
        return self.spread.processes

    @property
    def crowded(self) -> bool:
        """Whether it had more threads than cores."""
        return self.threads > self.cores

    @property
    def place(self) -> tuple:
        """What tells it from every other point, its rate apart."""
        where = (self.paper, self.figure, self.machine, self.variant)
        return (*where, _words(self.settings), self.quantity)


def rows_of(
    rows: Iterable[Mapping[str, Any]], figure: Figure
) -> list[tuple[Series, Mapping[str, Any]]]:
    """Return the rows that a figure shows, valid or not, each with the series it is drawn in.

    Equal runs are not among them.

    Raises
    ------
    UsageError
        When two lines of the figure are the same setting.
    """
    free = {sweep.setting for sweep in figure.free}
    phases = {*ALWAYS, *quantities.phases_of(figure)}
    own: dict[tuple, Series] = {}
    for line in series.measured(figure):
        settings = _words(series.resolved(figure, line, {}), free)
        other = own.setdefault((line.variant, settings), line)
        if other != line:
            raise UsageError(
                f"figure {figure.id} of {figure.paper} has two lines of the same settings,"
                f" {other} and {line}: leave one out"
            )
    found = []
    for row in rows:
        if row["family"] == figure.family and _is_asked(row, figure, phases):
            line = own.get((row["variant"], _words(row["settings"], free)))
            if line is not None and figure.asks(row["settings"], row["size"]):
                found.append((line, row))
    return found


def _is_asked(row: Mapping[str, Any], figure: Figure, phases: Set[str]) -> bool:
    """Say whether a figure shows this kind of run: others may have asked for more of a setting."""
    if row["phase"] == OPEN and figure.x != OFFERED_RATE:
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
    return [point for figure in paper.figures for point in gather(rows, figure)]


def gather(rows: Sequence[Mapping[str, Any]], figure: Figure) -> list[Point]:
    """Return the points of a figure, sorted by series, swept settings and rate.

    Parameters
    ----------
    rows : sequence of mapping
        Raw results of any settings; those that the figure does not show, and those that are not
        valid, are passed over.
    figure : Figure
    """
    found: dict[tuple, dict[Place, tuple[Mapping[str, Any], float]]] = {}
    shown = [(line, row) for line, row in rows_of(rows, figure) if row["valid"]]
    overrun = _overrun(row for row in rows if row["valid"])
    for line, row in shown:
        for quantity, value in _values(row):
            place = (row["machine"], line, _words(row["settings"]), quantity, fraction_of(row))
            # A run that was repeated: the later one counts.
            found.setdefault(place, {})[row["repetition"], row["round"]] = (row, value)
    usual = usual_ways(rows)
    kept = {place: _undisturbed(_that_kept_up(own), usual) for place, own in found.items()}
    made = [_point(figure, place, kept[place], overrun) for place in kept]
    asked = [point.settings for point in made]
    made = [
        replace(point, settings=settings)
        for point in made
        for settings in everywhere(point.variant, point.settings, figure, asked)
    ]
    return sorted(made, key=lambda point: _order(point, figure))


def everywhere(
    line: Series, settings: Mapping[str, Any], figure: Figure, others: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the settings of a series at every value of what is swept and means nothing to it.

    The values are those that `others`, the settings of the figure's rows, have.
    """
    others, found = list(others), [settings]
    for name in sorted(series.meaningless(figure, line)):
        values = dict.fromkeys(each[name] for each in others if name in each)
        found = [{**each, name: value} for each in found for value in values]
    return found


def _that_kept_up(members: Mapping[Place, tuple]) -> Mapping[Place, tuple]:
    """Return the runs of each process without the saturated ones, where others kept up.

    A disturbed run is no failure: it is tried again, and its latency is that of a backlog.
    """
    kept = {process for (process, _), (row, _) in members.items() if not row["saturated"]}
    return {
        place: (row, value)
        for place, (row, value) in members.items()
        if not row["saturated"] or place[0] not in kept
    }


def _undisturbed(
    members: Mapping[Place, tuple], usual: Mapping[tuple, float]
) -> Mapping[Place, tuple]:
    """Return the runs of each process without those that were disturbed, where most were not."""
    quiet = {place: row for place, (row, _) in members.items() if not is_disturbed(row, usual)}
    runs = Counter(process for process, _ in members)
    left = Counter(process for process, _ in quiet)
    enough = {process for process in runs if 2 * left[process] >= runs[process]}
    return {
        place: member
        for place, member in members.items()
        if place in quiet or place[0] not in enough
    }


def _order(point: Point, figure: Figure) -> tuple:
    places = [sweep.place_of(point.settings.get(sweep.setting)) for sweep in figure.free]
    rate = point.rate_fraction or 0.0
    return (point.machine, point.variant, places, point.quantity, rate)


def setting_of(row: Mapping[str, Any]) -> tuple:
    """Return what a row is of: machine, family, variant and settings."""
    return (row["machine"], row["family"], row["variant"], _words(row["settings"]))


def _overrun(rows: Iterable[Mapping[str, Any]]) -> set[tuple]:
    """Return the settings that did not keep up with the usual share of their own throughput.

    A process says so when each of its open runs at that rate was saturated; a setting is meant when
    more than half of its processes do.
    """
    kept: dict[tuple, dict[int, bool]] = {}
    for row in rows:
        if row["phase"] == OPEN and row["rate_fraction"] == row["usual_fraction"]:
            own = kept.setdefault(setting_of(row), {})
            own[row["repetition"]] = own.get(row["repetition"], False) or not row["saturated"]
    return {place for place, own in kept.items() if 2 * sum(own.values()) < len(own)}


def fraction_of(row: Mapping[str, Any]) -> float | None:
    """Return the rate fraction, rounded so that equal requests of two repetitions meet."""
    if row["phase"] not in (OPEN, EQUAL_OPEN) or row["rate_fraction"] is None:
        return None
    return round(row["rate_fraction"], 3)


def _values(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the quantities that a row gives."""
    for quantity in quantities.of_family(row["family"]).values():
        if quantity.phase == row["phase"]:
            value = quantity.value(row)
            if value is not None:
                yield quantity.name, value


def states_of(row: Mapping[str, Any]) -> set[str]:
    """Return the members of ``STATES`` that `row` is in by itself."""
    flags = {state for state in STATES if row.get(state)}
    if row.get("steady") is False:
        flags.add("unsteady")
    return flags


def _point(
    figure: Figure,
    place: tuple,
    members: Mapping[Place, tuple[Mapping[str, Any], float]],
    overrun: Set[tuple],
) -> Point:
    machine, line, settings, quantity, fraction = place
    rows = [row for row, _ in members.values()]
    flags = [states_of(row) for row in rows]
    states = {state for state in STATES if 2 * sum(state in own for own in flags) > len(flags)}
    if quantities.quantity(quantity).phase == CLOSED and setting_of(rows[0]) in overrun:
        states.add("unsustained")
    if not quantities.quantity(quantity).timed:
        states = set()
    offered = sorted(row["offered_tps"] for row in rows if row["offered_tps"] is not None)
    samples = [count for row in rows if (count := _samples(quantity, row)) is not None]
    brackets = [row for row in rows if row["bracket_low_tps"] is not None]
    return Point(
        paper=paper_of(figure),
        figure=figure.id,
        machine=machine,
        subject=figure.subject,
        variant=line,
        settings=dict(settings),
        quantity=quantity,
        rate_fraction=fraction,
        offered_tps=offered[len(offered) // 2] if offered else None,
        values={where: value for where, (_, value) in members.items()},
        states=tuple(state for state in STATES if state in states),
        threads=max(row["threads"] for row in rows),
        cores=min(row["cores"] for row in rows),
        in_flight=max((row["in_flight_tuples"] or 0 for row in rows), default=0) or None,
        samples=min(samples, default=None),
        bracket=_bracket(brackets) if brackets else None,
    )


def _samples(quantity: str, row: Mapping[str, Any]) -> int | None:
    """Return how many latencies a value stands on; of markers, three in five are kept."""
    if quantities.quantity(quantity).phase == CLOSED:
        return None if row.get("markers") is None else 3 * row["markers"] // 5
    return row["latency_samples"]


def _bracket(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float | None]:
    """Return the bracket that all searches agree with: the lowest low, the highest high."""
    highs = [row["bracket_high_tps"] for row in rows]
    return min(row["bracket_low_tps"] for row in rows), None if None in highs else max(highs)


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
