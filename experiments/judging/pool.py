"""The direction of a statement: the joint answer of all pairs.

Every direction is a *region* that the ratio must lie in:

* *higher*, *rises*: above 1;
* *lower*, *falls*: below 1;
* *near*: within ``tolerance`` of 1, both ways;
* *kept*: at most ``tolerance`` below 1;
* *differs*: anywhere but at 1.

Two times within 1.05 of each other (``PRACTICALLY_EQUAL``) are practically equal: of more than a
hundred statements about true equals a few would be clear by chance, and by less than that. So
*higher*, *lower*, *rises*, *falls* and *differs* ask for a larger difference. Counts have no noise:
any difference counts.

The ratios are pooled (``statistics.pooled``: each pair weighs the same, and the spread is that of
the processes' means over the pairs). The pool has a *reach*, the range that the ratio is believed
to lie in:

* from six processes on, the confidence interval of Student's t; where rates were searched, widened
  by the width of the brackets;
* with fewer, the range of all processes (of all rounds, if one process), and at least the noise
  floor both ways. Where too few equal runs were made to know the floor, there is no reach.

The answer: **holds** when the reach lies in the region and the ratio is not practically equal to 1;
**does not hold** when all of the reach lies outside the region, or within practical equality; else
**cannot tell**. When the reach lies on one side of 1 but under two thirds of the signs do, the
answer is **mixed**. It is also mixed when at least a third of the pairs are clear each way by
themselves: three times faster here and three times slower there is a clear answer. The sign of a
pair is the ratio's side of 1, however near.

The floor of a pool is the geometric mean of the pairs' floors, as far as they concern runs of one
process. That is how far the pool would lie from 1 if each pair erred by the pair's floor and all in
one direction. Independent errors would cancel, and the floor of many pairs would be lower. But
pairs share processes and the hour, so independence is not assumed. The difference between processes
is another matter: it comes from the memory addresses of a structure, which differ from point to
point. This part of the floor shrinks with the square root of half the number of points. Judged so
by each process of two `laptop` runs alone, statements of the first paper came out as by all six in
174 of the 486 cases in which these are clear, never as the opposite, and clear in 15 of 294 in
which six processes leave it open.

Without any pair nothing was measured that could answer: **not measured here**.

Where no pair has a ratio, since in each only one rival kept up, the signs answer by themselves: the
sign test at 5 %, two-sided, which six of six pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, exp, hypot, inf, log
from typing import Literal

from experiments.judging.pairs import Pair
from experiments.records import statistics
from experiments.records.statistics import CONFIDENCE, Spread, Values

DIRECTIONS = ("holds", "does not hold", "mixed", "cannot tell", "not measured here")
HOLDS, DOES_NOT_HOLD, MIXED, CANNOT_TELL, NOT_MEASURED = DIRECTIONS
# Times within this factor are practically equal: neither is higher or lower.
PRACTICALLY_EQUAL = 1.05
# The reach of a pair that does not differ lies within this factor of 1.
ALIKE = 1.25
# A clear pool is mixed when fewer than two thirds of the signs agree with it.
_AGREE, _OF = 2, 3
# A pool is also mixed with at least this many pairs clear each way, and a third of all.
_EACH_WAY = 2

# The side of 1 that a statement's ratio is on.
Direction = Literal["higher", "lower", "rises", "falls", "near", "kept", "differs"]
# The region of the ratio, from the factor that equal or alike values lie within.
REGIONS = {
    "higher": lambda tolerance: (1.0, inf),
    "rises": lambda tolerance: (1.0, inf),
    "lower": lambda tolerance: (0.0, 1.0),
    "falls": lambda tolerance: (0.0, 1.0),
    "near": lambda tolerance: (1.0 / tolerance, tolerance),
    "kept": lambda tolerance: (1.0 / tolerance, inf),
}
# The directions that need a tolerance.
WITHIN = ("near", "kept")
DIFFERS = "differs"


@dataclass(frozen=True)
class Pool:
    """The joint answer of a statement's pairs.

    Attributes
    ----------
    direction : str
        A member of ``DIRECTIONS``.
    pairs : tuple of Pair
        Each once, including those left out.
    spread : Spread or None
        Of the pooled ratio; None where no pair has one.
    reach : tuple of (float, float) or None
        The range that decided the answer.
    floor : float or None
        The factor between equal runs; None where too few were made to know.
    agreeing : tuple of bool or None
        Of each pair whether the pair's side supports the statement; None where it has none.
    """

    direction: str
    pairs: tuple[Pair, ...]
    spread: Spread | None
    reach: tuple[float, float] | None
    floor: float | None
    agreeing: tuple[bool | None, ...]

    @property
    def signs(self) -> tuple[int, int]:
        """The number of pairs that support the statement, and the number that have a sign."""
        return self.agreeing.count(True), len(self.agreeing) - self.agreeing.count(None)

    @property
    def ratios(self) -> list[Pair]:
        """The pairs whose ratios are pooled."""
        return [pair for pair in self.pairs if pair.ratio]


def pooled(
    pairs: Iterable[Pair],
    direction: Direction,
    tolerance: float | None = None,
    timed: bool = True,
) -> Pool:
    """Return the joint answer of `pairs`.

    Parameters
    ----------
    pairs : iterable of Pair
        A comparison that two figures share counts once.
    direction : str
        One of ``Direction``.
    tolerance : float, optional
        For *near* and *kept*, which need one.
    timed : bool
        Whether it is a measurement of time. A count has no noise: any difference counts.
    """
    pairs = tuple({pair.identity: pair for pair in pairs}.values())
    ratios = [pair for pair in pairs if pair.ratio]
    if not pairs:
        return Pool(NOT_MEASURED, (), None, None, 1.0, ())
    spread = statistics.pooled(_comparable([pair.ratio for pair in ratios])) if ratios else None
    floor = _floor_of(ratios) if ratios else 1.0
    way = direction
    if direction == DIFFERS:
        side = sum(pair.sign for pair in pairs) if spread is None else log(spread.value)
        way = "higher" if side > 0 else "lower"
    region = REGIONS[way](tolerance)
    agreeing = tuple(_agrees(pair, region) for pair in pairs)
    reach = None if spread is None else _reach(spread, floor, _width_of(ratios))
    answer = _by_signs(agreeing) if spread is None else _by_reach(reach, region, direction)
    if reach is not None and timed and direction not in WITHIN:
        answer = _beyond_equality(answer, spread.value, reach, direction)
    alike = answer == DOES_NOT_HOLD and reach is not None
    alike = alike and (direction == DIFFERS or _within(reach, PRACTICALLY_EQUAL))
    if not alike:
        # Pairs that are alike have signs all the same, which then mean nothing.
        answer = _with_signs(answer, agreeing)
    # The answer may be open, or alike, because the pairs differ each way.
    each_way = 1 if alike else _EACH_WAY
    unclear = answer == CANNOT_TELL or alike
    if unclear and direction != DIFFERS and len(ratios) >= 2 * each_way:
        alone = by_themselves(ratios, direction, tolerance, timed)
        least = max(each_way, len(ratios) / _OF)
        answer = MIXED if min(alone[HOLDS], alone[DOES_NOT_HOLD]) >= least else answer
    return Pool(answer, pairs, spread, reach, floor, agreeing)


def _floor_of(pairs: Sequence[Pair]) -> float | None:
    """Return the noise floor of a pool of pairs with ratios; None where it is unknown."""
    if not all(pair.noise.known for pair in pairs):
        return None
    within = sum(pair.noise.of_median(pair.rounds) for pair in pairs) / len(pairs)
    between = sum(pair.noise.between for pair in pairs) / len(pairs)
    points = {id(point) for pair in pairs for point in pair.points}
    return exp(hypot(within, between / max(len(points) / 2, 1) ** 0.5))


def _width_of(pairs: Sequence[Pair]) -> float:
    """Return the factor by which the brackets of searched rates widen the reach of a pool."""
    return exp(sum(pair.noise.bracket for pair in pairs) / len(pairs))


def _comparable(ratios: Sequence[Values]) -> Sequence[Values]:
    """Return ratios as they are pooled: of one process, rounds only where most pairs have them.

    A single pair that was run again does not give the pool a second round.
    """
    processes = {process for each in ratios for process, _ in each}
    shared = Counter(place for each in ratios for place in each)
    if len(processes) > 1 or sum(2 * count > len(ratios) for count in shared.values()) > 1:
        return ratios
    return [{(min(processes), 0): statistics.spread(each).value} for each in ratios]


def _agrees(pair: Pair, region: tuple[float, float]) -> bool | None:
    """Say whether a pair supports the statement; None when it has no sign."""
    if pair.sign == 0 and not pair.ratio:
        return None
    if not pair.ratio:
        # Only one of the two kept up: they are not alike, whatever the tolerance.
        return region[1] == inf if pair.sign > 0 else region[0] == 0.0
    return _inside(pair.spread.value, pair.spread.value, region)


def _inside(low: float, high: float, region: tuple[float, float]) -> bool:
    """Say whether a range lies in a region; 1 itself is neither higher nor lower."""
    least, most = region
    above = low > least if least == 1.0 else low >= least
    return above and (high < most if most == 1.0 else high <= most)


def _reach(spread: Spread, floor: float | None, width: float) -> tuple[float, float] | None:
    """Return the range that the pooled ratio is believed to lie in; None where it is unknown."""
    if spread.is_interval:
        return spread.low / width, spread.high * width
    if floor is None:
        return None
    value = spread.value
    low, high = (value, value) if spread.low is None else (spread.low, spread.high)
    return min(low, value / floor) / width, max(high, value * floor) * width


def _by_reach(
    reach: tuple[float, float] | None, region: tuple[float, float], direction: str
) -> str:
    if reach is None:
        return CANNOT_TELL
    low, high = reach
    if _inside(low, high, region):
        return HOLDS
    if direction == DIFFERS:
        return DOES_NOT_HOLD if _within(reach, ALIKE) else CANNOT_TELL
    return DOES_NOT_HOLD if low > region[1] or high < region[0] else CANNOT_TELL


def _beyond_equality(answer: str, value: float, reach: tuple[float, float], direction: str) -> str:
    """Return the answer by the reach, corrected where the two are practically equal."""
    if direction != DIFFERS and _within(reach, PRACTICALLY_EQUAL):
        return DOES_NOT_HOLD
    if answer == HOLDS and _within((value, value), PRACTICALLY_EQUAL):
        return CANNOT_TELL
    return answer


def _within(reach: tuple[float, float], factor: float) -> bool:
    """Say whether all of a reach lies within a factor of 1."""
    return 1.0 / factor <= reach[0] and reach[1] <= factor


def by_themselves(
    pairs: Iterable[Pair], direction: str, tolerance: float | None, timed: bool
) -> Counter[str]:
    """Return the number of pairs with a ratio for each answer that they give alone.

    See ``pooled``.
    """
    return Counter(
        pooled([pair], direction, tolerance, timed).direction for pair in pairs if pair.ratio
    )


def _by_signs(agreeing: Sequence[bool | None]) -> str:
    """Return the answer of the sign test."""
    for_it, against = agreeing.count(True), agreeing.count(False)
    fewer, count = min(for_it, against), for_it + against
    chance = 2 * sum(comb(count, each) for each in range(fewer + 1)) / 2**count
    if chance > 1 - CONFIDENCE:
        return CANNOT_TELL
    return HOLDS if for_it > against else DOES_NOT_HOLD


def _with_signs(answer: str, agreeing: Sequence[bool | None]) -> str:
    """Return `answer`, or mixed when too few signs agree with it."""
    side = {HOLDS: True, DOES_NOT_HOLD: False}.get(answer)
    signs = [each for each in agreeing if each is not None]
    if side is None or _OF * signs.count(side) >= _AGREE * len(signs):
        return answer
    return MIXED
