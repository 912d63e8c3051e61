"""The floors of noise: what equal runs of this machine differ by, one for everybody.

Equal runs are two slices of one setting in one round, the open run that each process makes twice,
and the setting that all processes have in common, each process against the next. A floor is what 19
of 20 such pairs stay below. Those within a process have one for throughput, for the latency of open
runs and for that which closed runs give, and again for runs with more threads than cores. What sets
processes apart has its own: rounds average out what differs from run to run, and not where a
process's memory came to lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import exp, hypot, log
from typing import Any, NamedTuple

from experiments.judging.disturbed import is_disturbed, usual_ways
from experiments.judging.points import Point, fraction_of, setting_of
from experiments.records import quantities, statistics
from experiments.records.columns import CLOSED, EQUAL, EQUAL_OPEN, OPEN, REFERENCE
from experiments.records.statistics import Floor

THROUGHPUT, LATENCY, PROCESSING = "throughput", "latency", "processing latency"
BETWEEN = "throughput of two processes"


class Noise(NamedTuple):
    """What equal runs of a kind differ by: logarithms of factors, 0 where nothing is known.

    Attributes
    ----------
    within : float
        Of single runs in one process.
    between : float
        Of processes, whatever their rounds.
    """

    within: float = 0.0
    between: float = 0.0

    def factor(self, rounds: float) -> float:
        """Return the factor between means of so many rounds a process that are equal in truth."""
        return exp(hypot(self.within / rounds**0.5, self.between))

    def beside(self, other: Noise) -> Noise:
        """Return the noise of a product of two differences, at worst."""
        return Noise(self.within + other.within, self.between + other.between)


def kind_of(quantity: str) -> str:
    """Return whose floor a quantity has."""
    one = quantities.quantity(quantity)
    if one.unit != "ms":
        return THROUGHPUT
    return PROCESSING if one.phase == CLOSED else LATENCY


@dataclass(frozen=True)
class Floors:
    """What equal runs of this machine differ by: one floor a kind of quantity, for everybody.

    Attributes
    ----------
    floors : mapping of (str, bool) to Floor
        By ``THROUGHPUT``, ``LATENCY``, ``PROCESSING`` or ``BETWEEN``, and whether there were more
        threads than cores.
    """

    floors: Mapping[tuple[str, bool], Floor]

    def of(self, quantity: str, crowded: bool) -> Floor | None:
        """Return the floor of a quantity; None where no equal runs of its kind were made.

        Where they were made in the other kind of crowd alone, theirs is better than none.
        """
        kind = kind_of(quantity)
        return self.floors.get((kind, crowded), self.floors.get((kind, not crowded)))

    @property
    def between(self) -> Floor | None:
        """What one setting differs by from process to process: the larger one of both crowds."""
        found = [floor for (kind, _), floor in self.floors.items() if kind == BETWEEN]
        return max(found, default=None)

    def noise(self, *points: Point) -> Noise:
        """Return what a difference between `points` must exceed. Counts have no noise.

        # ASSUME: processes differ in latency, and with more threads than cores, by what the one
        # setting that all of them measure differs by in throughput. Nothing else is measured in
        # every process, and it is more likely too little than too much.
        """
        timed = [p for p in points if quantities.quantity(p.quantity).timed]
        found = [self.of(point.quantity, point.crowded) for point in timed]
        within = max((log(floor.factor) for floor in found if floor), default=0.0)
        between = log(self.between.factor) if timed and self.between else 0.0
        return Noise(within, between)


def floors_of(rows: Iterable[Mapping[str, Any]]) -> Floors:
    """Return the floors of noise that the equal runs among `rows` show.

    Throughput: the two slices of one setting in one round. Latency: the open run that each process
    makes twice. Processing latency: that of the two slices. Between processes: the setting that all
    of them have in common, each process against the next.
    """
    pairs: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    quiet: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    rows = list(rows)
    usual = usual_ways(rows)
    for kind, one, other in equal_pairs(rows):
        first, second = _value(kind, one), _value(kind, other)
        # The latency of a run that did not keep up is that of a backlog.
        backlog = kind == LATENCY and (one["saturated"] or other["saturated"])
        if first and second and not backlog:
            place = (kind, one["threads"] > one["cores"])
            pairs.setdefault(place, []).append((first, second))
            if not (is_disturbed(one, usual) or is_disturbed(other, usual)):
                quiet.setdefault(place, []).append((first, second))
    # As with the points, disturbed runs are left out where most were not disturbed.
    kept = {
        place: quiet[place] if 2 * len(quiet.get(place, ())) >= len(own) else own
        for place, own in pairs.items()
    }
    return Floors({place: statistics.floor_of(own) for place, own in kept.items()})


def _value(kind: str, row: Mapping[str, Any]) -> float | None:
    """Return what equal runs of a kind are compared by; None where the row's family has none."""
    if kind == PROCESSING:
        known = quantities.of_family(row["family"])
        return next((q.value(row) for q in known.values() if kind_of(q.name) == PROCESSING), None)
    return row["latency_ms_mean" if kind == LATENCY else "throughput_tps"]


def equal_pairs(
    rows: Iterable[Mapping[str, Any]],
) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Return each pair of equal runs with its kind: one of those that floors have."""
    rows = [row for row in rows if row["valid"]]
    found = []
    kinds = (
        (THROUGHPUT, CLOSED, EQUAL),
        (PROCESSING, CLOSED, EQUAL),
        (LATENCY, OPEN, EQUAL_OPEN),
    )
    for kind, phase, again in kinds:
        first = {_run(row): row for row in rows if row["phase"] == phase}
        seconds = {_run(row): row for row in rows if row["phase"] == again}
        found += [
            (kind, first[run], row)
            for run, row in seconds.items()
            if run in first and (kind != PROCESSING or _value(kind, row) is not None)
        ]
    common: dict[tuple, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["started_at"]):
        if row["phase"] == REFERENCE:
            # Those of another key were measured under other conditions.
            common.setdefault((*setting_of(row), row["key"]), []).append(row)
    for own in common.values():
        found += [(BETWEEN, one, other) for one, other in pairwise(own)]
    return found


def _run(row: Mapping[str, Any]) -> tuple:
    """Return what two equal runs have in common."""
    return (*setting_of(row), fraction_of(row), row["repetition"], row["round"])
