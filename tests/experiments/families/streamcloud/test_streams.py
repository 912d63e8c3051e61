"""Streams that begin again, the ranks of their tuples, and the tuple that completes a row."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.families.streamcloud import loops
from experiments.families.streamcloud.completing import filled_after, ways_of
from experiments.families.streamcloud.parts import SliceSource
from experiments.families.streamcloud.streams import NUMBERS, bench_query, streams_of
from operators.contract import UsageError
from operators.streamcloud.algebra import Aggregate, Input, Join, Map, Query
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.queries import QUERIES
from operators.streamcloud.rows import END
from operators.streamcloud.schema import TIME
from operators.streamcloud.windows import TimeWindow
from tests.covering import interpreted_is_enough
from tests.experiments.families.streamcloud.call_streams import CALLS, in_memory

DENSITY = 7


def streams(query, density=DENSITY, data=None):
    asked = QUERIES[query]
    folder = None if asked.role is None else data or in_memory()
    return streams_of(query, density, 20, folder)


def all_of(found, cycles):
    """Return (ts, source, position, the other words) of every tuple of some cycles, in order."""
    tuples = []
    for feed in found.feeds:
        batch = feed.batch(0, cycles * feed.words.shape[1])
        tuples += map(tuple, batch.T.tolist())
    return sorted(tuples)


def test_a_stream_begins_again_later_and_with_other_positions():
    found = streams("product")
    for feed in found.feeds:
        rows = feed.words.shape[1]
        again = feed.batch(rows, 2 * rows)
        assert (again[0] == feed.words[0] + found.span).all()
        assert (again[2] == feed.words[2] + rows).all()
        start = 2 + found.query.inputs[0].schema.names.index("start")
        assert (again[start] == feed.words[start] + found.span // DENSITY).all()
        others = [w for w in range(len(again)) if w not in (0, 2, start)]
        assert (again[others] == feed.words[others]).all()
        # Across the seam, and in pieces.
        whole = feed.batch(0, 3 * rows)
        pieces = [feed.batch(at, min(at + 17, 3 * rows)) for at in range(0, 3 * rows, 17)]
        assert (np.concatenate(pieces, axis=1) == whole).all()
        assert (np.diff(whole[0]) >= 0).all()
        assert [feed.time(p) for p in range(3 * rows)] == whole[0].tolist()


@pytest.mark.parametrize("query", ["calls-by-duration", "product", "join"])
def test_ranks_are_places_in_the_order_of_time_and_input(query):
    found = streams(query)
    tuples = all_of(found, 2)
    assert len(found.times) * 2 == len(tuples)
    for rank in range(0, len(tuples) + 1, 13):
        for source, feed in enumerate(found.feeds):
            assert found.before(feed, rank) == sum(each[1] == source for each in tuples[:rank])
    cycle = [each[0] for each in tuples[: len(found.times)]]
    assert found.times.tolist() == cycle


def test_calls_keep_their_length_and_who_they_are_and_come_once_a_tick():
    data = in_memory()
    (feed,) = streams("join", data=data).feeds
    calls, names = data.tables["calls"], bench_query(QUERIES["join"], 1, 2).inputs[0].schema.names
    word = {name: 2 + place for place, name in enumerate(names)}
    rows = CALLS // DENSITY * DENSITY
    assert feed.words[0].tolist() == list(range(rows))
    for name in ("caller", "district", "duration", "x"):
        assert (feed.words[word[name]] == calls[name][:rows]).all()
    since = calls["emitted"] - calls["start"]
    assert (feed.words[0] // DENSITY - feed.words[word["start"]] == since[:rows]).all()


def test_an_announcement_stands_at_the_call_it_came_with():
    calls, suspects = streams("calls-by-duration").feeds
    assert suspects.words[0].tolist() == [
        tick for tick in range(0, calls.words.shape[1], 30) for _ in range(3)
    ]


def test_numbers_that_are_made_are_of_a_range_and_differ_by_stream():
    feeds = streams("eight-operators").feeds
    for feed in feeds:
        assert 0 <= feed.words[3].min() <= feed.words[3].max() < NUMBERS
    assert len({feed.words[3, :50].tobytes() for feed in feeds}) == 3


def test_windows_are_in_ticks_or_in_tuples():
    query = bench_query(QUERIES["aggregate"], 5, 20)
    assert query.outputs[0].node.window == TimeWindow(300, 50)
    assert bench_query(QUERIES["fixed-windows"], 5, 20).outputs[0].node.window.size == 19


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(UsageError, match="have no column 'x'; they have: emitted, row"):
        streams("join", data=in_memory(x=None))


@interpreted_is_enough
@pytest.mark.parametrize("query", ["calls-by-duration", "product"])
@pytest.mark.parametrize("blob", [1, 5, 64])
def test_slices_have_so_many_tuples_of_all_streams_and_keep_their_promises(query, blob):
    found = streams(query)
    total = len(found.times) + 40
    source = SliceSource(compile_query(found.query, "query-cluster", 1), found, total, blob)
    expected = all_of(found, 2)[:total]
    got, progress, due = [], {}, []
    while True:
        rank = source.due_rank
        taken = source.take()
        if taken is None:
            break
        due.append(rank)
        ((row,),) = ([each for each in rows if each] for rows in [sum(taken[1], [])[:1]])
        tuples = list(map(tuple, row.batch.T.tolist()))
        assert all(each[0] >= progress.get(taken[0], 0) for each in tuples)
        progress[taken[0]] = row.progress
        got += tuples
        last = len(due) % len(found.feeds) == 0
        if last:
            assert len(got) == min(len(due) // len(found.feeds) * blob, total) == source.tuples
            assert rank == len(got) - 1
    assert sorted(got) == expected
    assert set(progress.values()) == {END}
    assert source.ended("calls", 0)


# --- what completes a row -------------------------------------------------------------------------

CALLS_IN = Input("calls", {"who": "int64"})


def needed(query, time):
    return loops.needed(time, ways_of(query))


def test_a_stateless_row_is_complete_with_its_own_time():
    query = Query("q", Map("m", CALLS_IN, {"who": "who"}))
    assert needed(query, 12) == 12
    assert filled_after(query) == 0


def test_a_window_is_complete_with_its_last_tick():
    busy = Aggregate("busy", CALLS_IN, TimeWindow(6, 2), {"calls": "count()"}, group_by=("who",))
    query = Query("q", busy)
    # Windows at 4 and, for a following join, up to time 5: the last open one began at 4.
    assert [needed(query, t) for t in (4, 5, 6)] == [9, 9, 11]
    assert filled_after(query) == 6


@pytest.mark.parametrize("first", [True, False])
def test_the_longest_way_counts(first):
    long, short = (
        Aggregate(name, CALLS_IN, TimeWindow(size, advance), {"n": "count()"}, group_by=("who",))
        for name, size, advance in (("long", 6, 2), ("short", 3, 3))
    )
    sides = (long, short) if first else (short, long)
    on = (("who", "who"),)
    query = Query("q", Join("met", sides, TimeWindow(5), {"who": "left.who"}, on=on))
    # Of the windows at 4 and at 3.
    assert needed(query, 4) == max(4 + 5, 3 + 2)
    assert filled_after(query) == 6 + 5


def test_a_map_that_sets_the_time_is_refused():
    query = Query("q", Map("m", CALLS_IN, {TIME: f"{TIME} + 1", "who": "who"}))
    with pytest.raises(UsageError, match="m sets the time"):
        ways_of(query)
