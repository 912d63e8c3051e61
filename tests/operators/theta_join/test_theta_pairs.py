"""Every theta join finds the pairs of the three-step procedure, in order, whoever goes first."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.contract import FULL, UsageError
from operators.core.jit import INTERPRETED
from operators.theta_join import reference
from operators.theta_join.family import SORT_FULL, WINDOW_FULL, Shape, make_extent
from operators.theta_join.predicates import NumberTables, bands, condition
from tests.operators.theta_join.running import Crew, Failed, Join, interleaved, threaded

VARIANTS = registry.variants("theta_join")
CHAINS = [each for each in VARIANTS if each.operations.drive]
ANY_STREAMS = [each for each in VARIANTS if not each.operations.drive]
LEAST = {"ahead": 3, "ahead_out": 3, "messages": 1, "pairs": 1}
EXTENTS = {
    "own": make_extent(span=20),
    "opposite": make_extent(span=20, purge="opposite"),
    "last-seven": make_extent(count=7),
    "last-one": make_extent(count=1),
    "last-five-opposite": make_extent(count=5, purge="opposite"),
    "everything": make_extent(span=10_000, purge="opposite"),
}
SEEDS = range(2 if INTERPRETED else 3)
TUPLES = 20 if INTERPRETED else 40


def tables_of(seed: int, most: int = 8) -> NumberTables:
    random = np.random.default_rng(seed)
    return NumberTables(*(random.integers(0, most, 2 * 400) for _ in "rs"))


def streams_of(kind: str, seed: int, r_streams: int, s_streams: int) -> list[list[tuple]]:
    """Return timestamps and rows of some streams."""
    random = np.random.default_rng(100 + seed)
    found = []
    for side, many in ((0, r_streams), (1, s_streams)):
        first = 0
        for _ in range(many):
            count = {"empty": 0, "one": 1, "no-r": TUPLES * side}.get(kind, TUPLES)
            times = np.sort(random.integers(0, 2 * TUPLES, count))
            if kind == "tied":
                times //= 9
            if kind == "bursts":
                times = times // 40 * 40
            found.append([(int(time), first + n) for n, time in enumerate(times)])
            first += count
    return found


def near(tables: NumberTables):
    def holds(r, s):
        first = abs(int(tables.r[2 * r]) - int(tables.s[2 * s])) <= 2
        return first and abs(int(tables.r[2 * r + 1]) - int(tables.s[2 * s + 1])) <= 3

    return holds


def check(join: Join, seed: int, run=interleaved) -> int:
    wanted = reference.join(join.arrivals, join.extent, near(join.tables))
    wanted = [pair for pair in wanted if pair[0] >= join.filled]
    if run is interleaved:
        answer = run(join, seed, most_turns=3_000_000)
    else:
        answer = run(join, len(wanted) + 8)
    found = answer.pairs if join.variant.operations.ordered else sorted(answer.pairs)
    assert found == wanted
    return len(wanted)


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("kind", ["random", "tied", "bursts", "empty", "one", "no-r"])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.id)
def test_pairs_are_those_of_the_procedure(variant, kind, extent):
    if variant in CHAINS and extent == "own":
        pytest.skip("a handshake join has the opposite purge, and says so")
    found = 0
    for seed in SEEDS:
        many = (1, 1) if variant in CHAINS else (1 + seed % 3, 1 + seed % 2)
        join = Join(
            variant, streams_of(kind, seed, *many), many[0], EXTENTS[extent], tables_of(seed),
            threads=1 + seed, own=LEAST if seed % 2 else {"ahead": 16, "messages": 3, "pairs": 5},
        )  # fmt: skip
        found += check(join, seed)
    # A test of nothing but empty answers would tell nothing.
    assert found > 0 or kind in ("empty", "one", "no-r")


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.id)
def test_windows_that_were_filled_give_the_rest_of_the_pairs(variant):
    for seed in SEEDS:
        join = Join(
            variant, streams_of("tied", seed, 1, 1), 1, EXTENTS["opposite"], tables_of(seed),
            threads=1 + seed, filled=TUPLES, own=LEAST,
        )  # fmt: skip
        assert check(join, seed) > 0


@pytest.mark.parametrize("variant", ANY_STREAMS, ids=lambda each: each.id)
def test_the_output_is_the_same_for_any_number_of_threads(variant):
    streams = streams_of("bursts", 1, 3, 2)
    answers = []
    for threads in (1, 2, 7) if INTERPRETED else (1, 2, 3, 8, 17, 48):
        join = Join(variant, streams, 3, EXTENTS["own"], tables_of(1), threads=threads)
        answers.append(interleaved(join, threads).pairs)
    assert len(answers[0]) > 100
    assert all(each == answers[0] for each in answers)


@pytest.mark.skipif(INTERPRETED, reason="real threads take turns by the GIL, one step at a time")
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.id)
def test_real_threads_find_the_same(variant):
    for seed in range(3):
        many = (1, 1) if variant in CHAINS else (2, 2)
        join = Join(
            variant, streams_of("tied", seed, *many), many[0], EXTENTS["opposite"],
            tables_of(seed), threads=2 + seed, own=LEAST,
        )  # fmt: skip
        assert check(join, seed, threaded) > 0


@pytest.mark.parametrize("variant", ANY_STREAMS, ids=lambda each: each.id)
def test_a_silent_stream_holds_what_others_deliver_and_is_waited_for(variant):
    streams = streams_of("random", 3, 2, 1)
    join = Join(variant, streams, 2, EXTENTS["own"], tables_of(3), own=LEAST)
    crew = Crew(join, 1 << 12)
    # Stream 1 delivers nothing: nobody gets anything, and the others are told FULL.
    for _ in range(50):
        for stream in (0, 2):
            crew.feed(stream, crew.ends[stream] - 1, 1)
        for thread in range(len(crew.state.threads)):
            crew.advance(thread, 1)
        crew.take(1)
    assert crew.feed(0, crew.ends[0] - 1, 1) == FULL
    assert int(crew.taken[0]) == 0 and int(crew.place[0]) < 5
    later = Join(variant, streams, 2, EXTENTS["own"], tables_of(3), own=LEAST, silent={1: (0, 200)})
    assert check(later, 3) > 0


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.id)
def test_a_window_without_room_ends_the_join_and_nothing_is_lost_quietly(variant):
    join = Join(variant, streams_of("random", 1, 1, 1), 1, EXTENTS["everything"], tables_of(1),
                threads=1, capacity=1)  # fmt: skip
    # Room for the tuples of some batches is there whatever is asked for; not for all of these.
    many = Join(variant, [[(n, n % 300) for n in range(600)]] * 2, 1, EXTENTS["everything"],
                tables_of(1, 2_000), threads=1, capacity=1)  # fmt: skip
    del join
    if variant.id == "handshake":
        pytest.skip("its cores keep what their neighbours have no room for")
    with pytest.raises(Failed) as failed:
        interleaved(many, 1, pairs=1 << 18)
    assert failed.value.status == WINDOW_FULL


def test_a_sort_buffer_without_room_says_so():
    variant = registry.variant("theta_join", "handshake-low-latency")
    join = Join(variant, streams_of("tied", 2, 1, 1), 1, EXTENTS["everything"], tables_of(2, 3),
                threads=3, own={"sort": 1, "messages": 4, "pairs": 64})  # fmt: skip
    with pytest.raises(Failed) as failed:
        interleaved(join, 1)
    assert failed.value.status == SORT_FULL


def test_any_condition_can_be_joined_by():
    def divides(r, s):
        return s != 0 and r % s == 0

    tables = NumberTables(*(np.random.default_rng(4).integers(0, 30, 400) for _ in "rs"))
    for variant in ("sequential", "scale-join", "handshake-low-latency"):
        join = Join(
            registry.variant("theta_join", variant), streams_of("tied", 4, 1, 1), 1,
            EXTENTS["opposite"], tables, predicate=condition(divides, 1),
        )  # fmt: skip
        wanted = reference.join(
            join.arrivals, join.extent, lambda r, s: divides(int(tables.r[r]), int(tables.s[s]))
        )
        assert interleaved(join, 4).pairs == wanted and wanted


@pytest.mark.parametrize("variant", CHAINS, ids=lambda each: each.id)
def test_a_chain_refuses_what_it_does_not_join(variant):
    make = variant.operations.make_state
    with pytest.raises(UsageError, match="one physical stream"):
        make(bands((1,)), None, EXTENTS["opposite"], Shape(2, 1, 2, 9))
    with pytest.raises(UsageError, match="purge=opposite"):
        make(bands((1,)), None, EXTENTS["own"], Shape(1, 1, 2, 9))


def test_extents_are_of_time_or_of_count():
    for given in ({}, {"span": 3, "count": 3}, {"span": -1}, {"span": 3, "purge": "both"}):
        with pytest.raises(UsageError):
            make_extent(**given)
    for indexed in ("scale-join-index", "scale-join-hash"):
        make = registry.variant("theta_join", indexed).operations.make_state
        with pytest.raises(UsageError, match="use scale-join"):
            make(condition(max, 1), None, EXTENTS["own"], Shape(1, 1, 1, 9))
