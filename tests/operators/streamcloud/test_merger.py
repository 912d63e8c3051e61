"""Mergers: the output is ordered and certain, whatever the order of arrival."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.streamcloud.algebra import Input, Map, Query, Union
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.merger import merger_of
from operators.streamcloud.plan import BEST_EFFORT, TRANSPARENT
from operators.streamcloud.rows import END, Row
from operators.streamcloud.saved import pack_saved

A, B = Input("a", {"x": "int64"}), Input("b", {"x": "int64"})


def made(streams=2, merger=TRANSPARENT, union=False):
    """Return the merger of one side: two streams of a, or a union of two inputs."""
    taken = Union("both", (B, A)) if union else A
    query = Query("q", Map("m", taken, {"x": "x"}))
    counts = {"a": streams} | ({"b": 1} if union else {})
    plan = compile_query(query, "subquery-cluster", 1, merger, counts)
    return merger_of(plan, [each.feeds for each in plan.stages[0].mergers])


def row(sender, seq, progress, *times, source=None):
    source = sender if source is None else source
    words = [[ts, source, 10 * seq + at, ts * 100 + sender] for at, ts in enumerate(times)]
    batch = np.array(words, dtype=np.int64).reshape(len(words), 4).T.copy()
    return Row(0, 0, sender, seq, progress, batch)


def times(given):
    return [(found.batches[0][0].tolist(), found.floor) for found in given]


def test_a_tuple_waits_until_no_sender_can_be_before_it():
    merger = made()
    assert times(merger.take([row(0, 0, 5, 1, 4)])) == [([], 0)]
    assert merger.waiting == 2
    assert times(merger.take([row(1, 0, 4, 2)])) == [([1, 2], 4)]
    # Sender 1 may still send one at 4, which would follow that of sender 0.
    assert times(merger.take([row(1, 1, 5, 4)])) == [([4, 4], 5)]
    assert merger.waiting == 0


def test_progress_of_a_sender_without_tuples_lets_the_others_go_on():
    merger = made()
    merger.take([row(0, 0, 9, 1, 4)])
    assert times(merger.take([row(1, 0, 3)])) == [([1], 3)]
    assert times(merger.take([row(1, 1, END)])) == [([4], 9)]
    assert times(merger.take([row(0, 1, END, 9)])) == [([9], END)]


def test_a_row_behind_a_gap_waits_and_one_that_comes_twice_is_dropped():
    merger = made(streams=1)
    assert times(merger.take([row(0, 1, 8, 5)])) == [([], 0)]
    assert merger.waiting == 1
    assert times(merger.take([row(0, 0, 4, 1), row(0, 0, 4, 1)])) == [([1, 5], 8)]
    assert times(merger.take([row(0, 1, 8, 5), row(0, 2, END)])) == [([], END)]
    assert merger.waiting == 0


def test_what_waits_has_the_positions_at_which_it_came():
    merger = made(streams=2)
    merger.take([row(0, 0, 9, 1, 2, 3), row(0, 1, 9, 9, 9)])
    for seq, (progress, taken) in enumerate([(0, 0), (3, 2), (4, 3), (10, 3), (END, 3)]):
        merger.take([row(1, seq, progress)])
        _, waiting, *_ = merger.save()
        assert (waiting.first, waiting.end) == (taken, 5), progress
    merger.take([row(0, 2, END)])
    assert merger.save()[1].first == 5


@pytest.mark.parametrize("broken", [row(0, 1, 3), row(0, 1, 9, 4)])
def test_a_sender_that_breaks_its_promise_is_named(broken):
    merger = made()
    merger.take([row(0, 0, 5, 1)])
    with pytest.raises(RuntimeError, match="sender 0, of a from a, broke its promise: it was at 5"):
        merger.take([broken])


@pytest.mark.parametrize("again", [False, True], ids=["in one", "from a state"])
def test_a_sender_whose_keys_do_not_ascend_is_named(again):
    merger, first = made(), row(0, 0, 5, 1, 5)
    merger.take([first])
    if again:
        saved, merger = merger.save(), made()
        merger.load(saved)
    for position in (1, 0):
        at_once = row(0, 1, 9, 5)
        at_once.batch[2] = position
        with pytest.raises(RuntimeError, match=r"sender 0, .* broke the order: .*\[5, 0, 1\]"):
            merger.take([at_once])
        assert merger.sides[0].senders[0].progress == 5
        merger.sides[0].senders[0].next = 1
    assert merger.take([row(0, 1, 9, 5)])


def test_tuples_of_other_words_are_refused():
    with pytest.raises(RuntimeError, match="tuples of 3 words, not of 4"):
        made().take([Row(0, 0, 0, 0, 0, np.zeros((3, 1), dtype=np.int64))])


def test_a_union_puts_the_number_of_its_input_behind_the_time():
    merger = made(streams=1, union=True)
    found = merger.take([row(1, 0, END, 1, 2, source=0), row(0, 0, END, 1, 1, source=1)])
    assert found[0].batches[0].T.tolist() == [
        [1, 0, 1, 0, 100], [1, 0, 1, 1, 100], [1, 1, 0, 0, 101], [2, 1, 0, 1, 201],
    ]  # fmt: skip


def test_best_effort_gives_out_what_comes():
    merger = made(merger=BEST_EFFORT)
    found = merger.take([row(0, 0, 5, 1, 4), row(1, 1, 9, 8), row(1, 0, 3, 2)])
    assert times(found) == [([1, 4], 0), ([2], 3), ([8], 5)]
    assert merger.take([row(1, 0, 3, 2)]) == []
    assert times(merger.take([row(0, 1, END), row(1, 2, END)])) == [([], 9), ([], END)]


@given(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=4), st.integers())
@settings(max_examples=60)
def test_the_order_is_that_of_the_keys(streams, seed):
    random = Random(seed)
    merger = made(streams=len(streams))
    rows = []
    for sender, given_times in enumerate(streams):
        left, seq = sorted(given_times), 0
        while left:
            count = random.randint(0, len(left))
            progress = left[count] if count < len(left) else left[-1]
            rows.append(row(sender, seq, progress, *left[:count]))
            left, seq = left[count:], seq + 1
        rows.append(row(sender, seq, END))
    random.shuffle(rows)
    found = []
    while rows:
        count = random.randint(0, 3)
        [each] = merger.take(rows[:count])
        rows = rows[count:]
        # Tuples of a single sender need not wait.
        waits = len(streams) > 1 and each.batches[0].shape[1]
        assert not waits or each.batches[0][0].max() < each.floor
        found += each.batches[0].T.tolist()
        saved = merger.save()
        merger = made(streams=len(streams))
        merger.load(saved)
        assert pack_saved(merger.save()) == pack_saved(saved)
    assert found == sorted(found)
    assert len(found) == sum(map(len, streams)) and merger.progress == END
