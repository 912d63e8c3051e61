"""Theta joins at minimal capacities: backpressure, no deadlock, and refusals."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from operators.contract import ACCEPTED, END, FULL, UsageError
from operators.theta_join import processing
from operators.theta_join.chain_driver import NEXT_RANK
from operators.theta_join.family import (
    OPPOSITE,
    REACH,
    SORT_FULL,
    TOO_FAR,
    WINDOW_FULL,
    R,
    S,
    Shape,
    make_extent,
)
from operators.theta_join.number_predicates import bands, condition, number_tables
from tests.covering import taken, with_always
from tests.operators.theta_join.cases import (
    BAND,
    CHAINS,
    EXTENTS,
    HALF_WIDTHS,
    LEAST,
    OTHERS,
    TABLES,
    agree,
    each_variant,
    is_chain,
    join_of,
    judge,
    streams_of,
    wanted,
)
from tests.operators.theta_join.running import Crew, Failed, interleaved

ALL_TIME = EXTENTS["all-time"]


@each_variant()
@pytest.mark.parametrize("threads", with_always([1, 2, 3, 5], [1, 3]))
def test_the_smallest_capacities_are_enough(variant, threads):
    for seed, shape in enumerate(("random", "tied", "bursty", "skewed")):
        for name in ("time-opposite", "count", "all-time"):
            agree(join_of(variant, streams_of(shape, 1, 1, 40, seed), EXTENTS[name], LEAST,
                          threads=threads), seed)  # fmt: skip


@each_variant()
@pytest.mark.parametrize("threads", with_always([2, 3, 4], [3]))
def test_one_thread_may_find_all_pairs(variant, threads):
    # The first tuple matches all of S; no other tuple matches. A thread that keeps it fills the
    # queues behind.
    rows = 100
    tables = number_tables(np.full(2 * rows, 500), np.zeros(2 * rows), HALF_WIDTHS)
    tables.r[:2] = 0
    streams = [[(time, time) for time in range(rows)] for _ in "rs"]
    for seed in range(2):
        join = join_of(variant, streams, ALL_TIME, LEAST, threads=threads, tables=tables)
        agree(join, seed, lambda r_row, s_row: r_row == 0)


@each_variant()
@pytest.mark.parametrize("only", [R, S])
def test_one_stream_alone_does_not_fill_the_windows_of_the_other_purge(variant, only):
    # Windows hold 21 tuples at a time, and many more arrive while the other stream is silent.
    streams = [[(time, time) for time in range(300)], [(0, 0), (1, 1), (298, 2)]]
    if only == S:
        streams.reverse()
    for threads in taken([1, 2, 3], [1, 3]):
        join = join_of(variant, streams, EXTENTS["time-opposite"], LEAST, threads=threads,
                       capacity=24)  # fmt: skip
        agree(join, threads)


@each_variant()
def test_a_window_has_room_for_as_many_as_it_is_made_for(variant):
    # 40 tuples of each stream in each time window, all of which are then purged at once.
    times = [*range(400), *range(1000, 1040), 2000, 2001]
    streams = [[(time, row % 300) for row, time in enumerate(times)] for _ in "rs"]
    extent = make_extent(span=39, purge=OPPOSITE)
    for threads in (1, 2, 4):
        # Any core of a chain may hold any of the tuples; otherwise a thread holds every n-th.
        capacity = 40 if is_chain(variant) else -(-80 // threads)
        agree(join_of(variant, streams, extent, threads=threads, capacity=capacity), threads)


# --- a stream is silent --------------------------------------------------------------------------


@each_variant()
def test_a_silent_stream_holds_outputs_and_pushes_back(variant):
    streams = [[(time, time) for time in range(300)], [(50, 0), (400, 1)]]
    join = join_of(variant, streams, ALL_TIME, {**LEAST, "ahead": 16})
    crew = Crew(join, 1000)
    for _ in range(50):
        turn(crew, (R,))
    # S has delivered nothing: no tuple of R is ready, and the gate is full of them.
    assert crew.feed(R, crew.ends[R], 1) == FULL
    assert 10 <= crew.place[R] <= 17 and crew.taken[0] == 0
    assert crew.feed(S, 1, 1) in (ACCEPTED, END)
    for _ in range(300):
        turn(crew, (R,))
    # Tuples before S's only one are ready, and the gate accepts no more than fit after it.
    assert 50 <= crew.place[R] <= 50 + 17 and crew.taken[0] == 0
    assert crew.feed(R, crew.ends[R], 1) == FULL
    for _ in range(2000):
        turn(crew, (R, S))
    pairs = wanted(join)
    assert len(pairs) > 20
    judge(join, crew.answer(), pairs)


def turn(crew: Crew, streams: tuple[int, ...]) -> list[int]:
    """Let each thread, but only the named streams, take some steps; return their statuses."""
    statuses = [crew.feed(stream, crew.ends[stream], 3) for stream in streams]
    if crew.state.driver is not None:
        statuses.append(crew.drive(3))
    statuses += [crew.advance(thread, 3) for thread in range(len(crew.state.threads))]
    return [*statuses, crew.take(3)]


@each_variant()
def test_streams_that_fall_silent_for_a_while(variant):
    for seed in range(4):
        streams = streams_of("random", 1, 1, 50, seed)
        silent = {seed % 2: (len(streams[seed % 2]) // 2, 400)}
        agree(join_of(variant, streams, EXTENTS["time-opposite"], LEAST, silent=silent), seed)


@each_variant()
def test_outputs_come_before_the_end_of_a_stream(variant):
    # The streams stay open: all ready output must appear without their end, if not all at once.
    streams = streams_of("random", 1, 1, 100, 3)
    join = join_of(variant, streams, EXTENTS["time-opposite"])
    crew = Crew(join, 10_000)
    for stream in (R, S):
        crew.feed(stream, len(streams[stream]), 1_000)
    for _ in range(300):
        turn(crew, ())
    assert crew.taken[0] > 0.5 * len(wanted(join))


# --- refusals ------------------------------------------------------------------------------------


@each_variant()
def test_a_window_that_is_too_small_is_a_failure_and_no_wrong_answer(variant):
    streams = streams_of("random", 1, 1, 390, 1)
    with pytest.raises(Failed) as failed:
        interleaved(join_of(variant, streams, ALL_TIME, threads=2, capacity=1))
    assert failed.value.status == WINDOW_FULL


@each_variant()
def test_a_window_that_is_too_small_cannot_be_filled(variant):
    streams = streams_of("random", 1, 1, 390, 1)
    join = join_of(variant, streams, ALL_TIME, LEAST, threads=1, capacity=1, filled=700)
    with pytest.raises(Failed, match="filling") as failed:
        interleaved(join)
    assert failed.value.status == WINDOW_FULL


@each_variant([each for each in CHAINS if each.operations.ordered])
def test_a_sort_buffer_that_is_too_small_is_a_failure(variant):
    streams = streams_of("random", 1, 1, 60, 1)
    for sort in (1, 4):
        with pytest.raises(Failed) as failed:
            interleaved(join_of(variant, streams, ALL_TIME, {"sort": sort}))
        assert failed.value.status == SORT_FULL


@each_variant([each for each in CHAINS if each.operations.ordered])
def test_a_sort_buffer_may_be_as_small_as_its_peak(variant):
    streams = streams_of("random", 1, 1, 60, 1)
    join = join_of(variant, streams, EXTENTS["time-opposite"], LEAST, threads=3)
    peak = variant.operations.peak(agree(join, 5).state)
    assert 0 < peak < 200
    agree(join_of(variant, streams, join.extent, {**LEAST, "sort": peak}, threads=3), 5)


@each_variant()
@pytest.mark.parametrize(("apart", "fails"), [(REACH - 1, False), (REACH, True)])
def test_pairs_that_are_too_far_apart_are_a_failure(variant, apart, fails):
    tables = number_tables((0, 0), (0, 0), HALF_WIDTHS)
    join = join_of(variant, [[(0, 0)], [(1, 0)]], ALL_TIME, threads=1, tables=tables, filled=1)
    crew = Crew(join, 10)
    # As if that many tuples, all outside the windows, had followed the prefilled one.
    for own in crew.state.threads or (crew.state.output,):
        if crew.state.driver is None:
            own.joining.words[processing.RANK] += apart - 1
    if crew.state.driver is not None:
        crew.state.driver.words[NEXT_RANK] += apart - 1
    statuses = {status for _ in range(100) for status in turn(crew, (R, S))}
    assert (TOO_FAR in statuses) == fails
    if not fails:
        assert crew.answer().pairs == [(apart, 0)]


def make(variant, extent=ALL_TIME, shape=(1, 1, 1, 8), **own):
    return variant.operations.make_state(BAND, TABLES, extent, Shape(*shape), **own)


@each_variant()
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 1, 1, 0), "a window holds 1 to 67108863 tuples, received 0"),
        ((1, 1, 1, REACH), "a window holds 1 to 67108863 tuples, received 67108"),
    ],
)
def test_windows_of_no_size_are_refused(variant, shape, message):
    refused(message, lambda: make(variant, shape=shape))


@each_variant()
def test_capacities_below_the_least_are_refused(variant):
    messages = {
        "ahead": (2, "ahead must be between 3 and 1048576 tuples, received 2"),
        "ahead_out": (2, "ahead must be between 3 and 1048576 tuples, received 2"),
        "messages": (0, "capacity of rings must be at least 1, received 0"),
        "pairs": (0, "capacity of rings must be at least 1, received 0"),
        "sort": (0, "a sort buffer holds at least 1 pair, received 0"),
    }
    for parameter in variant.parameters:
        if parameter.name != "threads":
            value, message = messages[parameter.name]
            refused(message, partial(make, variant, **{parameter.name: value}))
            refused(f"{parameter.name} must be between", partial(parameter.check, value))


@each_variant(CHAINS)
def test_a_chain_refuses_several_streams_and_the_own_purge(variant):
    for shape in ((2, 1, 1, 8), (1, 3, 1, 8)):
        words = f"one physical stream of R with one of S, received {shape[0]} and {shape[1]}"
        refused(f"{variant.id} joins {words}", partial(make, variant, shape=shape))
    extent = EXTENTS["time-own"]
    refused(f"{variant.id} lets .* give purge=opposite", lambda: make(variant, extent))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "windows are of time .* or of count .*, received 0 ticks and 0 tuples"),
        ({"span": 3, "count": 3}, "received 3 ticks and 3 tuples"),
        ({"span": -1}, "received -1 ticks"),
        ({"span": 1, "count": -1}, "received 1 ticks and -1 tuples"),
        ({"span": 1, "purge": "both"}, "purge is own or opposite, received 'both'"),
    ],
)
def test_windows_that_are_neither_of_time_nor_of_count_are_refused(given, message):
    refused(message, lambda: make_extent(**given))


def test_what_is_no_predicate_is_refused():
    refused("bands are of at least 1 number of a tuple, received 0", lambda: bands(0))
    refused(r"of at least 0, received \(1, -1\)", lambda: number_tables((), (), (1, -1)))
    refused("1 to 8 numbers of a tuple, received 9", lambda: condition(is_less, 9))
    refused("1 to 8 numbers of a tuple, received 0", lambda: condition(is_less, 0))
    # Compiled joins are looked up by the names of their parts.
    refused("a function with a name, in a file", lambda: condition(lambda r, s: r < s, 1))
    refused("give real=True", lambda: number_tables((1, 2.5), (3,)))


def is_less(r, s):
    return r < s


@each_variant([each for each in OTHERS if each.id in ("scale-join-index", "scale-join-hash")])
def test_what_looks_up_a_range_refuses_any_other_condition(variant):
    any_condition = condition(is_less, 1)
    make_any = variant.operations.make_state
    shape = Shape(1, 1, 1, 8)
    refused("no range to look up", lambda: make_any(any_condition, TABLES, ALL_TIME, shape))


def refused(message: str, call) -> None:
    """Check that a call is refused with one line that gives the reason."""
    with pytest.raises(UsageError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
