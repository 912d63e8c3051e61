"""The requirements on every gate, whatever its inside: the one suite, over the registry.

A gate takes tuples from sources and returns them, to each of its readers, in the total order
(timestamp, source, position), once each, and only when they are ready. `drivers` runs it in one
thread under a seed, or in real threads; single steps run here, interpreted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
    UsageError,
    Variant,
)
from operators.gate import multi_queue
from operators.gate.reference import ReadinessModel, ReferenceTuple, merged
from operators.gate.shape import MAXIMUM_BYTES
from operators.registry import variants
from tests.contract.suite import Suite
from tests.drivers import (
    Streams,
    in_total_order,
    lists_of,
    random_streams,
    scaled,
    settings_of,
    streams_of,
    through_gate,
)

SUITE = Suite("gate")
AHEAD = 4


def expected(streams: Streams) -> np.ndarray:
    return np.stack(in_total_order(streams), axis=1)


def made(variant: Variant, sources: int, readers: int = 1, ahead: int = AHEAD) -> Any:
    return variant.operations.make_state(
        sources=sources, readers=readers, **settings_of(variant, ahead)
    )


def several_readers(variant: Variant) -> str | None:
    try:
        made(variant, sources=1, readers=2)
    except UsageError as refusal:
        return str(refusal)
    return None


def one_reader(variant: Variant) -> str | None:
    return None if several_readers(variant) else "it takes several readers"


def drained(variant: Variant, state: Any, reader: int = 0) -> tuple[list[tuple], int]:
    """Return all tuples that a reader gets now, and the status that ended them."""
    out = np.zeros(4, dtype=np.int64)
    got = []
    while (status := variant.operations.get_next_ready_tuple(state, reader, out)) == READY:
        got.append(tuple(out.tolist()))
    return got, status


def interleavings(lengths: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield every order in which sources can take turns, source s taking lengths[s] of them."""
    turns = [source for source, length in enumerate(lengths) for _ in range(length)]
    yield from sorted(set(itertools.permutations(turns)))


@SUITE.case()
def random_streams_come_out_in_the_total_order(variant: Variant):
    for seed, inputs in enumerate((1, 2, 3, 8, 24)):
        streams = random_streams(seed, inputs, scaled(20_000), keys=5, spread=3)
        for burst in (1, 40):
            got = through_gate(variant, streams, AHEAD, seed, burst=burst)[0]
            np.testing.assert_array_equal(got, expected(streams))


@SUITE.case()
def equal_timestamps_come_out_by_source_and_position(variant: Variant):
    streams = random_streams(1, 5, scaled(5_000), keys=3, spread=0)
    np.testing.assert_array_equal(through_gate(variant, streams, AHEAD)[0], expected(streams))


@SUITE.case()
def empty_and_short_streams_hold_nothing_back_once_closed(variant: Variant):
    full = [(t, 0, t) for t in range(50)]
    for lists in ([[]], [[], []], [full, []], [[], full, [(3, 1, 1)]], [[(9, 0, 0)], full, full]):
        streams = streams_of(lists)
        got = through_gate(variant, streams, AHEAD, burst=3)[0]
        np.testing.assert_array_equal(got, expected(streams))


@SUITE.case()
def skewed_streams_come_out_in_the_total_order(variant: Variant):
    streams = random_streams(2, 6, scaled(20_000), keys=5, spread=40, skewed=True)
    got = through_gate(variant, streams, AHEAD, burst=20)[0]
    np.testing.assert_array_equal(got, expected(streams))


def agree_in_threads(variant: Variant, inputs: int, ahead: int, tuples: int):
    streams = random_streams(inputs, inputs, scaled(tuples), keys=5, spread=2)
    got = through_gate(variant, streams, ahead, seed=inputs, threads=True)[0]
    np.testing.assert_array_equal(got, expected(streams))


@SUITE.case()
def real_threads_give_the_same_sequence(variant: Variant):
    for inputs, ahead in ((1, AHEAD), (2, 64), (7, AHEAD), (24, AHEAD)):
        agree_in_threads(variant, inputs, ahead, tuples=15_000)


@SUITE.case(full=True)
def many_tuples_in_real_threads_give_the_same_sequence(variant: Variant):
    for inputs in (1, 2, 7, 24):
        for ahead in (AHEAD, 64):
            agree_in_threads(variant, inputs, ahead, tuples=30_000)


@SUITE.case(several_readers)
def every_reader_gets_every_tuple(variant: Variant):
    streams = random_streams(5, 4, scaled(20_000), keys=5, spread=2)
    for got in through_gate(variant, streams, AHEAD, threads=True, readers=2):
        np.testing.assert_array_equal(got, expected(streams))


@SUITE.case(one_reader)
def a_second_reader_is_refused(variant: Variant):
    with pytest.raises(UsageError, match="readers must be 1, received 2"):
        made(variant, sources=1, readers=2)


def kept_back(variant: Variant) -> int:
    """Return how many last tuples of an open source a gate may withhold, as it declares.

    A gate that declares nothing may withhold one, like the paper's.
    """
    settings, answers = settings_of(variant, AHEAD), variant.operations.answers
    return answers.holds(settings["ahead"], settings.get("batch", 1)) if answers else 1


def may_hold(late: int, model: ReadinessModel, held: ReferenceTuple) -> bool:
    """Return whether a gate that withholds `late` last tuples of a source may hold a ready one.

    Tuples after the withheld ones must wait for them.
    """
    for source, closed in enumerate(model.closed):
        delivered = [one for one in model.delivered if one.source == source]
        if late and not closed and (len(delivered) < late or delivered[-late] <= held):
            return True
    return False


def follow(variant: Variant, lists: list[list[tuple[int, int, int]]], order: tuple[int, ...]):
    """Deliver in `order`, closing a source at its last turn; compare with the model each time."""
    state, late = made(variant, len(lists), ahead=AHEAD), kept_back(variant)
    model = ReadinessModel(len(lists))
    turn = [0] * len(lists)
    got: list[tuple] = []
    for source in order:
        if turn[source] < len(lists[source]):
            row = lists[source][turn[source]]
            assert variant.operations.insert_tuple(state, source, *row) == ACCEPTED
            model.insert_tuple(source, *row)
        else:
            assert variant.operations.close_source(state, source) == ACCEPTED
            model.close_source(source)
        turn[source] += 1
        now, status = drained(variant, state)
        got += now
        for timestamp, origin, key, value in now:
            allowed = model.get_next_ready_tuple()
            assert allowed is not None, f"{(timestamp, origin)} was not ready; turns {order}"
            assert allowed[:2] + allowed[3:] == (timestamp, origin, key, value), f"turns {order}"
        held = model.ready()
        assert not held or may_hold(late, model, held[0]), f"{held[0]} was held; turns {order}"
        assert status == (END if model.ended() else NOT_READY), f"turns {order}"
    assert [g[:2] for g in got] == [m[:2] for m in merged(lists)]
    variant.operations.check_invariants(state)


@SUITE.case()
def every_small_input_in_every_order_follows_the_readiness_model(variant: Variant):
    streams = [[], [0], [1], [0, 0], [0, 1], [1, 1]]
    for chosen in itertools.product(streams, repeat=2):
        lists = [[(t, 1, 10 * s + i) for i, t in enumerate(c)] for s, c in enumerate(chosen)]
        for order in interleavings([len(c) + 1 for c in chosen]):
            follow(variant, lists, order)


@SUITE.case()
def three_sources_of_one_tuple_follow_the_readiness_model(variant: Variant):
    for times in itertools.product((0, 1), repeat=3):
        lists = [[(t, 0, s)] for s, t in enumerate(times)]
        for order in interleavings([2, 2, 2]):
            follow(variant, lists, order)


@SUITE.case()
def random_turns_follow_the_readiness_model(variant: Variant):
    step = st.integers(0, 2)

    @given(
        st.lists(st.lists(step, max_size=AHEAD - 1), min_size=1, max_size=4),
        st.randoms(use_true_random=False),
    )
    def follow_any(steps, random):
        lists = [
            [(t, 0, i) for i, t in enumerate(itertools.accumulate(stream))] for stream in steps
        ]
        turns = [s for s, stream in enumerate(lists) for _ in range(len(stream) + 1)]
        random.shuffle(turns)
        follow(variant, lists, tuple(turns))

    follow_any()


@SUITE.case()
def a_source_is_pushed_back_when_full_and_goes_on_when_there_is_room(variant: Variant):
    operations = variant.operations
    state = made(variant, sources=2)
    ahead = settings_of(variant, AHEAD)["ahead"]
    taken = 0
    while operations.insert_tuple(state, 0, taken, 7, taken) == ACCEPTED:
        taken += 1
        assert taken <= ahead, "more tuples in flight than `ahead`"
    # A list keeps a node of every source before the source's tuples, which takes the room of one.
    assert taken >= ahead - 1
    assert operations.insert_tuple(state, 0, taken, 7, taken) == FULL
    assert drained(variant, state) == ([], NOT_READY)
    assert operations.close_source(state, 1) == ACCEPTED
    first, _ = drained(variant, state)
    # The number of withheld tuples depends on the gate; returned tuples make room.
    assert [t for t, *_ in first] == list(range(len(first))) and len(first) >= taken - 1
    rest = 0
    for timestamp in range(taken, taken + 10 * ahead):
        assert operations.insert_tuple(state, 0, timestamp, 7, timestamp) == ACCEPTED
        rest += len(drained(variant, state)[0])
    assert operations.close_source(state, 0) == ACCEPTED
    last, status = drained(variant, state)
    assert (len(first) + rest + len(last), status) == (taken + 10 * ahead, END)


@SUITE.case()
def a_full_source_can_close(variant: Variant):
    operations = variant.operations
    state = made(variant, sources=2)
    count = 0
    while operations.insert_tuple(state, 0, count, 0, 0) == ACCEPTED:
        count += 1
    assert operations.close_source(state, 1) == ACCEPTED
    while operations.close_source(state, 0) == FULL:
        assert drained(variant, state)[0], "a source that can neither close nor be read"
    got, status = drained(variant, state)
    assert status == END and len(got) <= count


@SUITE.case()
def a_tuple_out_of_order_is_refused_and_nothing_is_taken(variant: Variant):
    operations = variant.operations
    state = made(variant, sources=1)
    assert operations.insert_tuple(state, 0, 5, 1, 1) == ACCEPTED
    for timestamp in (4, -1, TIMESTAMP_LIMIT):
        assert operations.insert_tuple(state, 0, timestamp, 2, 2) == OUT_OF_ORDER
    assert operations.insert_tuple(state, 0, 5, 3, 3) == ACCEPTED
    assert operations.close_source(state, 0) == ACCEPTED
    assert operations.insert_tuple(state, 0, 6, 4, 4) == OUT_OF_ORDER, "the source is closed"
    assert drained(variant, state) == ([(5, 0, 1, 1), (5, 0, 3, 3)], END)


@SUITE.case()
def extreme_timestamps_and_values_pass_unchanged(variant: Variant):
    ends = [(0, 0, -(2**63)), (TIMESTAMP_LIMIT - 1, 2**62, 2**63 - 1)]
    streams = streams_of([ends, ends])
    np.testing.assert_array_equal(through_gate(variant, streams, AHEAD)[0], expected(streams))


@SUITE.case()
def the_end_stays_the_end(variant: Variant):
    state = made(variant, sources=1)
    variant.operations.close_source(state, 0)
    for _ in range(3):
        assert drained(variant, state) == ([], END)


@SUITE.case()
def numbers_out_of_limits_are_refused_in_one_line(variant: Variant):
    good = {"sources": 2, "readers": 1, **settings_of(variant, AHEAD)}
    for name in ("sources", "readers", "ahead"):
        for wrong in (0, -1):
            with pytest.raises(UsageError, match=rf"(?s)\A[^\n]*{name}[^\n]*{wrong}[^\n]*\Z"):
                variant.operations.make_state(**{**good, name: wrong})


@SUITE.case()
def more_memory_than_allowed_is_refused_before_it_is_taken(variant: Variant):
    most = next(one.maximum for one in variant.parameters if one.name == "ahead")
    given = {"sources": 512, "readers": 1, **settings_of(variant, most)}
    limit = rf"(?s)\A[^\n]*512 sources[^\n]* bytes[^\n]*{MAXIMUM_BYTES}[^\n]*lower[^\n]*\Z"
    with pytest.raises(UsageError, match=limit):
        variant.operations.make_state(**given)


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(variants("gate")))
def test_gate(variant, case):
    case.body(variant)


def test_every_gate_has_cases():
    assert SUITE.left_out(variants("gate")) == {}


def test_a_gate_that_every_case_declines_is_reported():
    lonely = Suite("gate")

    @lonely.case(lambda variant: "made for another")
    def never(variant):
        raise AssertionError

    invented = replace(variants("gate")[0], id="invented")
    assert lonely.left_out([invented]) == {"invented": ["never: made for another"]}


def test_a_gate_that_is_in_the_product_only_is_reported():
    rare = Suite("gate")

    @rare.case(full=True)
    def seldom(variant):
        raise AssertionError

    chosen = variants("gate")[:1]
    assert rare.left_out(chosen) == {chosen[0].id: ["seldom: in the product only"]}
    [parameter] = rare.parameters(chosen)
    assert "full" in {mark.name for mark in parameter.marks}


def test_the_suite_notices_a_gate_that_does_not_wait_for_every_source():
    """The canary: MQ's queues under a reader that takes the lowest head there is."""

    def has_head(state, source):
        return multi_queue.get_next_ready_tuple_peek(state, source)[0] == READY

    def eager(state, reader, out):
        status = multi_queue.get_next_ready_tuple(state, reader, out)
        for source in range(state.sources):
            if status == NOT_READY and has_head(state, source):
                multi_queue.get_next_ready_tuple_take(state, source, out)
                return READY
        return status

    broken = replace(
        multi_queue.VARIANT,
        operations=multi_queue.VARIANT.operations._replace(get_next_ready_tuple=eager),
    )
    with pytest.raises(AssertionError, match="was not ready"):
        every_small_input_in_every_order_follows_the_readiness_model(broken)


def test_lists_and_streams_are_two_views_of_one_thing():
    lists = [[(1, 2, 3)], [], [(4, 5, 6), (4, 5, 7)]]
    assert lists_of(streams_of(lists)) == lists


def test_only_the_last_tuple_of_an_open_source_may_be_held_back():
    model = ReadinessModel(2)
    for timestamp in (1, 2):
        model.insert_tuple(0, timestamp, 0, 0)
    model.insert_tuple(1, 9, 0, 0)
    first, last = model.ready()
    assert not may_hold(1, model, first) and may_hold(1, model, last)
    assert may_hold(2, model, first) and not may_hold(0, model, last)
    model.close_source(0)
    assert not may_hold(1, model, last)
