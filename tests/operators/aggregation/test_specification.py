"""Answers allowed to the threads of a W-Hive: hand-made histories, and WiML on one thread."""

from __future__ import annotations

import random

import pytest

from operators.aggregation import wiml
from operators.aggregation.plan import make_plan
from operators.aggregation.sink import take_rows
from operators.aggregation.specification import (
    SPARE_PLACES,
    WHiveSpecification,
    WinsetSpecification,
)
from operators.aggregation.w_hive import TALL_EVERY
from operators.check.history import NEVER, PENDING, HistoryOperation
from operators.check.linearizability import explain, find_order
from operators.contract import ACCEPTED, END, FULL, NOT_READY, OUT_OF_ORDER, READY

NOT_THERE = -1


def one_by_one(calls):
    """Return the calls as a sequential history: each begins after the previous one has ended."""
    return [
        HistoryOperation(*call, 2 * n, NEVER if call[3] == PENDING else 2 * n + 1)
        for n, call in enumerate(calls)
    ]


def explained(calls, specification) -> bool:
    return find_order(one_by_one(calls), specification) is not None


# --- W-Hive --------------------------------------------------------------------------------------

# Tumbling windows of two, and the sum of each key.
PLAIN = make_plan("sum", 2, 2, keys=4)
# Each tuple in two windows.
SLIDING = make_plan("count", 4, 2, keys=4)


def add(stream, timestamp, key=0, value=1, answer=ACCEPTED):
    return stream, "add", (stream, timestamp, key, value), answer


def close(stream):
    return stream, "close", (stream,), ACCEPTED


def process(*words, status=READY):
    return 9, "process", (), (status, *words)


WAIT, OVER = process(status=NOT_READY), process(status=END)
BOTH = [add(0, 0), add(1, 1)]
# The first window is over for both.
PASSED = [*BOTH, add(0, 2), add(1, 2)]
FIRST = process(0, 0, 2, 0, 2)
PLAIN_ONES = {
    "nothing yet": (True, [WAIT]),
    "a stream is not past it": (True, [*BOTH, add(0, 2), WAIT]),
    "put out although a stream is not past it": (False, [*BOTH, add(0, 2), FIRST]),
    "put out": (True, [*PASSED, FIRST, WAIT]),
    "not put out although it is due": (False, [*PASSED, WAIT]),
    "put out twice": (False, [*PASSED, FIRST, FIRST]),
    "a tuple is lost": (False, [*PASSED, process(0, 0, 1, 0, 1)]),
    "a tuple of the next window": (False, [*PASSED, process(0, 0, 3, 0, 3)]),
    "keys ascending": (
        True,
        [add(0, 0, 2, 5), add(0, 1, 1, 6), close(0), close(1)]
        + [process(0, 1, 6, 0, 1, 0, 2, 5, 0, 1), OVER],
    ),
    "keys as they came": (
        False,
        [add(0, 0, 2, 5), add(0, 1, 1, 6), close(0), close(1)]
        + [process(0, 2, 5, 0, 1, 0, 1, 6, 0, 1)],
    ),
    "the later window first": (False, [*PASSED, close(0), close(1), process(2, 0, 2, 0, 2)]),
    "closing lets go": (True, [add(0, 0), close(0), WAIT, close(1), process(0, 0, 1, 0, 1), OVER]),
    "the end too early": (False, [*PASSED, close(0), close(1), OVER]),
    "no end": (False, [close(0), close(1), WAIT]),
    "no rows": (False, [*PASSED, process()]),
    "out of order": (True, [add(0, 4), add(0, 3, answer=OUT_OF_ORDER)]),
    "taken although it is earlier": (False, [add(0, 4), add(0, 3)]),
    "after closing": (True, [close(0), add(0, 9, answer=OUT_OF_ORDER)]),
    # Reach 3: one window, and two ahead of a stream that has reported nothing, at -1.
    "out of reach": (True, [add(0, 4, answer=FULL)]),
    "full too early": (False, [add(0, 2, answer=FULL)]),
    "what was refused is not there": (
        False,
        [add(0, 0), add(0, 6, answer=FULL), close(0), close(1), process(0, 0, 1, 0, 1)]
        + [process(6, 0, 1, 0, 1)],
    ),
    "what was refused moves time": (
        True,
        [*BOTH, add(0, 6, answer=FULL), add(1, 2), FIRST, add(0, 5, answer=OUT_OF_ORDER)],
    ),
    "pending, and its time counts": (
        True,
        [*BOTH, add(0, 2), (1, "add", (1, 2, 0, 1), PENDING), FIRST],
    ),
    "pending, and not yet": (True, [*BOTH, add(0, 2), (1, "add", (1, 2, 0, 1), PENDING), WAIT]),
    "pending, and put out": (True, [*PASSED, (9, "process", (), PENDING), (8, *WAIT[1:])]),
    "pending, and closed": (
        True,
        [*PASSED, (0, "close", (0,), PENDING), FIRST, close(1), (8, *process(2, 0, 2, 0, 2)[1:])],
    ),
}


@pytest.mark.parametrize("name", PLAIN_ONES)
def test_windows_one_after_the_other(name):
    right, calls = PLAIN_ONES[name]
    assert explained(calls, WHiveSpecification(PLAIN, 2, winsets_ahead=2)) == right


def test_a_refused_tuple_may_leave_winsets_that_nobody_has_entered():
    def right(*calls):
        # Windows [0, 4) and [2, 6) hold 2; reach is 3 from -1, so 1 may be made and 2 not.
        return explained(
            [add(0, 4, answer=FULL), close(0), close(1), *calls], WHiveSpecification(SLIDING, 2, 1)
        )

    assert right(OVER) and right(process(), OVER)
    assert not right(process(), process(), OVER), "only one of its two can have been made"
    assert not right(process(2, 0, 1, 0, 1)), "it was not entered"


def test_a_winset_that_a_later_tuple_enters_is_empty_no_more():
    calls = [add(0, 4, answer=FULL), add(1, 4), add(0, 4), close(0), close(1)]
    calls += [process(2, 0, 2, 0, 2), process(4, 0, 2, 0, 2), OVER]
    assert explained(calls, WHiveSpecification(SLIDING, 2, 1))
    calls.insert(5, process())
    assert not explained(calls, WHiveSpecification(SLIDING, 2, 1))


def test_full_within_reach_needs_every_place_to_have_been_in_use():
    assert SPARE_PLACES == TALL_EVERY + 1
    # Stream 1 is far ahead, so that stream 0 is never out of reach. Reach is 2, so there are 5
    # slots.
    far = add(1, 100, answer=FULL)
    filling = [far, *[add(0, 2 * winset) for winset in range(5)]]

    def right(calls, *beside):
        history = one_by_one([*calls, add(0, 10, answer=FULL)])
        return find_order([*history, *beside], WHiveSpecification(PLAIN, 2, 1)) is not None

    assert right(filling) and not right(filling[:-1])
    # Slots form a ring: a winset that has been emitted may not be released yet.
    put_out = [*filling[:3], (9, *process(0, 0, 1, 0, 1)[1:]), *filling[3:]]
    assert right(put_out) and not right(put_out[:-1])
    # The other stream may hold a slot for each winset of a tuple, and one that it loses.
    assert right(filling[:-1], HistoryOperation(*far, 3, 99))
    assert not right(filling[:-1], HistoryOperation(*far, 3, 4))


@pytest.mark.parametrize("function", ["count", "sum", "min", "max"])
def test_wiml_alone_answers_so(function):
    seen = set()
    for seed in range(30):
        chance = random.Random(seed)
        advance, streams, ahead = (chance.randrange(1, 4) for _ in range(3))
        plan = make_plan(function, advance + chance.randrange(6), advance, 3, rows_capacity=16)
        state = wiml.make_state(plan, streams, winsets_ahead=ahead, levels=2)
        clock = [0] * streams
        history = []
        for moment in range(200):
            stream = chance.randrange(streams)
            step = chance.choice([-1, 0, 0, 1, 1, 2, 2, 9])
            if chance.random() < seed / 90:
                name, arguments = "process", ()
                status = wiml.process(state)
                answer = (status, *take_rows(state.windows.sink).reshape(-1).tolist())
            elif chance.random() < 0.005:
                name, arguments = "close", (stream,)
                answer = wiml.close(state, *arguments)
            else:
                name = "add"
                arguments = (stream, clock[stream] + step, chance.randrange(3), moment - 100)
                answer = wiml.add(state, *arguments)
                clock[stream] += step * (answer != OUT_OF_ORDER)
            seen.add(answer if name != "process" else (answer[0], len(answer) > 1))
            history.append(HistoryOperation(0, name, arguments, answer, moment, moment))
        order = find_order(history, WHiveSpecification(plan, streams, ahead))
        assert order is not None, explain(history)
    # Winsets that no tuple entered were among them.
    assert seen >= {ACCEPTED, FULL, OUT_OF_ORDER, (READY, True), (READY, False), (NOT_READY, False)}


# --- shared winsets ------------------------------------------------------------------------------


def key_call(name, key, answer, thread=0):
    return thread, name, (key,), answer


WINSETS = {
    "not there, then there": (
        True,
        [key_call("find", 5, NOT_THERE), key_call("insert", 5, 40), key_call("find", 5, 40)],
    ),
    "there, then gone": (False, [key_call("insert", 5, 40), key_call("find", 5, NOT_THERE)]),
    "inserted twice": (False, [key_call("insert", 5, 40), key_call("insert", 5, 41)]),
    "inserted again": (True, [key_call("insert", 5, 40), key_call("insert", 5, 40)]),
    "two keys in one place": (False, [key_call("insert", 5, 40), key_call("insert", 6, 40)]),
    "found before it came": (False, [key_call("find", 5, 40), key_call("insert", 5, 40)]),
    "not inserted": (False, [key_call("insert", 5, NOT_THERE)]),
    "counted": (True, [key_call("count", 5, 0), key_call("count", 5, 0), key_call("read", 5, 2)]),
    "a tuple is lost": (False, [key_call("count", 5, 0)] * 2 + [key_call("read", 5, 1)]),
    "counted nothing": (True, [key_call("read", 5, NOT_THERE), key_call("insert", 5, 4)]),
    "inserted and not counted": (True, [key_call("insert", 5, 4), key_call("read", 5, 0)]),
    "pending, and found": (
        True,
        [key_call("insert", 5, PENDING, thread=1), key_call("find", 5, 40)],
    ),
    "pending, found in two places": (
        False,
        [key_call("insert", 5, PENDING, thread=1), key_call("find", 5, 40), key_call("find", 5, 8)],
    ),
    "pending, and counted once": (
        True,
        [key_call("count", 5, PENDING, thread=1), key_call("count", 5, 0), key_call("read", 5, 2)],
    ),
}


@pytest.mark.parametrize("name", WINSETS)
def test_a_winset(name):
    right, calls = WINSETS[name]
    assert explained(calls, WinsetSpecification()) == right


def test_a_key_that_two_threads_insert_is_inserted_once():
    both = [HistoryOperation(t, "insert", (5,), 40 + t, 0, 9) for t in range(2)]
    assert find_order(both, WinsetSpecification()) is None
    same = [call._replace(answer=40) for call in both]
    assert find_order(same, WinsetSpecification()) is not None
