"""The output that every multiway aggregate must produce, whatever its threads do: one suite.

Rows, digest, releasing tuples and the order of winsets are compared with
`operators.aggregation.reference`, whose fast version is itself compared with the definition in
``tests/operators/aggregation/test_reference.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.aggregation.functions import CODES, TEXT
from operators.aggregation.plan import AggregationPlan, Text, make_plan
from operators.aggregation.reference import rows_of
from operators.aggregation.sink import NOT_COUNTED, WINSETS_FULL, take_rows, winset_log
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
    Variant,
)
from operators.core.jit import INTERPRETED
from operators.registry import variants
from tests import comparing, covering
from tests.contract.suite import Suite
from tests.drivers import (
    RefusedError,
    Streams,
    in_total_order,
    random_streams,
    scaled,
    settings_of,
    smallest_ahead,
    streams_of,
    through_aggregate,
)

SUITE = Suite("aggregation")
AHEAD = 4

TEXTS = [b"", b"a@b.cc", b"10.0.0.1", b"mail me: x@y.org, or 1.2.3.4", b"none", b"a@b", b"1.2.3"]


def text_of(texts: list[bytes]) -> Text:
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return Text(offsets, np.frombuffer(b"".join(texts), dtype=np.uint8))


def numeric(variant: Variant) -> list[str]:
    return [name for name in variant.operations.functions if name not in TEXT]


def telling(variant: Variant) -> str:
    """Return the most revealing function: one that shows the order, if the variant keeps one."""
    return "first" if "first" in variant.operations.functions else "sum"


def no_text(variant: Variant) -> str | None:
    return None if set(variant.operations.functions) & TEXT else "it has no text function"


def every_function(variant: Variant) -> str | None:
    return None if set(CODES) - set(variant.operations.functions) else "it offers every function"


def no_update_threads(variant: Variant) -> str | None:
    return None if variant.operations.update else "it has no update threads"


def updated_by(variant: Variant, threads: int) -> dict[str, int]:
    """Return the setting for `threads` update threads, if the variant has any."""
    return {"update_threads": threads} if variant.operations.update else {}


def made(variant: Variant, plan: AggregationPlan, inputs: int, ahead: int = AHEAD, **given: int):
    settings = settings_of(variant, ahead, **given)
    return variant.operations.make_state(plan, inputs=inputs, **settings)


def agree(variant: Variant, plan: AggregationPlan, streams: Streams, ahead: int = AHEAD, **how):
    """Run the variant, compare rows, digest and log with the oracle's, and return the rows."""
    return comparing.agree(variant, plan, streams, ahead, **how)


def steps(variant: Variant, state) -> int:
    """Let everything behind the inputs run until nothing is left to do; return why."""
    operations = variant.operations
    updates = settings_of(variant, AHEAD)["update_threads"] if operations.update else 0
    while True:
        moved = False
        for thread in range(updates):
            while operations.update(state, thread) == READY:
                moved = True
        while (status := operations.process(state)) == READY:
            moved = True
        if status != NOT_READY or not moved:
            return status


@SUITE.case()
def the_papers_figure_1_is_reproduced(variant: Variant):
    # Two data concentrators report power outages of meters; size 3, advance 2, count by meter.
    # The figure's tuples are lost with the pictures: these show the statements of its text.
    first, second = [(1, 0, 1), (2, 1, 1), (4, 0, 1)], [(1, 1, 1), (3, 0, 1), (6, 1, 1)]
    plan = make_plan("count", 3, 2, keys=2, rows_capacity=2)
    rows = agree(variant, plan, streams_of([first, second]))
    assert rows[:, [0, 1, 2]].tolist() == [
        [0, 0, 1],  # [0, 3): meter 0 at 1
        [0, 1, 2],  # [0, 3): meter 1 at 1 (second concentrator) and 2
        [2, 0, 2],  # [2, 5): meter 0 at 3 and 4
        [2, 1, 1],  # [2, 5): meter 1 at 2
        [4, 0, 1],  # [4, 7): meter 0 at 4
        [4, 1, 1],  # [4, 7): meter 1 at 6
        [6, 1, 1],  # [6, 9): meter 1 at 6
    ]


@SUITE.case()
def every_numeric_function_agrees_with_the_oracle(variant: Variant):
    streams = random_streams(1, 4, scaled(4_000), keys=37, spread=3)
    windows = ((30, 3), (30, 7), (5, 5), (1, 1))
    for place, function in enumerate(numeric(variant)):
        # Each test gets the next one or two, and all with `make test-full`: all windows occur.
        many = 1 if INTERPRETED else 4 if covering.FULL else 2
        for number in range(place, place + many):
            size, advance = windows[number % 4]
            agree(variant, make_plan(function, size, advance, 37, rows_capacity=37), streams)


@SUITE.case(no_text)
def every_text_function_agrees_with_the_oracle(variant: Variant):
    streams = random_streams(2, 3, scaled(3_000), keys=5, spread=2)
    streams = streams._replace(value=np.abs(streams.value) % len(TEXTS))
    for function in sorted(set(variant.operations.functions) & TEXT):
        plan = make_plan(function, 20, 2, keys=5, rows_capacity=5)
        agree(variant, plan, streams, text=text_of(TEXTS))


@SUITE.case(no_text)
def first_without_a_match_gives_no_row_and_count_gives_zero(variant: Variant):
    streams = streams_of([[(0, 0, 0), (1, 1, 0), (2, 1, 1), (9, 0, 0)]])
    text = text_of([b"nothing", b"a@b.cc"])
    right = {
        "first-mail": [[0, 1, 1, 0, 1]],
        "count-mail": [[0, 0, 0, 0, 0], [0, 1, 1, 0, 1], [9, 0, 0, 0, 0]],
    }
    for function in right.keys() & set(variant.operations.functions):
        plan = make_plan(function, 3, 3, keys=2, rows_capacity=2)
        assert agree(variant, plan, streams, text=text).tolist() == right[function]


@SUITE.case(no_text)
def a_text_function_without_texts_is_refused(variant: Variant):
    for function in set(variant.operations.functions) & TEXT:
        with pytest.raises(UsageError, match="texts"):
            made(variant, make_plan(function, 3, 3, keys=2), inputs=1)


@SUITE.case(every_function)
def a_function_that_is_not_offered_is_refused_in_one_line_that_names_it(variant: Variant):
    for function in set(CODES) - set(variant.operations.functions):
        with pytest.raises(UsageError, match=rf"\A[^\n]*\b{function}\b[^\n]+\Z"):
            state = made(variant, make_plan(function, 3, 3, keys=2), inputs=1)
            raise AssertionError(f"{function} gave {type(state).__name__}")


@SUITE.case()
def ties_empty_and_skewed_streams_agree_with_the_oracle(variant: Variant):
    plan = make_plan(telling(variant), 10, 4, keys=6, rows_capacity=6)
    some = [(t, t % 6, t) for t in range(40)]
    for lists in ([[]], [[], []], [[], some, []], [some, [(0, 5, 1)], some[:3]]):
        agree(variant, plan, streams_of(lists), burst=5)
    agree(variant, plan, random_streams(3, 5, scaled(3_000), 6, spread=0))
    skewed = random_streams(4, 6, scaled(20_000), 6, spread=9, skewed=True)
    agree(variant, plan, skewed, burst=30)


@SUITE.case()
def any_small_input_agrees_with_the_oracle(variant: Variant):
    step = st.sampled_from([0, 0, 1, 2, 7, 1000])
    tuples = st.tuples(step, st.integers(0, 4), st.integers(-(2**63), 2**63 - 1))

    @given(
        st.lists(st.lists(tuples, max_size=12), min_size=1, max_size=5),
        st.sampled_from(numeric(variant)),
        st.integers(1, 12),
        st.integers(1, 12),
        st.integers(0, 2**31),
    )
    def agree_on_any(steps, function, one, other, seed):
        lists = []
        for stream in steps:
            times = np.cumsum([row[0] for row in stream], dtype=np.int64).tolist()
            lists.append([(t, *row[1:]) for t, row in zip(times, stream, strict=True)])
        plan = make_plan(function, max(one, other), min(one, other), 5, rows_capacity=5)
        streams = streams_of(lists)
        how = updated_by(variant, 1 + seed % 3)
        rows = agree(variant, plan, streams, seed=seed, burst=1 + seed % 7, **how)
        timestamp, _, key, value = (column.tolist() for column in in_total_order(streams))
        right = rows_of(plan, list(zip(timestamp, key, value, strict=True)))
        assert rows.tolist() == [list(row) for row in right]

    agree_on_any()


def agree_in_threads(variant: Variant, inputs: int, rows_capacity: int, tuples: int):
    streams = random_streams(inputs, inputs, scaled(tuples), keys=37, spread=2)
    plan = make_plan("sum", 30, 4, keys=37, rows_capacity=rows_capacity)
    how = updated_by(variant, 1 + inputs // 2)
    agree(variant, plan, streams, seed=inputs, threads=True, **how)


@SUITE.case()
def real_threads_put_out_the_same_rows(variant: Variant):
    for inputs, rows_capacity in ((1, 37), (2, 0), (5, 37), (24, 37)):
        agree_in_threads(variant, inputs, rows_capacity, tuples=10_000)


@SUITE.case(full=True)
def many_tuples_in_real_threads_put_out_the_same_rows(variant: Variant):
    for inputs in (1, 2, 5, 24):
        for rows_capacity in (0, 37):
            agree_in_threads(variant, inputs, rows_capacity, tuples=20_000)


@SUITE.case()
def a_silent_input_delays_the_rows_and_changes_none(variant: Variant):
    plan = make_plan(telling(variant), 30, 4, keys=9, rows_capacity=9)
    streams = random_streams(8, 4, scaled(3_000), keys=9, spread=2)
    empty = streams_of([[], [(t // 4, t % 9, t) for t in range(scaled(2_000))], [(3, 1, 1)]])
    for silent in ({0: 0}, {0: 0, 3: 5}, {1: 10**6, 2: 7}):
        for threads in (False, True):
            agree(variant, plan, streams, silent=silent, threads=threads, burst=9)
    agree(variant, plan, empty, silent={0: 0, 2: 1}, threads=True)


@SUITE.case()
def a_window_of_one_key_at_the_smallest_capacities_is_right(variant: Variant):
    plan = make_plan("count", 3, 1, keys=1, rows_capacity=1)
    streams = random_streams(6, 3, scaled(2_000), keys=1, spread=1)
    agree(variant, plan, streams, ahead=smallest_ahead(variant))
    agree(variant, plan, streams, ahead=smallest_ahead(variant), threads=True)


@SUITE.case(no_update_threads)
def an_update_thread_that_owns_no_key_holds_nothing_up(variant: Variant):
    plan = make_plan(telling(variant), 10, 4, keys=1, rows_capacity=1)
    streams = random_streams(9, 3, scaled(2_000), keys=1, spread=2)
    for update_threads in (1, 8):
        agree(variant, plan, streams, update_threads=update_threads)
        agree(variant, plan, streams, update_threads=update_threads, threads=True)


@SUITE.case(no_update_threads)
def nothing_is_released_before_every_update_thread_has_passed_it(variant: Variant):
    operations = variant.operations
    plan = make_plan("count", 2, 2, keys=4, rows_capacity=4)
    state = made(variant, plan, inputs=1, ahead=16, update_threads=3)
    for timestamp in (0, 1, 5, 6):
        assert operations.add(state, 0, timestamp, timestamp % 4, 1) == ACCEPTED
    for thread in (2, 0, 1):
        assert operations.process(state) == NOT_READY
        assert len(take_rows(state.windows.sink)) == 0
        while operations.update(state, thread) == READY:
            pass
    while operations.process(state) == READY:
        pass
    assert take_rows(state.windows.sink)[:, [0, 1, 2]].tolist() == [[0, 0, 1], [0, 1, 1]]


@SUITE.case()
def a_leap_in_time_skips_the_empty_windows(variant: Variant):
    far = 10**9 * 7
    last = TIMESTAMP_LIMIT - 1
    lists = [[(5, 0, 1), (far, 1, 2), (far + 1, 0, 3), (last, 1, 4)], [(far, 0, 5)]]
    plan = make_plan("count", 20, 7, keys=2, rows_capacity=2)
    rows = agree(variant, plan, streams_of(lists))
    assert rows[0].tolist() == [0, 0, 1, 0, 1] and rows[-1, 1] == 1


@SUITE.case()
def a_full_row_buffer_waits_for_draining_and_loses_nothing(variant: Variant):
    operations = variant.operations
    plan = make_plan("count", 4, 2, keys=2, rows_capacity=2)
    state = made(variant, plan, inputs=1, ahead=64)
    sink = state.windows.sink
    blocks = []
    timestamp = 0
    status = NOT_READY
    while status != END:
        # Where capacity is in winsets, the input waits for the draining too.
        while timestamp < 20 and operations.add(state, 0, timestamp, timestamp % 2, 1) == ACCEPTED:
            timestamp += 1
        if timestamp == 20 and operations.close(state, 0) == ACCEPTED:
            timestamp += 1
        status = steps(variant, state)
        if status == ROWS_FULL:
            assert operations.process(state) == ROWS_FULL
            blocks.append(take_rows(sink))
    assert len(blocks) > 5, "the buffer was never full"
    blocks.append(take_rows(sink))
    right = rows_of(plan, [(t, t % 2, 1) for t in range(20)])
    assert np.concatenate(blocks).tolist() == [list(row) for row in right]
    assert operations.process(state) == END
    assert set(winset_log(sink).processed[-2:].tolist()) <= {-1, NOT_COUNTED}


@SUITE.case()
def a_full_winset_log_is_reported_and_stays_reported(variant: Variant):
    operations = variant.operations
    plan = make_plan("count", 1, 1, keys=1, winsets_capacity=2)
    state = made(variant, plan, inputs=1, ahead=64)
    for timestamp in range(10):
        while operations.add(state, 0, timestamp, 0, 1) == FULL:
            if steps(variant, state) == WINSETS_FULL:
                break
    operations.close(state, 0)
    assert [steps(variant, state) for _ in range(2)] == [WINSETS_FULL] * 2
    assert winset_log(state.windows.sink).window_start.tolist() == [0, 1]


@SUITE.case()
def a_tuple_out_of_order_is_refused(variant: Variant):
    plan = make_plan("count", 3, 2, keys=1)
    lists = [[(1, 0, 1), (0, 0, 1)], [(1, 0, 1)]]
    with pytest.raises(RefusedError):
        through_aggregate(variant, plan, streams_of(lists), AHEAD)
    state = made(variant, plan, inputs=1)
    assert variant.operations.add(state, 0, 5, 0, 0) == ACCEPTED
    assert variant.operations.add(state, 0, 4, 0, 0) == OUT_OF_ORDER


@SUITE.case()
def a_silent_input_pushes_the_others_back(variant: Variant):
    # Where input threads update there is no queue: then time must not run ahead by more winsets
    # than there is room for, and tuples of one timestamp are accepted without limit.
    by_time = variant.operations.counts_tuples == "input"
    limit = 10_000 if by_time else settings_of(variant, AHEAD)["ahead"]
    state = made(variant, make_plan("count", 3, 2, keys=1), inputs=2)
    taken = 0
    while variant.operations.add(state, 0, 2 * taken, 0, 0) == ACCEPTED:
        steps(variant, state)
        taken += 1
        assert taken <= limit
    assert variant.operations.close(state, 1) == ACCEPTED
    steps(variant, state)
    assert variant.operations.add(state, 0, 2 * taken, 0, 0) != FULL


@SUITE.case()
def a_wrong_plan_is_refused_before_anything_is_made(variant: Variant):
    good = make_plan("count", 3, 2, keys=1)
    for wrong in (
        good._replace(window_advance=0),
        good._replace(window_advance=4),
        good._replace(window_size=0),
        good._replace(keys=0),
        good._replace(function=99),
    ):
        with pytest.raises(UsageError, match=r"\A[^\n]+\Z"):
            made(variant, wrong, inputs=1)


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(variants("aggregation")))
def test_aggregation(variant, case):
    case.body(variant)


def test_every_aggregate_has_cases():
    assert SUITE.left_out(variants("aggregation")) == {}


def test_an_aggregate_that_every_case_declines_is_reported():
    lonely = Suite("aggregation")

    @lonely.case(lambda variant: "made for another")
    def never(variant):
        raise AssertionError

    invented = replace(variants("aggregation")[0], id="invented")
    assert lonely.left_out([invented]) == {"invented": ["never: made for another"]}


def test_every_function_is_offered_by_some_variant():
    offered = {name for variant in variants("aggregation") for name in variant.operations.functions}
    assert offered == set(CODES)
