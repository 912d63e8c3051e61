"""``run_join`` over arrays: any condition, any join, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.theta_join import reference
from operators.theta_join.family import OPPOSITE, make_extent
from operators.theta_join.number_predicates import bands, condition, number_tables
from operators.theta_join.run import run_join
from tests.covering import interpreted_is_enough

# On one worker, which compiles the loops once.
pytestmark = pytest.mark.xdist_group("run_join")


def is_cheaper(r_price, r_weight, s_price, s_weight):
    return r_price * s_weight < 0.8 * s_price * r_weight


@interpreted_is_enough
def test_pairs_are_those_of_the_procedure_for_any_condition_join_and_threads():
    random = np.random.default_rng(1)
    r, s = (1 + random.random(2 * rows) for rows in (90, 70))
    times = [np.sort(random.integers(0, 40, rows)) for rows in (90, 70)]
    arrivals = reference.merged([list(enumerate_rows(each)) for each in times], 1)

    def holds(r_row, s_row):
        return is_cheaper(*r[2 * r_row : 2 * r_row + 2], *s[2 * s_row : 2 * s_row + 2])

    wanted = []
    for pair in reference.join(arrivals, make_extent(span=9, purge=OPPOSITE), holds):
        one, other = sorted((arrivals[rank] for rank in pair), key=lambda each: each.side)
        wanted.append([one.position, other.position])
    tables, cheaper = number_tables(r, s, real=True), condition(is_cheaper, 2, real=True)
    assert len(wanted) > 100
    for variant, threads in (("scale-join", 1), ("scale-join", 3), ("handshake", 2)):
        found = run_join(variant, cheaper, tables, *times, span=9, purge=OPPOSITE, threads=threads)
        assert found.tolist() == wanted, (variant, threads)


def enumerate_rows(times):
    return ((int(time), row) for row, time in enumerate(times))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "windows are of time"),
        ({"span": 5, "threads": 0}, "threads must be between"),
        ({"span": 5, "sort": 8}, "no parameter 'sort'"),
        ({"span": 5, "r_times": [3, 1]}, "r_times must not fall, received 1 at position 1"),
        ({"span": 5, "r_times": [0.5, 1]}, "r_times are whole numbers"),
        ({"span": 5, "s_times": [-1]}, "s_times must be at least 0"),
        ({"span": 5, "s_times": [1, 2]}, "2 tuples of s have 1 numbers each, received 1"),
    ],
)
def test_what_is_no_join_is_refused(given, told):
    named = {"r_times": [1, 2], "s_times": [1], **given}
    with pytest.raises(UsageError, match=told):
        run_join("scale-join", bands(1), number_tables([1, 2], [3], (1,)), **named)


@interpreted_is_enough
def test_a_join_of_one_thread_accepts_one_and_refuses_more():
    given = (bands(1), number_tables([10, 20, 30], [11, 29, 9], (1,)), [0, 5, 10], [2, 6, 12])
    for threads in (None, 1):
        found = run_join("sequential", *given, span=60, threads=threads)
        assert found.tolist() == [[0, 0], [2, 1], [0, 2]]
    message = "sequential has one thread, received threads=8; more are for .*scale-join"
    with pytest.raises(UsageError, match=message):
        run_join("sequential", *given, span=60, threads=8)
