"""Names that would overlap are moved apart, and no further than necessary."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from figures import marks


@given(st.lists(st.floats(0.0, 1.4), min_size=1, max_size=12))
def test_spread_out_places_keep_their_order_and_stay_in_the_room(wanted):
    wanted = sorted(wanted)
    apart, room = 0.115, 1.4
    found = marks.spread_out(wanted, apart, room)
    assert all(other - one >= apart - 1e-5 for one, other in pairwise(found))
    assert -1e-5 <= found[0] and found[-1] <= room + 1e-5


def test_places_that_are_far_enough_apart_stay_where_they_are():
    assert marks.spread_out([0.1, 0.5, 1.3], 0.2, 1.4) == [0.1, 0.5, 1.3]


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.1, 0.4)), min_size=1, max_size=6))
def test_texts_side_by_side_neither_touch_nor_leave_the_room(given_):
    given_ = sorted(given_)
    widths = [width for _, width in given_]
    found = marks.side_by_side([at for at, _ in given_], widths, 3.0)
    ends = [(at - width / 2, at + width / 2) for at, width in zip(found, widths, strict=True)]
    assert all(other[0] >= one[1] - 1e-4 for one, other in pairwise(ends))
    assert ends[0][0] >= -1e-4 and ends[-1][1] <= 3.0 + 1e-4


def test_texts_that_have_room_stay_in_the_middle_of_what_they_name():
    assert marks.side_by_side([0.5, 2.0], [0.4, 0.4], 3.0) == pytest.approx([0.5, 2.0])
