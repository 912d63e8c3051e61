"""Specific to WiML on panes: when a pane is moved, and when a winset is emitted.

``tests/contract`` compares the output with the oracle, ``tests/interleaving`` tests the interaction
of the threads, and the tests of `tumlsc_panes` cover the panes themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.aggregation import wiml_panes
from operators.aggregation.plan import make_plan
from operators.aggregation.sink import take_rows
from operators.aggregation.wiml_panes import PANES_AHEAD, add, close, process
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    READY,
    TIMESTAMP_LIMIT,
    UsageError,
)
from tests.comparing import agree
from tests.drivers import random_streams, scaled


def state_of(size=4, advance=2, inputs=2, panes_ahead=2, function="count", **given):
    plan = make_plan(function, size, advance, keys=4, rows_capacity=64)
    return wiml_panes.make_state(plan, inputs, panes_ahead=panes_ahead, **given)


def rows_now(state):
    """Return the rows that are out so far, and the status after them."""
    while (status := process(state)) == READY:
        pass
    return take_rows(state.windows.sink).tolist(), status


def test_a_winset_is_put_out_once_every_input_has_passed_its_last_pane():
    state = state_of()
    for timestamp in (0, 3):
        assert add(state, 0, timestamp, 1, 0) == ACCEPTED
    assert rows_now(state) == ([], NOT_READY)  # input 1 may still have a tuple at 0
    assert add(state, 1, 2, 1, 0) == ACCEPTED
    assert rows_now(state) == ([], NOT_READY)  # both are in the winset's last pane
    assert add(state, 0, 4, 2, 0) == ACCEPTED
    assert rows_now(state) == ([], NOT_READY)
    assert add(state, 1, 5, 2, 0) == ACCEPTED
    # No later pane has been passed: having none to move does not delay the winset.
    assert rows_now(state) == ([[0, 1, 3, 0, 3]], NOT_READY)
    assert [close(state, stream) for stream in range(2)] == [ACCEPTED] * 2
    rest = [[2, 1, 2, 0, 2], [2, 2, 2, 0, 2], [4, 2, 2, 0, 2]]
    assert rows_now(state) == (rest, END)


def test_a_tuple_updates_one_pane_however_many_windows_it_is_in():
    state = state_of(size=100, advance=1, inputs=1, deferred=1)
    for _ in range(2):  # the second one forces the deferred update of the first
        assert add(state, 0, 50, 3, 0) == ACCEPTED
    hive = state.hive
    assert hive.window_words == 1 and hive.winsets.present.any()
    assert np.count_nonzero(hive.winsets.present) == 1
    close(state, 0)
    rows, status = rows_now(state)
    assert (len(rows), status) == (51, END)  # windows do not begin before 0


def test_an_input_too_far_ahead_waits_for_the_slowest_one():
    state = state_of(panes_ahead=1)
    assert add(state, 1, 0, 0, 0) == ACCEPTED
    assert add(state, 0, 2, 0, 0) == ACCEPTED
    assert add(state, 0, 4, 0, 0) == FULL
    assert add(state, 1, 2, 0, 0) == ACCEPTED
    assert add(state, 0, 4, 0, 0) == ACCEPTED


@pytest.mark.parametrize(("size", "advance"), [(5, 3), (7, 2), (9, 9), (30, 3), (10**6, 10**6 - 1)])
@pytest.mark.parametrize("function", ["count", "sum", "max"])
def test_windows_that_are_no_multiple_of_the_advance_are_made_of_pairs_of_panes(
    size, advance, function
):
    variant = wiml_panes.VARIANT
    plan = make_plan(function, size, advance, keys=9, rows_capacity=64)
    streams = random_streams(size, 3, scaled(2_000), keys=9, spread=2)
    agree(variant, plan, streams, 8)


def test_what_lies_at_the_end_of_time_is_put_out():
    """Panes in pairs have numbers beyond every timestamp; the end of a stream is beyond those."""
    state = state_of(size=5, advance=2, inputs=1)
    assert add(state, 0, TIMESTAMP_LIMIT - 1, 3, 0) == ACCEPTED
    assert close(state, 0) == ACCEPTED
    rows, status = rows_now(state)
    assert ([row[1:] for row in rows], status) == ([[3, 1, 0, 1]] * 2, END)


@pytest.mark.parametrize("function", ["first", "first-mail"])
def test_order_is_refused(function):
    plan = make_plan(function, 4, 2, keys=4)
    with pytest.raises(UsageError, match=f"{function} depends on their order; take tumlsc-panes"):
        wiml_panes.make_state(plan, 2)


def test_panes_ahead_has_limits():
    with pytest.raises(
        UsageError, match=f"panes_ahead must be between 1 and {PANES_AHEAD.maximum}"
    ):
        state_of(panes_ahead=0)
