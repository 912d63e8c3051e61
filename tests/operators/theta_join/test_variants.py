"""Theta joins output the pairs of the three-step procedure under any timing of the threads.

The basic requirements of all joins are tested in `tests/contract/test_theta_join.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import ACCEPTED, Variant
from operators.core.jit import INTERPRETED
from operators.gate import t_gate
from operators.theta_join.family import KEYS_FALL, OPPOSITE, OWN, R, S, make_extent
from operators.theta_join.number_predicates import condition, number_tables
from operators.theta_join.scale_join import PAIR
from tests.operators.theta_join.cases import (
    CHAINS,
    EXTENTS,
    HALF_WIDTHS,
    JOINS,
    LEAST,
    OTHERS,
    WIDE,
    agree,
    are_near,
    each_variant,
    is_chain,
    join_of,
    judge,
    streams_of,
    wanted,
)
from tests.operators.theta_join.running import Crew, interleaved, threaded

SCALE_JOINS = [each for each in OTHERS if each.id != "sequential"]


@each_variant(SCALE_JOINS[:1])
@pytest.mark.parametrize("threads", [12, 48])
def test_threads_may_be_many(variant, threads):
    for shape in ("random", "skewed", "tied", "bursty"):
        streams = streams_of(shape, 2, 2, 50, threads)
        agree(join_of(variant, streams, EXTENTS["time-own"], r_streams=2, threads=threads), 1)


@each_variant(SCALE_JOINS)
def test_a_pair_behind_one_that_is_out_already_is_a_failure(variant):
    crew = Crew(
        join_of(variant, streams_of("tied", 1, 1, 40, 1), EXTENTS["time-own"], threads=1), 9
    )
    # As if a pair of a much later tuple was out: after it, a reader would not get an earlier one.
    gate = crew.state.shared.gate_out
    assert t_gate.insert_tuple(gate, 0, 1 << 60, PAIR, 0) == ACCEPTED
    for stream, end in enumerate(crew.ends):
        crew.feed(stream, end, 100)
    assert crew.advance(0, 1_000) == KEYS_FALL


@each_variant(CHAINS)
def test_a_chain_may_be_longer_than_its_streams(variant):
    for shape in ("random", "one each"):
        streams = streams_of(shape, 1, 1, 12, 1)
        agree(join_of(variant, streams, EXTENTS["all-time"], threads=16), 1)


@each_variant(OTHERS)
def test_comparisons_are_those_of_the_sequential_join(variant):
    for seed, (name, extent) in enumerate(EXTENTS.items()):
        streams = streams_of("random", 1, 1, 60, seed)
        join = join_of(variant, streams, extent, threads=3)
        every_pair = len(wanted(join, lambda r_row, s_row: True))
        compared = variant.operations.comparisons(agree(join, seed).state)
        assert compared.sum() == every_pair, name


@each_variant(SCALE_JOINS)
def test_comparisons_are_shared_evenly(variant):
    streams = streams_of("random", 1, 1, 90, 1)
    join = join_of(variant, streams, EXTENTS["all-time"], threads=3)
    compared = variant.operations.comparisons(agree(join).state)
    assert compared.max() < 1.2 * compared.min()


# --- windows that were filled, conditions, real threads -------------------------------------------


@each_variant()
def test_windows_that_were_filled_give_the_rest_of_the_pairs(variant):
    for seed, shape in enumerate(("tied", "random", "bursty")):
        streams = streams_of(shape, 1, 1, 60, seed)
        join = join_of(variant, streams, EXTENTS["time-opposite"], LEAST, threads=1 + seed,
                       filled=40)  # fmt: skip
        assert agree(join, seed).pairs


def divides(r, s):
    return s != 0 and r % s == 0


def is_within_reach(r_place, r_reach, s_place, s_reach):
    return s_place - r_place < r_reach - 0.25 and r_place < s_place + s_reach / 2


# A condition is compiled anew into each join, which takes seconds: each run tests one of each kind.
@each_variant([each for each in JOINS if each.id not in ("scale-join-index", "scale-join-hash")],
              always=("scale-join", "handshake"))  # fmt: skip
@pytest.mark.parametrize("columns", [1, pytest.param(2, marks=pytest.mark.full)])
def test_any_condition_can_be_joined_by(variant, columns):
    accepts, real = (divides, False) if columns == 1 else (is_within_reach, True)

    def holds(r_row, s_row):
        r, s = (each.reshape(-1, columns).tolist() for each in tables[:2])
        return accepts(*r[r_row], *s[s_row])

    random = np.random.default_rng(4)
    numbers = [random.integers(0, 30, 400 * columns) / (4 if real else 1) for _ in "rs"]
    tables = number_tables(*numbers, real=real)
    join = join_of(variant, streams_of("tied", 1, 1, 60, 4), EXTENTS["time-opposite"],
                   tables=tables, predicate=condition(accepts, columns, real))  # fmt: skip
    found = interleaved(join, 4).pairs
    pairs = wanted(join, holds)
    assert pairs and (found if variant.operations.ordered else sorted(found)) == pairs


@pytest.mark.skipif(INTERPRETED, reason="real threads take turns by the GIL, one step at a time")
@each_variant()
def test_real_threads_find_the_same(variant):
    for seed, shape in enumerate(("tied", "random", "bursty", "skewed") * 2):
        many = 1 if is_chain(variant) else 1 + seed % 2
        streams = streams_of(shape, many, many, 90, seed)
        own = LEAST if seed % 2 else {}
        join = join_of(variant, streams, EXTENTS["time-opposite"], own, many, threads=2 + seed % 3)
        pairs = wanted(join)
        judge(join, threaded(join, len(pairs) + 8), pairs)


# --- any streams ---------------------------------------------------------------------------------


@st.composite
def any_join(draw, variant: Variant):
    """Return a join of any small streams, with any capacities."""
    most = 1 if is_chain(variant) else 3
    counts = [draw(st.integers(1, most)) for _ in (R, S)]
    steps = st.lists(st.sampled_from((0, 0, 1, 2, 7, 40)), max_size=25)
    streams, rows = [], 0
    for count in counts:
        for _ in range(count):
            times = np.cumsum(draw(steps), dtype=np.int64).tolist()
            streams.append([(time, rows + place) for place, time in enumerate(times)])
            rows += len(times)
    if draw(st.booleans()):
        purges = (OPPOSITE,) if is_chain(variant) else (OWN, OPPOSITE)
        span = draw(st.sampled_from((1, 2, 9, 60)))
        extent = make_extent(span=span, purge=draw(st.sampled_from(purges)))
    else:
        extent = make_extent(count=draw(st.sampled_from((1, 2, 5, 30))))
    own = {
        "ahead": draw(st.sampled_from((3, 4, 9))),
        "ahead_out": draw(st.sampled_from((3, 5, 64))),
        "messages": draw(st.integers(1, 4)),
        "pairs": draw(st.integers(1, 4)),
    }
    threads = draw(st.integers(1, 6))
    # Room for all tuples, and those in flight.
    return join_of(variant, streams, extent, own, counts[R], threads=threads, capacity=max(rows, 1))


@each_variant()
@given(data=st.data())
def test_any_streams_capacities_and_order_of_steps(variant, data):
    agree(data.draw(any_join(variant)), data.draw(st.integers(0, 1 << 30)))


@each_variant()
@given(data=st.data())
def test_any_numbers(variant, data):
    # Values at both ends of 64 bits, where a band would overflow.
    ends = np.iinfo(np.int64)
    some = st.sampled_from((ends.min, ends.min + 2, -1, 0, 2, WIDE, ends.max - 3, ends.max))
    rows = 12
    numbers = st.lists(some, min_size=2 * rows, max_size=2 * rows)
    tables = number_tables(*(data.draw(numbers) for _ in "rs"), HALF_WIDTHS)
    streams = [[(2 * row + side, row) for row in range(rows)] for side in (R, S)]
    join = join_of(variant, streams, EXTENTS["time-opposite"], tables=tables)
    agree(join, 1, lambda r_row, s_row: are_near(tables, r_row, s_row))
