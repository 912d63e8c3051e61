"""Balancers: each tuple goes to the partition's destination, whatever the steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.streamcloud.algebra import (
    Aggregate,
    Input,
    Map,
    Output,
    Product,
    Query,
    TimeWindow,
)
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.partition import OF_COLUMNS, OF_KEY, hash_of
from operators.streamcloud.rows import END

A = Input("a", {"k": "int64", "x": "int64"})
QUERIES = {
    "round robin": Query("q", Map("op", A, {"x": "x"})),
    "hash": Query("q", Aggregate("op", A, TimeWindow(5, 5), {"n": "count()"}, ["x", "k"])),
    "grid": Query("q", Product("op", (A, A), TimeWindow(5), {"x": "left.x"})),
}


def word_of(partition, words, position):
    if partition.made_from == OF_COLUMNS:
        return hash_of([words[4], words[3]])
    return hash_of(words[:3]) if partition.made_from == OF_KEY else position


@pytest.mark.parametrize("instances", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("name", QUERIES)
@given(
    numbers=st.lists(st.tuples(st.integers(-3, 2**62), st.integers(-3, 3)), max_size=20),
    cuts=st.lists(st.integers(0, 20), max_size=3),
)
@settings(max_examples=15)
def test_a_tuple_goes_where_its_partition_says(name, instances, numbers, cuts):
    plan = compile_query(QUERIES[name], "subquery-cluster", instances)
    tuples = [[ts, 0, ts, k, x] for ts, (k, x) in enumerate(numbers)]
    balancer = Balancer(plan, "a", 0)
    found = [[[] for _ in range(instances)] for _ in plan.channels_from("a")]
    cuts = sorted(min(cut, len(tuples)) for cut in cuts)
    for seq, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(tuples)], strict=True)):
        batch = np.array(tuples[begin:end], dtype=np.int64).reshape(end - begin, 5).T
        sent = balancer.send({Output(A): batch}, {Output(A): begin})
        state = balancer.save()
        balancer = Balancer(plan, "a", 0)
        balancer.load(state)
        for way, rows in enumerate(sent):
            assert [each[:5] for each in rows] == [
                (dest, way, 0, seq, begin) for dest in range(instances)
            ]
            for each in rows:
                assert each.batch.flags.c_contiguous and each.batch.flags.writeable
                found[way][each.dest] += each.batch.T.tolist()
    for way, channels in enumerate(plan.channels_from("a")):
        wanted = [[] for _ in range(instances)]
        for position, words in enumerate(tuples):
            word = word_of(channels.partition, words, position)
            for dest in channels.partition.destinations(word, instances):
                wanted[dest].append(words)
        assert found[way] == wanted


def test_what_is_sent_is_counted():
    plan = compile_query(QUERIES["grid"], "subquery-cluster", 4)
    balancer = Balancer(plan, "a", 0)
    batch = np.array([[1], [0], [0], [5], [6]], dtype=np.int64)
    balancer.send({Output(A): batch}, {Output(A): END})
    # Each side to 4 instances, and a tuple to a row, or a column, of 2.
    assert (balancer.rows, balancer.tuples, balancer.bytes) == (8, 4, 8 * 56 + 4 * 5 * 8)


def flat(rows, dest):
    return [words for each in rows if each.dest == dest for words in each.batch.T.tolist()]


@pytest.mark.parametrize("instances", [1, 3, 4])
@pytest.mark.parametrize("name", QUERIES)
@given(
    steps=st.lists(st.lists(st.integers(0, 9), max_size=11), min_size=1, max_size=3),
    most=st.integers(1, 4),
    slack=st.integers(0, 3),
)
@settings(max_examples=15)
def test_what_is_too_large_for_a_row_is_sent_as_several(name, instances, steps, most, slack):
    """The tuples and their destinations are the same; rows are numbered; promises hold."""
    plan = compile_query(QUERIES[name], "subquery-cluster", instances)
    whole, pieces = Balancer(plan, "a", 0), Balancer(plan, "a", 0)
    time = seq = 0
    for number, gaps in enumerate(steps):
        times = time + np.cumsum(np.array([0, *gaps], dtype=np.int64))
        time = int(times[-1])
        batch = np.vstack([times, 0 * times, np.arange(len(times)), times % 3, times % 5])
        promised = {Output(A): END if number == len(steps) - 1 else time}
        given = {Output(A): batch}
        wanted = whole.send(given, promised)
        # Tuples of five words; a few bytes more have no room for another tuple.
        pieces.most_body = 40 * most + 8 * slack
        sent = pieces.send(given, promised)
        count = -(-len(times) // most)
        for rows, expected in zip(sent, wanted, strict=True):
            assert len(rows) == count * instances
            for dest in range(instances):
                own = [each for each in rows if each.dest == dest]
                assert [each.seq for each in own] == list(range(seq, seq + count))
                assert all(each.batch.shape[1] <= most for each in own)
                assert flat(rows, dest) == flat(expected, dest)
                behind = promised[Output(A)]
                for each in reversed(own):
                    assert each.progress <= behind
                    behind = min([behind, *each.batch[0].tolist()])
                assert own[-1].progress == promised[Output(A)]
        # Each piece but the last promises the time of the first tuple that is still to come.
        told = [each.progress for each in sent[0] if each.dest == 0]
        assert told[:-1] == [int(times[most * (at + 1)]) for at in range(count - 1)]
        seq += count
