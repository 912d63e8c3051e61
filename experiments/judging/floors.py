"""The noise floors: the difference between equal runs on this machine, shared by all statements.

Equal runs are

* slices of one setting in two consecutive rounds of a process, or twice in one round;
* open runs of one setting and rate that kept up, in the same way;
* the results of two processes for one setting.

A floor is the 95th percentile of such differences: 19 of 20 pairs stay below it. Within a process
there is one floor for throughput, one for the latency of open runs and one for the latency of
closed runs, and again for oversubscribed runs (more threads than cores). Between processes there is
another: rounds average out the differences from run to run, but not those of the memory addresses
of a process.

Equal runs of a kind are of one state of the machine, as the two of a ratio are: the cores lay
equally far apart around both (``points.of_one_state``).

The order of each round is drawn anew, so that a setting has another position in each. The effect
of the position on a run differs between equal runs as it does between two rivals of a round, and
so contributes equally to the floor and to a ratio.

A floor needs ``ENOUGH`` pairs. With fewer it is unknown, and nothing is judged by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import exp, hypot, log
from statistics import median
from typing import Any, NamedTuple

from experiments.judging.points import Point, Ways, fraction_of, of_one_state, setting_of
from experiments.records import quantities, statistics
from experiments.records.columns import CLOSED, EQUAL, EQUAL_OPEN, OPEN, REFERENCE
from experiments.records.statistics import Floor

THROUGHPUT, LATENCY, PROCESSING = "throughput", "latency", "processing latency"
BETWEEN = "throughput of two processes"
# With fewer pairs than these a 95th percentile cannot be estimated.
ENOUGH = 20
# The runs of each kind, and those that repeat them in the same round.
RUNS = {
    THROUGHPUT: (CLOSED, EQUAL),
    PROCESSING: (CLOSED, EQUAL),
    LATENCY: (OPEN, EQUAL_OPEN),
}

Row = Mapping[str, Any]


class Noise(NamedTuple):
    """The noise between equal runs of a kind.

    Attributes
    ----------
    within : tuple of Floor
        Of single runs in one process: a floor for each difference that the noise belongs to.
    between : float
        Of processes, however many rounds they have: the logarithm of a factor.
    known : bool
        Whether there were enough equal runs to know.
    bracket : float
        How far searched rates may lie from the middle of their brackets, for all of them
        together: the logarithm of a factor.
    """

    within: tuple[Floor, ...] = ()
    between: float = 0.0
    known: bool = True
    bracket: float = 0.0

    def of_median(self, rounds: int) -> float:
        """Return the noise of medians of so many rounds of one process, as a logarithm."""
        return sum(log(floor.of_median(rounds)) for floor in self.within)

    def factor(self, rounds: int) -> float:
        """Return the factor between such medians of any two processes that are truly equal."""
        return exp(hypot(self.of_median(rounds), self.between))

    def combined_with(self, other: Noise) -> Noise:
        """Return the noise of a product of two differences in the worst case."""
        known = self.known and other.known
        brackets = self.bracket + other.bracket
        return Noise(self.within + other.within, self.between + other.between, known, brackets)


def kind_of(quantity: str) -> str:
    """Return the kind of floor that applies to a quantity."""
    one = quantities.quantity(quantity)
    if one.unit != "ms":
        return THROUGHPUT
    return PROCESSING if one.phase == CLOSED else LATENCY


@dataclass(frozen=True)
class Floors:
    """The noise between equal runs on this machine: one floor a kind of quantity.

    Attributes
    ----------
    floors : mapping of (str, bool) to Floor
        By ``THROUGHPUT``, ``LATENCY``, ``PROCESSING`` or ``BETWEEN``, and whether the runs were
        oversubscribed (more threads than cores). Some may have too few pairs.
    """

    floors: Mapping[tuple[str, bool], Floor]

    def of(self, quantity: str, oversubscribed: bool) -> Floor | None:
        """Return the floor of a quantity; None where it is unknown."""
        return self.known(kind_of(quantity), oversubscribed)

    def between(self, oversubscribed: bool) -> Floor | None:
        """Return the floor between processes with one setting, None where it is unknown.

        # ASSUME: processes differ in latency by the same factor as in throughput; and where no
        setting of as many threads was measured in enough processes, by the same factor as another
        setting. It is more likely too little than too much.
        """
        return self.known(BETWEEN, oversubscribed) or self.known(BETWEEN, not oversubscribed)

    def known(self, kind: str, oversubscribed: bool) -> Floor | None:
        """Return the floor of a kind; None where it has fewer than ``ENOUGH`` pairs."""
        found = self.floors.get((kind, oversubscribed))
        return found if found is not None and found.pairs >= ENOUGH else None

    def noise(self, *points: Point) -> Noise:
        """Return the noise of a difference between `points`. Counts have no noise."""
        timed = [point for point in points if quantities.quantity(point.quantity).timed]
        if not timed:
            return Noise()
        within = [self.of(point.quantity, point.oversubscribed) for point in timed]
        between = [self.between(point.oversubscribed) for point in timed]
        if None in within or None in between:
            return Noise(known=False)
        return Noise((max(within),), log(max(between).factor))

    def records(self) -> list[dict[str, Any]]:
        """Return the floors as verdicts store them."""
        return [
            {"of": kind, "oversubscribed": oversubscribed, **floor._asdict()}
            for (kind, oversubscribed), floor in sorted(self.floors.items())
        ]

    @classmethod
    def of_records(cls, told: Iterable[Mapping[str, Any]]) -> Floors:
        """Return the floors stored in verdicts."""
        return cls({
            (each["of"], each["oversubscribed"]): Floor(
                each["factor"], each["pairs"], tuple(each["medians"])
            )
            for each in told
        })  # fmt: skip


def floors_of(rows: Iterable[Row]) -> Floors:
    """Return the noise floors computed from the equal runs among `rows`."""
    rows = [row for row in rows if row["valid"]]
    pairs: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for kind, one, other in equal_pairs(rows):
        values = _value(kind, one), _value(kind, other)
        pairs.setdefault((kind, _oversubscribed(one)), []).append(values)
    for oversubscribed, *values in _processes(rows):
        pairs.setdefault((BETWEEN, oversubscribed), []).append(tuple(values))
    return Floors({place: statistics.floor_of(own) for place, own in pairs.items()})


def equal_pairs(rows: Iterable[Row]) -> list[tuple[str, Row, Row]]:
    """Return each two equal runs of one process with their kind.

    They are of consecutive rounds, or of one round in which the setting was run twice.
    """
    found = []
    rows = [row for row in rows if row["valid"]]
    for kind, (phase, again) in RUNS.items():
        able = [row for row in rows if _value(kind, row)]
        runs: dict[tuple, dict[int, Row]] = {}
        for row in able:
            if row["phase"] == phase:
                runs.setdefault(_run(row), {})[row["round"]] = row
        for own in runs.values():
            both = ((own[one], own[other]) for one, other in pairwise(sorted(own)))
            found += [(kind, *pair) for pair in both if of_one_state(map(Ways.of, pair))]
        for row in able:
            first = runs.get(_run(row), {}).get(row["round"])
            if row["phase"] == again and first is not None:
                if of_one_state(map(Ways.of, (first, row))):
                    found.append((kind, first, row))
    return found


def _processes(rows: Iterable[Row]) -> Iterator[tuple[bool, float, float]]:
    """Yield the results of each two processes for one setting: the medians of the rounds.

    The reference setting is measured by all processes, the others by those of a group. Processes
    that measured it under other conditions have rows of another key.
    """
    runs: dict[tuple, dict[tuple, dict[int, Row]]] = {}
    for row in rows:
        if row["phase"] in (CLOSED, REFERENCE) and _value(THROUGHPUT, row):
            every = row["phase"] == REFERENCE
            setting = (row["phase"], "" if every else row["group"], *setting_of(row))
            process = (row["group"], row["repetition"])
            runs.setdefault(setting, {}).setdefault(process, {})[row["round"]] = row
    for processes in runs.values():
        alike: dict[str, list[tuple[bool, float, list[Ways | None]]]] = {}
        for rounds in processes.values():
            first = rounds[min(rounds)]
            middle = median(_value(THROUGHPUT, row) for row in rounds.values())
            ways = [Ways.of(row) for row in rounds.values()]
            alike.setdefault(first["key"], []).append((_oversubscribed(first), middle, ways))
        for own in alike.values():
            for (oversubscribed, one, ways), (_, other, others) in combinations(own, 2):
                if of_one_state((*ways, *others)):
                    yield oversubscribed, one, other


def _value(kind: str, row: Row) -> float | None:
    """Return the value by which equal runs of a kind are compared; None where the row has none."""
    if kind == PROCESSING:
        known = quantities.of_family(row["family"])
        return next((q.value(row) for q in known.values() if kind_of(q.name) == PROCESSING), None)
    if kind == LATENCY:
        # The latency of a run that did not keep up is that of a backlog.
        return None if row["saturated"] else row["latency_ms_mean"]
    return row["throughput_tps"]


def _oversubscribed(row: Row) -> bool:
    return row["threads"] > row["cores"]


def _run(row: Row) -> tuple:
    """Return the key that equal runs of one process share, except for the round."""
    return (*setting_of(row), fraction_of(row), row["group"], row["repetition"])
