"""The difference between two sets of results, value by value, and which of it is more than noise.

The points are those that figures and verdicts read, and two points of one setting are paired as two
rivals are (``pairs``): by the numbers of process and round, in one state of the machine. A value
has *changed* when two things are so:

* the pair differs by the judge's rule for one pair (``pool``: from six processes on the confidence
  interval does not contain 1; with fewer the range of processes, and at least the noise floor);
* the ratio lies beyond the noise floor and beyond practical equality. The floor is the factor
  between truly equal processes; of a rate, between medians of as many runs as each set has, and of
  a latency between the values of single processes.

The second is asked of intervals, too. The forks of one process are more alike than two processes
are, and another hour is another machine: an interval knows neither. Of two ``quick`` sets of one
commit and machine, 16 % of the intervals did not contain 1; with the floor one value of 1,229 was
called changed. With one of the two, or where the floor is unknown, it *cannot* be told.

The floor is the larger one of the two sets: equal runs were made in each. Percentiles of latency
are not compared: the floor of latencies is that of means. Of all that is no rate and no latency
(shares, turns, bytes in use) only the size of the state is: nobody knows by how much the rest
differs between equal runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from statistics import median
from typing import Any

from experiments import papers
from experiments.declare import Paper
from experiments.judging.floors import Floors
from experiments.judging.pairs import Names, pair_of
from experiments.judging.points import Point, points_of_paper
from experiments.judging.pool import DIFFERS, DOES_NOT_HOLD, HOLDS, PRACTICALLY_EQUAL, pooled
from experiments.records import quantities
from experiments.records.columns import PROBE, REFERENCE
from experiments.records.quantities import STATE_MIB
from operators import registry
from operators.contract import UsageError

# In the order of severity, in which they are listed.
MARKS = ("broken", "worse", "mended", "better", "other data", "only before", "only after",
         "cannot tell", "alike")  # fmt: skip
(BROKEN, WORSE, MENDED, BETTER, OTHER_DATA, ONLY_BEFORE, ONLY_AFTER, CANNOT_TELL,
 ALIKE) = MARKS  # fmt: skip
# The marks of a difference; the others say that there is none, or that it is unknown.
DIFFERENT = frozenset(MARKS) - {CANNOT_TELL, ALIKE}
# The units of what equal runs are compared by, rates and latencies.
RATES = ("t/s", "c/s")
FLOORED = (*RATES, "ms")
PERCENTILE = re.compile(r"_ms_(p\d+|max)$")
# Failed runs are a mark of their setting, and no quantity.
RUNS = "runs"
IN_NOISE, NO_FLOOR = "within the noise floor", "the noise floor is unknown"

Row = Mapping[str, Any]
Setting = tuple[str, str, tuple]
Identity = tuple[Setting, str, float | None]


@dataclass(frozen=True)
class Change:
    """One value of one setting, in both sets.

    Attributes
    ----------
    mark : str
        A member of ``MARKS``.
    family, variant : str
        Ids.
    settings : str
        Those that differ from the defaults, as ``name=value``.
    quantity : str
        A name, or ``RUNS`` where runs failed.
    unit : str
    rate_fraction : float or None
        The offered rate over the throughput; None for runs without an offered rate.
    before, after : float or None
        The values; of ``RUNS`` the shares of runs that failed.
    ratio : float or None
        After over before, the mean over processes.
    reach : tuple of (float, float) or None
        The range that the ratio is believed to lie in.
    floor : float or None
        The factor between equal runs; None where it is unknown.
    figures : tuple of str
        Paper and id of each figure that shows it.
    note : str
        Why it cannot be told, why runs failed, or why a ratio is left out; may be empty.
    """

    mark: str
    family: str
    variant: str
    settings: str
    quantity: str
    unit: str
    rate_fraction: float | None
    before: float | None
    after: float | None
    ratio: float | None = None
    reach: tuple[float, float] | None = None
    floor: float | None = None
    figures: tuple[str, ...] = ()
    note: str = ""

    @property
    def times(self) -> float | None:
        """How many times the larger value is the smaller one: 1 or more."""
        return None if self.ratio is None else exp(abs(log(self.ratio)))

    @property
    def over_floor(self) -> float | None:
        """The same over the noise floor: above 1 where it is more than noise."""
        if self.times is None:
            return None
        return self.times / (1.0 if self.floor is None else self.floor)

    @property
    def severity(self) -> tuple:
        """The sort key: marks as listed, in each the largest difference over the floor first."""
        size = self.over_floor or 0.0
        return (MARKS.index(self.mark), -size, self.family, self.variant, self.settings)


@dataclass(frozen=True)
class _Seen:
    """A point, with the family and the figures that show it."""

    family: str
    point: Point
    figures: tuple[str, ...]


def wider(one: Floors, other: Floors) -> Floors:
    """Return the larger floor of each kind that both sets have equal runs of."""
    kinds = one.floors.keys() & other.floors.keys()
    return Floors({
        kind: max(one.floors[kind], other.floors[kind], key=lambda floor: floor.factor)
        for kind in kinds
    })  # fmt: skip


def changes(
    before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]], floors: Floors
) -> list[Change]:
    """Return all values of two sets, sorted by severity.

    Parameters
    ----------
    before, after : mapping of str to sequence of row
        Rows by paper; a setting of two papers counts once.
    floors : Floors
        Of both sets: see ``wider``.
    """
    one, other = _seen(before), _seen(after)
    failed = [_failed(row for rows in each.values() for row in rows) for each in (before, after)]
    data = [_data(row for rows in each.values() for row in rows) for each in (before, after)]
    broken = {setting: _broken(setting, *failed) for setting in {**failed[0], **failed[1]}}
    found = list(broken.values())
    for identity in {**one, **other}:
        setting = identity[0]
        both = one.get(identity), other.get(identity)
        unlike = all(both) and data[0].get(setting) != data[1].get(setting)
        if unlike:
            found.append(_listed(OTHER_DATA, identity, *both, note=_of_data(setting, data)))
        elif all(both):
            found.append(_compared(identity, *both, floors))
        elif broken.get(setting) is None:
            found.append(_listed(ONLY_BEFORE if both[0] else ONLY_AFTER, identity, *both))
    return sorted((each for each in found if each is not None), key=lambda each: each.severity)


def _seen(rows: Mapping[str, Sequence[Row]]) -> dict[Identity, _Seen]:
    """Return the points of a set, each once."""
    found: dict[Identity, _Seen] = {}
    for paper in sorted(rows):
        declared: Paper = papers.paper(paper)
        families = {figure.id: figure.family for figure in declared.figures}
        for point in points_of_paper(rows[paper], declared):
            if not _has_floor(point.quantity):
                continue
            family = families[point.figure]
            place = _setting(family, point.variant.variant, point.settings)
            identity = (place, point.quantity, point.rate_fraction)
            figure = f"{paper} {point.figure}"
            known = found.get(identity)
            if known is None:
                found[identity] = _Seen(family, point, (figure,))
            elif figure not in known.figures:
                found[identity] = _Seen(family, known.point, (*known.figures, figure))
    return found


def _has_floor(name: str) -> bool:
    """Say whether it is known by how much a quantity of equal runs differs."""
    one = quantities.quantity(name)
    floored = one.timed and one.unit in FLOORED and not PERCENTILE.search(name)
    # A state is allocated by its settings, and so is the same in equal runs.
    return floored or name == STATE_MIB


@cache
def _usual(family: str, variant: str) -> Mapping[str, Any] | None:
    """Return the default of each setting that a variant takes; None for an unknown variant."""
    try:
        taken = (*registry.family(family).settings, *registry.variant(family, variant).parameters)
    except UsageError:
        # Recorded by another version of Millrace: no figure shows it.
        return None
    return {each.name: each.default for each in taken}


def _setting(family: str, variant: str, settings: Mapping[str, Any]) -> Setting:
    """Return a setting; a value that the variant does not take is no part of it."""
    names = _usual(family, variant)
    if names is None:
        names = settings
    return family, variant, tuple(sorted((n, v) for n, v in settings.items() if n in names))


def _failed(rows: Iterable[Row]) -> dict[Setting, tuple[int, int, str]]:
    """Return failed and all runs of each setting, with a reason of those that failed."""
    found: dict[Setting, tuple[int, int, str]] = {}
    counted = set()
    for row in rows:
        setting = _setting(row["family"], row["variant"], row["settings"])
        names = ("key", "repetition", "round", "phase", "rate_fraction")
        run = (setting, *(row[name] for name in names))
        # Two papers may show the same row.
        if row["phase"] in (PROBE, REFERENCE) or run in counted:
            continue
        counted.add(run)
        failed, every, reason = found.get(setting, (0, 0, ""))
        reason = reason or row["invalid_reason"] or ""
        found[setting] = (failed + (not row["valid"]), every + 1, reason)
    return found


def _shares(setting: Setting, failed: Mapping[Setting, tuple[int, int, str]]) -> tuple[float, str]:
    count, every, reason = failed.get(setting, (0, 0, ""))
    if not count:
        return 0.0, ""
    return count / every, f"{count} of {every} runs failed: {reason}"


def _broken(
    setting: Setting,
    before: Mapping[Setting, tuple[int, int, str]],
    after: Mapping[Setting, tuple[int, int, str]],
) -> Change | None:
    """Return the change of a setting that began to fail, or ceased to; None for any other."""
    (share, why), (later, why_later) = _shares(setting, before), _shares(setting, after)
    # A setting of which some runs failed and now all do has begun to fail, too.
    alike = bool(share) == bool(later) and (share == 1.0) == (later == 1.0)
    if alike or setting not in before or setting not in after:
        return None
    mark = BROKEN if later > share else MENDED
    family, variant, _ = setting
    return Change(
        mark, family, variant, _words(setting), RUNS, "", None, share, later, note=why_later or why
    )


def _data(rows: Iterable[Row]) -> dict[Setting, frozenset[str | None]]:
    """Return the digests of the data of each setting."""
    found: dict[Setting, set[str | None]] = {}
    for row in rows:
        if row["phase"] != REFERENCE:
            setting = _setting(row["family"], row["variant"], row["settings"])
            found.setdefault(setting, set()).add(row["dataset_digest"])
    return {setting: frozenset(digests) for setting, digests in found.items()}


def _of_data(setting: Setting, data: Sequence[Mapping[Setting, frozenset]]) -> str:
    one, other = (", ".join(sorted(str(each) for each in own[setting])) for own in data)
    return f"data {one} before and {other} after"


def _words(setting: Setting) -> str:
    """Return the settings that differ from the defaults."""
    family, variant, settings = setting
    usual = _usual(family, variant) or {}
    return " ".join(f"{name}={value}" for name, value in settings if value != usual.get(name))


def _listed(
    mark: str, identity: Identity, before: _Seen | None, after: _Seen | None, **found: Any
) -> Change:
    setting, quantity, fraction = identity
    seen = before or after
    return Change(
        mark=mark,
        family=seen.family,
        variant=setting[1],
        settings=_words(setting),
        quantity=quantity,
        unit=quantities.quantity(quantity).unit,
        rate_fraction=fraction,
        before=before and before.point.value,
        after=after and after.point.value,
        figures=tuple(dict.fromkeys([*(before.figures if before else ()), *seen.figures])),
        **found,
    )


def _compared(identity: Identity, before: _Seen, after: _Seen, floors: Floors) -> Change:
    """Return the change of a value that both sets have of the same data."""
    quantity = quantities.quantity(identity[1])
    names = Names("after", "before", _words(identity[0]))
    pair = pair_of(names, after.point, before.point, floors)
    pool = pooled([pair], DIFFERS, timed=quantity.timed)
    if pool.spread is None:
        return _listed(CANNOT_TELL, identity, before, after, note=pair.note)
    ratio, noise = pool.spread.value, floors.noise(after.point, before.point)
    # By how much processes differ in latency is assumed, so that averaging is not counted on.
    runs = len(pair.ratio) if quantity.unit in RATES else pair.rounds
    floor = noise.factor(runs) if noise.known else None
    mark, note = CANNOT_TELL, pair.note
    if pool.direction == HOLDS and floor is None:
        note = note or NO_FLOOR
    elif pool.direction == HOLDS and exp(abs(log(ratio))) > max(floor, PRACTICALLY_EQUAL):
        mark = BETTER if (ratio > 1) == (quantity.better == "higher") else WORSE
    elif pool.direction == HOLDS and quantity.timed:
        note = IN_NOISE
    elif pool.direction in (HOLDS, DOES_NOT_HOLD):
        mark = ALIKE
    return _listed(
        mark, identity, before, after, ratio=ratio, reach=pool.reach, floor=floor, note=note
    )


def reference_ratio(before: Iterable[Row], after: Iterable[Row]) -> float | None:
    """Return how many times as fast the setting that every process measures was afterwards.

    None where one of the sets has no run of it, or the setting is another one.
    """
    rates: list[dict[tuple, list[float]]] = []
    for rows in (before, after):
        found: dict[tuple, list[float]] = {}
        for row in rows:
            if row["phase"] == REFERENCE and row["valid"]:
                setting = _setting(row["family"], row["variant"], row["settings"])
                found.setdefault(setting, []).append(row["throughput_tps"])
        rates.append(found)
    common = rates[0].keys() & rates[1].keys()
    if not common:
        return None
    setting = min(common)
    return median(rates[1][setting]) / median(rates[0][setting])


def summary(found: Sequence[Change]) -> list[dict[str, Any]]:
    """Return for each mark, in the order of ``MARKS``: how many values, and by how many times.

    ``values`` is a count; ``times`` the geometric mean, ``least`` and ``most`` are None where no
    value has a ratio.
    """
    told = []
    for mark in MARKS:
        marked = [each for each in found if each.mark == mark]
        times = [each.times for each in marked if each.times is not None]
        mean = exp(sum(map(log, times)) / len(times)) if times else None
        ends = {"least": min(times, default=None), "most": max(times, default=None)}
        told.append({"mark": mark, "values": len(marked), "times": mean, **ends})
    return told
