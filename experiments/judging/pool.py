"""The direction of a statement: what all of its pairs say together.

Every direction is a *region* that the ratio must lie in: above 1 where it is higher or rises, below
1 where it is lower or falls, within ``tolerance`` of 1 both ways where it is near, not further than
``tolerance`` below 1 where it is kept, anywhere but at 1 where it differs.

The ratios are pooled (``statistics.pooled``: each pair weighs the same, and what spreads is the
mean of a process over its pairs). The pool has a *reach*:

* from six processes on, Student's t interval;
* with fewer, all processes (all rounds, of one process), and at least the floor of noise both ways.
  A single value without a floor has no reach, since nothing says how far equal runs lie apart.

The answer: **holds** when the reach lies in the region, **does not hold** when all of it lies
outside, else **cannot tell**. With the reach on one side and under two thirds of the signs there,
it is **mixed**, and so it is when a third of the pairs or more are clear each way by themselves:
three times faster here and three times slower there is an answer, and not one that cannot be told.

The floor of a pool is the geometric mean of those of its pairs, as far as runs of one process
differ. That is how far the pool would lie from 1 if each pair erred by its own floor and all in one
direction. Errors that have nothing to do with each other would cancel out, and the floor of many
pairs would be less. But pairs share their processes and the hour, so that is not counted on. What
sets processes apart is where the memory of a structure came to lie, and each of the points has its
own: of that the floor of many points is less, by the root of how many twos of points there are.
Judged so by each process of two `laptop` runs alone, statements of the first paper came out as by
all six in 174 of the 486 cases in which these are clear, never as the opposite, and clear in 15 of
294 in which six processes leave it open.

Where no pair has a ratio, since one rival alone kept up in each, the signs answer by themselves:
the sign test at 5 %, two-sided, which six of six pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, inf, log
from typing import Literal

from experiments.judging.floors import Noise
from experiments.judging.pairs import Pair
from experiments.records import statistics
from experiments.records.statistics import CONFIDENCE, Spread, Values

DIRECTIONS = ("holds", "does not hold", "mixed", "cannot tell")
HOLDS, DOES_NOT_HOLD, MIXED, CANNOT_TELL = DIRECTIONS
# Two that do not differ lie no further apart.
ALIKE = 1.25
# Of the signs on the other side of a clear pool, more than a third make it mixed.
_AGREE, _OF = 2, 3
# So many pairs that are clear each way, and a third of all at least, make it mixed too.
_EACH_WAY = 2

# The side of 1 that a statement's ratio is on.
Direction = Literal["higher", "lower", "rises", "falls", "near", "kept", "differs"]
REGIONS = {
    "higher": lambda tolerance: (1.0, inf),
    "rises": lambda tolerance: (1.0, inf),
    "lower": lambda tolerance: (0.0, 1.0),
    "falls": lambda tolerance: (0.0, 1.0),
    "near": lambda tolerance: (1.0 / tolerance, tolerance),
    "kept": lambda tolerance: (1.0 / tolerance, inf),
}
# Those that need a tolerance.
WITHIN = ("near", "kept")
DIFFERS = "differs"


@dataclass(frozen=True)
class Pool:
    """What the pairs of a statement say together.

    Attributes
    ----------
    direction : str
        A member of ``DIRECTIONS``.
    pairs : tuple of Pair
        Each once, those that are left out too.
    spread : Spread or None
        Of the pooled ratio; None where no pair has one.
    reach : tuple of (float, float) or None
        What the answer was given by.
    floor : float
        What equal runs would lie apart by; 1 where nothing is known.
    agreeing : tuple of bool or None
        Of each pair whether its own side speaks for the statement; None where it has none.
    """

    direction: str
    pairs: tuple[Pair, ...]
    spread: Spread | None
    reach: tuple[float, float] | None
    floor: float
    agreeing: tuple[bool | None, ...]

    @property
    def signs(self) -> tuple[int, int]:
        """How many pairs speak for the statement, and how many have a sign at all."""
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
    """Return what `pairs` say together.

    Parameters
    ----------
    pairs : iterable of Pair
        A comparison that two figures share counts once.
    direction : str
        One of ``Direction``.
    tolerance : float, optional
        Of what is near or kept, which need one.
    timed : bool
        Whether it is a measurement of time. A count has no noise: a single one tells.
    """
    pairs = tuple({pair.identity: pair for pair in pairs}.values())
    ratios = [pair for pair in pairs if pair.ratio]
    spread = statistics.pooled(_comparable([pair.ratio for pair in ratios])) if ratios else None
    floor = _floor_of(ratios) if ratios else 1.0
    if direction == DIFFERS:
        side = sum(pair.sign for pair in pairs) if spread is None else log(spread.value)
        region = REGIONS["higher" if side > 0 else "lower"](1.0)
    else:
        region = REGIONS[direction](tolerance)
    agreeing = tuple(_agrees(pair, region) for pair in pairs)
    reach = None if spread is None else _reach(spread, floor, timed)
    answer = _by_signs(agreeing) if spread is None else _by_reach(reach, region, direction)
    if not (direction == DIFFERS and answer == DOES_NOT_HOLD):
        # Pairs that are alike have signs all the same, which say nothing then.
        answer = _with_signs(answer, agreeing)
    if answer == CANNOT_TELL and direction != DIFFERS and len(ratios) >= 2 * _EACH_WAY:
        alone = by_themselves(ratios, direction, tolerance, timed)
        least = max(_EACH_WAY, len(ratios) / _OF)
        answer = MIXED if min(alone[HOLDS], alone[DOES_NOT_HOLD]) >= least else answer
    return Pool(answer, pairs, spread, reach, floor, agreeing)


def _floor_of(pairs: Sequence[Pair]) -> float:
    """Return the factor that a pool of pairs with ratios has between equal runs."""
    within = sum(pair.noise.within / pair.rounds**0.5 for pair in pairs) / len(pairs)
    between = sum(pair.noise.between for pair in pairs) / len(pairs)
    points = {id(point) for pair in pairs for point in pair.points}
    return Noise(within, between / max(len(points) / 2, 1) ** 0.5).factor(1)


def _comparable(ratios: Sequence[Values]) -> Sequence[Values]:
    """Return ratios as they are pooled: of one process, rounds only where most pairs have them.

    A single pair that was run again makes no second round of a pool.
    """
    processes = {process for each in ratios for process, _ in each}
    shared = Counter(place for each in ratios for place in each)
    if len(processes) > 1 or sum(2 * count > len(ratios) for count in shared.values()) > 1:
        return ratios
    return [{(min(processes), 0): statistics.spread(each).value} for each in ratios]


def _agrees(pair: Pair, region: tuple[float, float]) -> bool | None:
    """Say whether a pair speaks for the statement; None when it says nothing."""
    if pair.sign == 0 and not pair.ratio:
        return None
    if not pair.ratio:
        # Only one of the two kept up: they are not alike, whatever the tolerance.
        return region[1] == inf if pair.sign > 0 else region[0] == 0.0
    return _inside(pair.spread.value, pair.spread.value, region)


def _inside(low: float, high: float, region: tuple[float, float]) -> bool:
    """Say whether a stretch lies in a region; 1 itself is neither higher nor lower."""
    least, most = region
    above = low > least if least == 1.0 else low >= least
    return above and (high < most if most == 1.0 else high <= most)


def _reach(spread: Spread, floor: float, timed: bool) -> tuple[float, float] | None:
    """Return the stretch that the pooled ratio is believed to lie in; None where nothing says."""
    if spread.is_interval:
        return spread.low, spread.high
    value = spread.value
    if spread.low is None:
        return (value / floor, value * floor) if floor > 1.0 or not timed else None
    return min(spread.low, value / floor), max(spread.high, value * floor)


def _by_reach(
    reach: tuple[float, float] | None, region: tuple[float, float], direction: str
) -> str:
    if reach is None:
        return CANNOT_TELL
    low, high = reach
    if _inside(low, high, region):
        return HOLDS
    if direction == DIFFERS:
        return DOES_NOT_HOLD if 1 / ALIKE <= low and high <= ALIKE else CANNOT_TELL
    return DOES_NOT_HOLD if low > region[1] or high < region[0] else CANNOT_TELL


def by_themselves(
    pairs: Iterable[Pair], direction: str, tolerance: float | None, timed: bool
) -> Counter[str]:
    """Return how many pairs with a ratio have which answer by themselves; see ``pooled``."""
    return Counter(
        pooled([pair], direction, tolerance, timed).direction for pair in pairs if pair.ratio
    )


def _by_signs(agreeing: Sequence[bool | None]) -> str:
    """Return the answer of signs alone: by the sign test."""
    for_it, against = agreeing.count(True), agreeing.count(False)
    fewer, count = min(for_it, against), for_it + against
    chance = 2 * sum(comb(count, each) for each in range(fewer + 1)) / 2**count
    if chance > 1 - CONFIDENCE:
        return CANNOT_TELL
    return HOLDS if for_it > against else DOES_NOT_HOLD


def _with_signs(answer: str, agreeing: Sequence[bool | None]) -> str:
    """Return `answer`, or that it is mixed."""
    side = {HOLDS: True, DOES_NOT_HOLD: False}.get(answer)
    signs = [each for each in agreeing if each is not None]
    if side is None or _OF * signs.count(side) >= _AGREE * len(signs):
        return answer
    return MIXED
