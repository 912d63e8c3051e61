"""The number of processes that would settle an open statement; fewer would not."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from experiments.judging import settling
from experiments.judging.floors import ENOUGH, Noise
from experiments.judging.pairs import Names, Pair
from experiments.judging.pool import pooled
from experiments.records.statistics import Floor

NAMES = Names("A", "B", "here")


def pool_of(logs, direction="higher", tolerance=None, noise=None):
    """Return the pool of one pair with these log ratios, one for each process."""
    ratio = {(process, 1): exp(value) for process, value in enumerate(logs, 1)}
    pair = Pair(NAMES, ratio, 1, (), noise or Noise())
    return pooled([pair], direction, tolerance)


def spread_like(count, centre, deviation):
    """Return `count` numbers with this mean and standard deviation."""
    values = np.linspace(-1.0, 1.0, count)
    return centre + deviation * values / values.std(ddof=1)


@pytest.mark.parametrize(("centre", "deviation"), [(0.1, 0.2), (0.05, 0.1), (-0.1, 0.3)])
def test_as_many_processes_as_are_named_settle_it_and_one_fewer_do_not(centre, deviation):
    few = pool_of(spread_like(6, centre, deviation))
    assert few.direction == "cannot tell"
    needed = settling.processes_needed(few, "higher", None)
    assert 6 < needed <= settling.MOST
    assert pool_of(spread_like(needed, centre, deviation)).direction in ("holds", "does not hold")
    assert pool_of(spread_like(needed - 1, centre, deviation)).direction == "cannot tell"


def test_with_few_processes_it_takes_as_many_as_make_an_interval():
    assert settling.processes_needed(pool_of([0.4, 0.5, 0.45]), "higher", None) == 6


def test_how_far_one_process_may_lie_is_what_equal_runs_differ_by():
    calm, wild = (
        pool_of([0.1], noise=Noise((Floor(exp(within), ENOUGH),))) for within in (0.1, 0.3)
    )
    needed = [settling.processes_needed(each, "higher", None) for each in (calm, wild)]
    assert needed[0] < needed[1] <= settling.MOST
    assert settling.processes_needed(pool_of([0.1]), "higher", None) is None


def test_what_is_near_is_settled_the_later_the_nearer_it_is_to_the_edge():
    far, near = (pool_of(spread_like(6, at, 0.3), "near", 1.25) for at in (0.0, 0.2))
    needed = [settling.processes_needed(each, "near", 1.25) for each in (far, near)]
    assert needed[0] < needed[1]
    assert settling.clauses(needed[1]) == ["at this spread 100 processes would not settle it"]
