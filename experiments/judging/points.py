"""The points of a figure: raw rows of all processes and rounds, gathered by axis position.

The judge and the figures read the same points, so that a verdict never speaks of a value that is
not drawn. A row belongs to no figure: a figure shows every row of a declared series with equal
settings; a swept setting must have one of the values that the figure declares for the size of the
row's profile. Other values belong to other figures, which measured few of the lines there. Sources
of values:

* throughput: the ``closed`` rows, each the middle of a slice under backpressure, or a whole pass;
* the sustained rate: the ``sustained`` row of a rate search, where the profile has one;
* latency: the ``open`` rows, one point for each offered rate where the rate is the x axis. Other
  figures have one latency a setting, at the profile's common share of the setting's throughput;
* quantities of another phase: the rows of that phase;
* a count such as outputs per tuple: the ``closed`` rows. It is no time: no state of the machine
  affects it.

Invalid rows give no point, except for whether their output was right. No other row is excluded for
the value measured, except an open run that did not keep up when another of the same process did.
Rows of equal runs (``equal``, ``equal open``, ``reference``) only give the noise floors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from experiments import series
from experiments.declare import OFFERED_RATE, Figure, Paper, Series, paper_of
from experiments.records import quantities, statistics
from experiments.records.columns import CLOSED, EQUAL_OPEN, OPEN, PROBE, SUSTAINED
from experiments.records.statistics import Place, Spread
from operators.contract import UsageError

# In the order in which legends and sentences name them. ``unsustained``: an open run at the usual
# share of this throughput did not keep up, twice.
STATES = ("unsustained", "saturated", "oversubscribed", "noisy", "unsteady")
# The kinds of run that every figure shows, whatever other runs its settings have.
ALWAYS = (CLOSED, PROBE, SUSTAINED)
# Distances between cores differ by a factor of four on virtual machines whose host moves them;
# where cores stay, two checks differ by no more than this factor.
STATES_APART = 2.5
# A longer run averages over the states, which change within seconds.
LONG_SECONDS = 0.5
# Values of two states within this factor are drawn as one.
ALIKE = 1.25


class Ways(NamedTuple):
    """Shortest and longest transfer of a cache line between cores around a run, ns."""

    short: float
    long: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Ways | None:
        """Return the transfers of a row; None for one thread, for a long run, and without any."""
        if (row.get("seconds") or 0.0) > LONG_SECONDS:
            return None
        names = ("transfer_before_ns", "transfer_after_ns", "transfer_ns")
        seen = [row.get(name) for name in names if row["threads"] > 1]
        # A table has NaN for a missing value.
        known = [each for each in seen if each and each == each]
        return cls(min(known), max(known)) if known else None


def of_one_state(each: Iterable[Ways | None]) -> bool:
    """Say whether the cores lay equally far apart around all of some runs.

    A host that moves the cores of a virtual machine halves or doubles the speed of cheap work on
    two threads, and so distorts any comparison across two states. Runs without a check, long ones
    and those of one thread are of any state, and so is a run that is compared with a formula.
    """
    known = {ways for ways in each if ways is not None}
    if len(known) < 2:
        return True
    return max(ways.long for ways in known) <= STATES_APART * min(ways.short for ways in known)


@dataclass(frozen=True)
class Point:
    """One quantity of one series at one setting, over all processes and rounds.

    Attributes
    ----------
    paper, figure : str
        Ids; a figure's is unique within the paper.
    machine : str
    subject : str
        The subject of the figure.
    variant : Series
    settings : mapping
        Every setting by name.
    quantity : str
        Name of a quantity.
    rate_fraction : float or None
        Offered rate over the variant's throughput; None for runs without an offered rate.
    offered_tps : float or None
        The median offered rate.
    values : dict of (int, int) to float
        Process and round to value.
    states : tuple of str
        The members of ``STATES`` that more than half of the rows are in.
    threads, cores : int
        The most threads and the fewest cores among the rows.
    in_flight : int or None
        The most input tuples that the design lets be in flight.
    samples : int or None
        The fewest latencies behind a value.
    bracket : tuple of (float, float) or None
        Of a rate search: the highest rate that passed, the lowest that failed.
    sustained : tuple of (float, float) or None
        Of a throughput: the bracket of the same setting, where one was searched and closed.
    ways : dict of (int, int) to (float, float)
        Process and round to the transfer time of a cache line between cores before the run and
        after it, ns; of runs of more than one thread.
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
    sustained: tuple[float, float] | None = None
    ways: Mapping[Place, Ways] = field(default_factory=dict)

    @cached_property
    def spread(self) -> Spread:
        """The value, and how far processes or rounds lie apart."""
        return statistics.spread(self.values, added=quantities.quantity(self.quantity).is_added)

    @cached_property
    def of_two_states(self) -> tuple[float, float] | None:
        """The values with near and with far cores, further apart than ``ALIKE``; None otherwise.

        Each is of two runs at least. The mean of such values would be that of neither state.
        """
        if not self.ways:
            return None
        nearest = min(ways.short for ways in self.ways.values())
        near, far = {}, {}
        for at, ways in self.ways.items():
            if ways.long <= STATES_APART * nearest:
                near[at] = self.values[at]
            elif ways.short > STATES_APART * nearest:
                far[at] = self.values[at]
        if min(len(near), len(far)) < 2:
            return None
        added = quantities.quantity(self.quantity).is_added
        one, other = (statistics.spread(each, added=added).value for each in (near, far))
        if min(one, other) <= 0 or max(one, other) <= ALIKE * min(one, other):
            return None
        return one, other

    @property
    def value(self) -> float:
        """The mean over processes: geometric of times and rates, arithmetic of added quantities.

        Each process counts with the median of the rounds.
        """
        return self.spread.value

    @property
    def processes(self) -> int:
        """The number of processes that measured it."""
        return self.spread.processes

    @property
    def oversubscribed(self) -> bool:
        """Whether the point is oversubscribed: more threads than cores."""
        return self.threads > self.cores

    @property
    def identity(self) -> tuple:
        """The identity of the point among all others, except for the rate."""
        where = (self.paper, self.figure, self.machine, self.variant)
        return (*where, _words(self.settings), self.quantity)


def rows_of(
    rows: Iterable[Mapping[str, Any]], figure: Figure
) -> list[tuple[Series, Mapping[str, Any]]]:
    """Return the rows that a figure shows, valid or not, each with the series it is drawn in.

    Equal runs are excluded.

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
    variants = {variant for variant, _ in own}
    for row in rows:
        if row["family"] != figure.family or row["variant"] not in variants:
            continue
        if _is_asked(row, figure, phases):
            line = own.get((row["variant"], _words(row["settings"], free)))
            if line is not None and figure.declares(row["settings"], row["size"]):
                found.append((line, row))
    return found


def _is_asked(row: Mapping[str, Any], figure: Figure, phases: Set[str]) -> bool:
    """Say whether a figure shows this kind of run: others may need more runs of a setting."""
    if row["phase"] == OPEN and figure.x != OFFERED_RATE:
        # One latency a setting, at the common share of the profile.
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
        Raw results of any settings; invalid rows, and those that the figure does not show, are left
        out.
    figure : Figure
    """
    found: dict[tuple, dict[Place, tuple[Mapping[str, Any], float]]] = {}
    shown = rows_of(rows, figure)
    overrun = _overrun(row for row in rows if row["valid"] and row["family"] == figure.family)
    for line, row in shown:
        settings, fraction = _words(row["settings"]), fraction_of(row)
        for quantity, value in _values(row):
            place = (row["machine"], line, settings, quantity, fraction)
            # A run that was repeated: the later one counts.
            found.setdefault(place, {})[row["repetition"], row["round"]] = (row, value)
    made = [_point(figure, place, _that_kept_up(own), overrun) for place, own in found.items()]
    made = _with_brackets(made)
    asked = [point.settings for point in made]
    made = [
        replace(point, settings=settings)
        for point in made
        for settings in everywhere(point.variant, point.settings, figure, asked)
    ]
    return sorted(made, key=lambda point: _order(point, figure))


def _with_brackets(points: Sequence[Point]) -> list[Point]:
    """Return the points; throughputs carry the bracket of their setting's sustained rate."""

    def setting(point: Point) -> tuple:
        return (point.machine, point.variant, _words(point.settings))

    closed = {
        setting(point): point.bracket
        for point in points
        if point.bracket is not None and None not in point.bracket
    }
    return [
        replace(point, sustained=closed.get(setting(point)))
        if point.quantity == "throughput_tps"
        else point
        for point in points
    ]


def everywhere(
    line: Series, settings: Mapping[str, Any], figure: Figure, others: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the settings of a series at every value of the sweeps that do not apply to the series.

    The values are those in `others`, the settings of the figure's rows.
    """
    others, found = list(others), [settings]
    for name in sorted(series.meaningless(figure, line)):
        values = dict.fromkeys(each[name] for each in others if name in each)
        found = [{**each, name: value} for each in found for value in values]
    return found


def _that_kept_up(members: Mapping[Place, tuple]) -> Mapping[Place, tuple]:
    """Return the runs of each process without the saturated ones, where others kept up.

    A disturbed run is no failure: it is tried again, and the latency in it is that of a backlog.
    """
    kept = {process for (process, _), (row, _) in members.items() if not row["saturated"]}
    return {
        place: (row, value)
        for place, (row, value) in members.items()
        if not row["saturated"] or place[0] not in kept
    }


def _order(point: Point, figure: Figure) -> tuple:
    places = [sweep.sort_key(point.settings.get(sweep.setting)) for sweep in figure.free]
    rate = point.rate_fraction or 0.0
    return (point.machine, point.variant, places, point.quantity, rate)


def setting_of(row: Mapping[str, Any]) -> tuple:
    """Return the setting of a row: machine, family, variant and settings."""
    return (row["machine"], row["family"], row["variant"], _words(row["settings"]))


def _overrun(rows: Iterable[Mapping[str, Any]]) -> set[tuple]:
    """Return the settings that did not keep up with the usual share of their throughput.

    A process counts when each of its open runs at that rate was saturated; a setting is returned
    when more than half of the processes count.
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
    """Yield the quantities of a row."""
    for quantity in quantities.of_family(row["family"]).values():
        if quantity.phase == row["phase"] and (row["valid"] or quantity.of_wrong):
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
        ways={at: ways for at, (row, _) in members.items() if (ways := Ways.of(row))},
    )


def _samples(quantity: str, row: Mapping[str, Any]) -> int | None:
    """Return the number of latencies behind a value; of markers, three in five are kept."""
    if quantities.quantity(quantity).phase == CLOSED:
        return None if row.get("markers") is None else 3 * row["markers"] // 5
    return row["latency_samples"]


def _bracket(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float | None]:
    """Return the bracket that all searches agree with: the lowest low, the highest high."""
    highs = [row["bracket_high_tps"] for row in rows]
    return min(row["bracket_low_tps"] for row in rows), None if None in highs else max(highs)


def at_maximum(points: Iterable[Point]) -> list[Point]:
    """Return `points` with one latency a setting: that at the highest rate below the maximum.

    Where every offered rate was at or above the maximum, the point at the lowest rate is used, with
    its state.
    """
    chosen: dict[tuple, Point] = {}
    for point in points:
        before = chosen.get(point.identity)
        if before is None or _nearer(point, before):
            chosen[point.identity] = point
    return list(chosen.values())


def _nearer(point: Point, before: Point) -> bool:
    one, other = point.rate_fraction or 0.0, before.rate_fraction or 0.0
    if (one < 1.0) != (other < 1.0):
        return one < 1.0
    return one > other if one < 1.0 else one < other
