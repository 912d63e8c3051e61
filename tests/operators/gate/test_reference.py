"""The gate's oracles: small enough to be checked by hand, and against one another."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import ACCEPTED, OUT_OF_ORDER
from operators.gate.reference import ReadinessModel, merged, total_order


def test_equal_timestamps_are_ordered_by_source_then_position():
    streams = [[(5, 0, "a"), (5, 0, "b")], [(4, 0, "c"), (5, 0, "d")]]
    assert [t.value for t in merged(streams)] == ["c", "a", "b", "d"]


@given(st.lists(st.lists(st.integers(0, 3)), min_size=1, max_size=4))
def test_sorting_arrays_is_sorting_tuples(streams):
    lists = [[(t, 0, 0) for t in sorted(stream)] for stream in streams]
    source = np.array([s for s, stream in enumerate(lists) for _ in stream], dtype=np.int64)
    timestamp = np.array([row[0] for stream in lists for row in stream], dtype=np.int64)
    order = total_order(source, timestamp)
    places = list(zip(timestamp[order].tolist(), source[order].tolist(), strict=True))
    assert places == [(t.timestamp, t.source) for t in merged(lists)]


def test_nothing_is_ready_until_every_source_has_delivered():
    model = ReadinessModel(2)
    model.insert_tuple(0, 1, 0, 0)
    model.insert_tuple(0, 2, 0, 0)
    assert model.get_next_ready_tuple() is None
    model.insert_tuple(1, 2, 0, 0)
    # (2, source 0) comes before (2, source 1), and no later tuple of source 0 at 2 can precede it.
    assert [t[:2] for t in model.ready()] == [(1, 0), (2, 0)]


def test_a_tie_with_a_lower_source_is_not_ready():
    # Definition 1 by timestamps alone would release (5, source 1): the lower source's last tuple is
    # at 5 too. That source may deliver another 5, which comes first.
    model = ReadinessModel(2)
    model.insert_tuple(0, 5, 0, 0)
    model.insert_tuple(1, 5, 0, 0)
    assert model.get_next_ready_tuple()[:2] == (5, 0)
    assert model.get_next_ready_tuple() is None
    model.insert_tuple(0, 5, 0, 1)
    assert model.get_next_ready_tuple()[:3] == (5, 0, 1)
    model.insert_tuple(0, 6, 0, 2)
    assert model.get_next_ready_tuple()[:2] == (5, 1)


def test_closing_releases_what_waited_for_the_source():
    model = ReadinessModel(2)
    model.insert_tuple(0, 1, 0, 0)
    model.close_source(1)
    assert model.get_next_ready_tuple()[:2] == (1, 0)
    assert not model.ended()
    model.close_source(0)
    assert model.ended()


def test_an_earlier_timestamp_is_refused():
    model = ReadinessModel(1)
    assert model.insert_tuple(0, 3, 0, 0) == ACCEPTED
    assert model.insert_tuple(0, 2, 0, 0) == OUT_OF_ORDER
    assert len(model.delivered) == 1
