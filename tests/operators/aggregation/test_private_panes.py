"""Private panes of the input threads: which are handed over, held back and reused.

The variant's output is tested in ``tests/contract``. Here: the ring at the smallest size; streams
that leap, are silent or end early; and refusals.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.aggregation import private_panes
from operators.aggregation.functions import ORDER_SENSITIVE, TEXT
from operators.aggregation.plan import Text, make_plan
from operators.aggregation.private_panes import (
    ENOUGH_CELLS,
    GONE,
    HANDED,
    PASSED,
    TAKEN,
    VARIANT,
    make_state,
    ring_cells,
)
from operators.aggregation.sink import NOT_COUNTED, take_rows, winset_log
from operators.aggregation.winsets import STATE_BYTES_LIMIT
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    ROWS_FULL,
    TIMESTAMP_LIMIT,
    UsageError,
)
from operators.core.layout import LINE_WORDS
from tests.comparing import agree
from tests.drivers import random_streams, scaled, streams_of

add, close, process = private_panes.add, private_panes.close, private_panes.process
NUMERIC = sorted(set(VARIANT.operations.functions) - TEXT)
SMALLEST = 2


def of_input(state, stream: int) -> tuple[int, int, int]:
    """Return how many panes of an input are handed over, taken, and released."""
    line = stream * LINE_WORDS
    assert state.receipts[line + TAKEN] == state.reading[line + TAKEN]
    assert state.receipts[line + GONE] == state.reading[line + GONE]
    return (
        int(state.own[line + HANDED]),
        int(state.receipts[line + TAKEN]),
        int(state.receipts[line + GONE]),
    )


def all_out(state) -> int:
    """Run the output thread as far as possible; return the status that stopped it."""
    while (status := process(state)) == READY:
        pass
    return status


# --- what is put out -----------------------------------------------------------------------------


@pytest.mark.parametrize("function", NUMERIC)
@pytest.mark.parametrize(("size", "advance"), [(11, 4), (9, 9), (10, 9), (1, 1), (17, 2)])
def test_any_size_and_advance_is_right_at_the_smallest_capacity(function, size, advance):
    for inputs, spread in ((1, 1), (3, 0), (5, 1), (3, 30)):
        streams = random_streams(7 * size + spread, inputs, scaled(600), keys=7, spread=spread)
        plan = make_plan(function, size, advance, keys=7, rows_capacity=7)
        agree(VARIANT, plan, streams, SMALLEST, burst=9)


def test_leaps_ties_and_empty_streams_are_right():
    some = [(t, t % 3, t) for t in (0, 0, 0, 1, 50, 50, 51, 10**12, 10**12, 10**15)]
    late = [(10**15, 0, 5), (TIMESTAMP_LIMIT - 1, 2, 6)]
    for lists in ([[], some], [some, some], [some[:1], [], some[4:]], [late, some], [late], [[]]):
        for function in ("sum", "max", "count"):
            for size, advance in ((8, 3), (9, 3), (3, 3)):
                plan = make_plan(function, size, advance, keys=3, rows_capacity=3)
                agree(VARIANT, plan, streams_of(lists), SMALLEST, burst=3)


@pytest.mark.parametrize("inputs", [1, 2, 24])
def test_threads_with_one_key_at_the_smallest_capacity_come_to_an_end(inputs):
    streams = random_streams(inputs, inputs, scaled(10_000), keys=1, spread=3, skewed=True)
    for function, size, advance in (("count", 30, 3), ("min", 7, 2)):
        plan = make_plan(function, size, advance, keys=1)
        agree(VARIANT, plan, streams, SMALLEST, threads=True)


# --- capacity ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [2, 3, 10])
def test_an_input_is_no_more_than_ahead_panes_ahead_of_a_silent_one(ahead):
    state = make_state(make_plan("count", 2, 1, keys=1), inputs=2, panes_ahead=ahead)
    taken = 0
    while add(state, 0, 10 * taken, 0, 0) == ACCEPTED:
        assert add(state, 0, 10 * taken, 0, 0) == ACCEPTED
        assert all_out(state) == NOT_READY
        taken += 1
    assert taken == ahead
    assert add(state, 0, 10 * taken - 10, 0, 0) == ACCEPTED, "what is refused changes nothing"
    assert add(state, 1, 10 * taken - 10, 0, 0) == ACCEPTED
    assert all_out(state) == NOT_READY
    assert add(state, 0, 10 * taken, 0, 0) == ACCEPTED
    assert winset_log(state.windows.sink).rows.tolist() == [1] * (2 * (taken - 1) - 1)


def test_room_comes_back_when_the_last_window_of_a_pane_is_out():
    state = make_state(make_plan("count", 3, 1, keys=2), inputs=1, panes_ahead=100)
    for timestamp in range(6):
        assert add(state, 0, timestamp, timestamp % 2, 0) == ACCEPTED
    assert of_input(state, 0) == (5, 0, 0)
    assert process(state) == READY and of_input(state, 0) == (5, 3, 1)
    assert process(state) == READY and of_input(state, 0) == (5, 4, 2)
    assert process(state) == READY and of_input(state, 0) == (5, 5, 3)
    assert process(state) == NOT_READY
    assert close(state, 0) == ACCEPTED
    assert all_out(state) == END and of_input(state, 0) == (6, 6, 6)
    assert not state.windows.totals.counts.any()
    assert set(winset_log(state.windows.sink).processed.tolist()) == {NOT_COUNTED}


def test_a_winset_that_waits_for_rows_is_put_out_once_and_unchanged():
    for function, right in (("sum", [1, 3, 5, 3]), ("max", [1, 2, 3, 3])):
        state = make_state(
            make_plan(function, 2, 1, keys=1, rows_capacity=1), inputs=1, panes_ahead=9
        )
        for timestamp in range(4):
            assert add(state, 0, timestamp, 0, timestamp) == ACCEPTED
        assert close(state, 0) == ACCEPTED
        found = []
        while all_out(state) == ROWS_FULL:
            assert process(state) == ROWS_FULL
            found += take_rows(state.windows.sink)[:, 2].tolist()
        found += take_rows(state.windows.sink)[:, 2].tolist()
        assert found == right


def test_the_ring_holds_a_window_of_full_panes_and_what_may_be_expected():
    assert ring_cells(keys=1, panes_of_window=1, room=3) == 4
    assert ring_cells(keys=243, panes_of_window=10, room=20) == 8192
    assert ring_cells(keys=243, panes_of_window=10, room=2000) == ENOUGH_CELLS
    assert ring_cells(keys=40_000, panes_of_window=10, room=266) == 1 << 19


# --- order, ends and refusals --------------------------------------------------------------------


def test_a_stream_neither_goes_back_nor_on_after_its_end():
    state = make_state(make_plan("count", 3, 2, keys=1), inputs=1, panes_ahead=4)
    assert add(state, 0, -1, 0, 0) == OUT_OF_ORDER
    assert add(state, 0, TIMESTAMP_LIMIT, 0, 0) == OUT_OF_ORDER
    assert [add(state, 0, t, 0, 0) for t in (0, 7, 7)] == [ACCEPTED] * 3
    for wrong in (6, 0, -5, TIMESTAMP_LIMIT, 2**63 - 1):
        assert add(state, 0, wrong, 0, 0) == OUT_OF_ORDER
    assert close(state, 0) == close(state, 0) == ACCEPTED
    for wrong in (7, 8, TIMESTAMP_LIMIT - 1, TIMESTAMP_LIMIT):
        assert add(state, 0, wrong, 0, 0) == OUT_OF_ORDER
    assert all_out(state) == END and process(state) == END
    assert winset_log(state.windows.sink).rows.tolist() == [1, 1]


def test_an_end_that_finds_no_room_is_told_full_and_asked_for_again():
    state = make_state(make_plan("count", 1, 1, keys=1), inputs=2, panes_ahead=2)
    assert [add(state, 0, t, 0, 0) for t in (0, 1, 2)] == [ACCEPTED, ACCEPTED, FULL]
    assert close(state, 0) == FULL
    assert add(state, 0, 1, 0, 0) == ACCEPTED, "it is not closed"
    assert close(state, 1) == ACCEPTED
    assert all_out(state) == NOT_READY
    assert close(state, 0) == ACCEPTED
    assert all_out(state) == END
    assert state.reading[PASSED] == state.reading[LINE_WORDS + PASSED] == private_panes.NO_MORE


def test_a_winset_waits_for_every_input():
    state = make_state(make_plan("count", 4, 4, keys=1), inputs=3, panes_ahead=8)
    for stream in (0, 1):
        assert add(state, stream, 1, 0, 0) == add(state, stream, 9, 0, 0) == ACCEPTED
        assert process(state) == NOT_READY
    assert close(state, 2) == ACCEPTED
    assert process(state) == READY
    assert process(state) == NOT_READY
    assert winset_log(state.windows.sink).window_start.tolist() == [0]


@pytest.mark.parametrize("function", sorted(ORDER_SENSITIVE))
def test_a_function_that_needs_the_order_is_refused_by_name(function):
    text = Text(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8))
    assert function not in VARIANT.operations.functions
    with pytest.raises(UsageError, match=rf"\A[^\n]*{function}[^\n]*tumlsc-panes[^\n]*\Z"):
        make_state(make_plan(function, 3, 2, keys=1), 1, 8, text)


def test_what_cannot_be_carried_out_is_refused_in_one_line():
    plan = make_plan("sum", 30, 3, keys=1 << 22)
    with pytest.raises(UsageError, match=f"the limit is {STATE_BYTES_LIMIT >> 20} MiB") as refusal:
        make_state(plan, inputs=24, panes_ahead=8)
    assert "\n" not in str(refusal.value)
    with pytest.raises(UsageError, match="inputs"):
        make_state(make_plan("sum", 30, 3, keys=1), inputs=0, panes_ahead=8)
    with pytest.raises(UsageError, match="ahead"):
        make_state(make_plan("sum", 30, 3, keys=1), inputs=1, panes_ahead=1)
