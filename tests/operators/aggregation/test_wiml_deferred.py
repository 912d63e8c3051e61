"""Specific to WiML deferred: which updates are put off, and when they reach the windows.

``tests/contract`` compares the output with the oracle, and ``tests/interleaving`` tests the
interaction of the threads.
"""

from __future__ import annotations

import pytest

from operators.aggregation import wiml_deferred, wiml_panes
from operators.aggregation.plan import make_plan
from operators.aggregation.shared_winsets import N
from operators.aggregation.sink import take_rows
from operators.aggregation.wiml_deferred import DEFERRED, WAITING, add, close
from operators.contract import ACCEPTED, END, FULL, NOT_READY, OUT_OF_ORDER, READY, UsageError
from tests.comparing import agree
from tests.drivers import random_streams, scaled

SIZE, ADVANCE = 4, 2
process = wiml_deferred.VARIANT.operations.process


def state_of(deferred=2, winsets_ahead=2):
    plan = make_plan("count", SIZE, ADVANCE, keys=4, rows_capacity=64)
    return wiml_deferred.make_state(plan, 2, winsets_ahead=winsets_ahead, deferred=deferred)


def rows_now(state):
    """Return the rows that are out so far, and the status after them."""
    while (status := process(state)) == READY:
        pass
    return take_rows(state.windows.sink).tolist(), status


def waiting(state, thread):
    return state.deferred.tuples[thread * state.deferred.block + WAITING]


def counted(state):
    """Return the number of window updates so far."""
    winsets = state.windows.winsets
    return int(winsets.words.reshape(-1, winsets.slot_words)[:, N].sum())


def test_a_tuple_reaches_its_windows_when_so_many_more_have_come():
    state = state_of(deferred=3)
    for tuples in range(1, 8):
        assert add(state, 0, 2, tuples % 4, 0) == ACCEPTED
        assert waiting(state, 0) == min(tuples, 3)
        assert counted(state) == 2 * max(tuples - 3, 0)


def test_all_that_is_put_off_reaches_its_windows_before_the_thread_passes_them():
    state = state_of(deferred=100)
    for stream in range(2):
        for timestamp in (0, 0, 1):
            assert add(state, stream, timestamp, 3, 0) == ACCEPTED
    assert waiting(state, 0) == 3 and counted(state) == 0
    # After window 0, and every window of the earlier tuples.
    assert add(state, 0, 4, 3, 0) == ACCEPTED
    assert waiting(state, 0) == 1 and counted(state) == 3
    assert rows_now(state) == ([], NOT_READY)  # input 1 may still count in it
    assert add(state, 1, 4, 3, 0) == ACCEPTED
    assert rows_now(state) == ([[0, 3, 6, 0, 6]], NOT_READY)
    assert [close(state, stream) for stream in range(2)] == [ACCEPTED] * 2
    assert rows_now(state) == ([[2, 3, 2, 0, 2], [4, 3, 2, 0, 2]], END)


def test_what_is_told_full_or_out_of_order_is_not_put_off():
    state = state_of(winsets_ahead=1)
    assert add(state, 1, 0, 0, 0) == ACCEPTED
    assert add(state, 0, 2, 0, 0) == ACCEPTED
    assert add(state, 0, 8, 0, 0) == FULL
    assert waiting(state, 0) == 0  # the input has left the windows of the first tuple
    assert add(state, 0, 7, 0, 0) == OUT_OF_ORDER
    assert waiting(state, 0) == 0
    assert [close(state, stream) for stream in range(2)] == [ACCEPTED] * 2
    rows, status = rows_now(state)
    assert (sum(row[4] for row in rows), status) == (3, END)  # 0 in one window, 2 in two


@pytest.mark.parametrize("deferred", [1, 2, 7, DEFERRED.maximum])
@pytest.mark.parametrize("module", [wiml_deferred, wiml_panes], ids=["wiml-deferred", "wiml-panes"])
def test_how_many_are_put_off_changes_no_result(module, deferred):
    plan = make_plan("max", 30, 3, keys=9, rows_capacity=64)
    streams = random_streams(deferred, 3, scaled(2_000), keys=9, spread=2)
    agree(module.VARIANT, plan, streams, 8, deferred=deferred)


@pytest.mark.parametrize("deferred", [0, DEFERRED.maximum + 1])
def test_it_has_limits(deferred):
    with pytest.raises(UsageError, match=f"deferred must be between 1 and {DEFERRED.maximum}"):
        state_of(deferred=deferred)


@pytest.mark.parametrize("function", ["first", "first-mail"])
def test_order_is_refused(function):
    with pytest.raises(UsageError, match=f"cannot do {function}, which depends on"):
        wiml_deferred.make_state(make_plan(function, 4, 2, keys=4), 2)
