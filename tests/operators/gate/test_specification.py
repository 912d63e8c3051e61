"""Answers allowed to threads at a gate: hand-made histories, and every gate on one thread."""

from __future__ import annotations

import random

import numpy as np
import pytest

from operators import registry
from operators.check.history import NEVER, PENDING, HistoryOperation
from operators.check.linearizability import explain, find_order
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    TIMESTAMP_LIMIT,
    Variant,
)
from operators.gate.specification import GateSpecification, specification_of
from tests.drivers import settings_of

GATES = registry.variants("gate")
WAIT, OVER = (NOT_READY,), (END,)


def insert(source, timestamp, answer=ACCEPTED):
    """Return an insertion by the source's thread."""
    return source, "insert_tuple", (source, timestamp, 0, 7), answer


def close(source):
    return source, "close_source", (source,), ACCEPTED


def get(*answer, reader=0):
    """Return a reading by a separate thread: (timestamp, source), or a status."""
    told = (READY, *answer, 0, 7) if len(answer) == 2 else answer
    return 10 + reader, "get_next_ready_tuple", (reader,), told


def one_by_one(calls):
    """Return the calls as a sequential history: each begins after the previous one has ended."""
    return [
        HistoryOperation(*call, 2 * n, NEVER if call[3] == PENDING else 2 * n + 1)
        for n, call in enumerate(calls)
    ]


def at_once(calls):
    """Return the calls as concurrent; only the calls of one thread are ordered."""
    return [HistoryOperation(*call, n, 99) for n, call in enumerate(calls)]


BOTH = [insert(0, 1), insert(1, 2)]
# By the rule of readiness alone.
RULE = {
    "nothing yet": (True, [get(*WAIT)]),
    "one source is silent": (True, [insert(0, 1), get(*WAIT)]),
    "ready although a source is silent": (False, [insert(0, 1), get(1, 0)]),
    "ready": (True, [*BOTH, get(1, 0), get(*WAIT)]),
    "not ready although it is": (False, [*BOTH, get(*WAIT)]),
    "out of order": (False, [*BOTH, get(2, 1)]),
    "given out twice": (False, [*BOTH, insert(0, 5), get(1, 0), get(1, 0)]),
    "lost": (False, [*BOTH, insert(0, 5), get(2, 1)]),
    "a tie that may still come": (False, [insert(0, 5), insert(1, 5), get(5, 0), get(5, 1)]),
    "a tie is over": (True, [insert(0, 5), insert(1, 5), get(5, 0), insert(0, 6), get(5, 1)]),
    "closing lets go": (
        True,
        [insert(0, 1), close(1), get(1, 0), get(*WAIT), close(0), get(*OVER)],
    ),
    "the end too early": (False, [close(1), get(*OVER)]),
    "the end with tuples left": (False, [insert(0, 1), close(0), close(1), get(*OVER)]),
    "waiting after the end": (False, [close(0), close(1), get(*WAIT)]),
    "earlier than its last": (True, [insert(0, 5), insert(0, 4, OUT_OF_ORDER), insert(0, 5)]),
    "refused without reason": (False, [insert(0, 5), insert(0, 5, OUT_OF_ORDER)]),
    "taken although it is earlier": (False, [insert(0, 5), insert(0, 4)]),
    "after closing": (True, [close(0), insert(0, 9, OUT_OF_ORDER)]),
    "beyond all time": (True, [insert(0, TIMESTAMP_LIMIT, OUT_OF_ORDER)]),
    "full": (True, [insert(0, 1), insert(0, 2), insert(0, 3, FULL)]),
    "full too early": (False, [insert(0, 1), insert(0, 2, FULL)]),
    "one too many": (False, [insert(0, 1), insert(0, 2), insert(0, 3)]),
    "full, and there all the same": (
        False,
        [insert(0, 1), insert(0, 2), insert(0, 3, FULL), insert(1, 9), get(1, 0), get(2, 0)]
        + [get(3, 0)],
    ),
    "room comes back": (True, [insert(0, 1), insert(0, 2), insert(1, 9), get(1, 0), insert(0, 3)]),
    "pending, and seen": (
        True,
        [insert(0, 1), (1, "insert_tuple", (1, 2, 0, 7), PENDING), get(1, 0)],
    ),
    "pending, and not seen": (
        True,
        [insert(0, 1), (1, "insert_tuple", (1, 2, 0, 7), PENDING), get(*WAIT)],
    ),
    "pending, and took a tuple": (
        True,
        [*BOTH, (10, *get(1, 0)[1:3], PENDING), get(*WAIT, reader=0)],
    ),
}


@pytest.mark.parametrize("name", RULE)
def test_the_rule_of_readiness_with_room_for_two(name):
    right, calls = RULE[name]
    history = one_by_one(calls)
    found = find_order(history, GateSpecification(2, 1, ahead=2))
    assert (found is not None) == right


def test_calls_at_once_may_have_come_in_any_order():
    # Overlapping: the source's tuple and the reader's NOT_READY.
    assert find_order(at_once([*BOTH, get(*WAIT)]), GateSpecification(2, 1, 2)) is not None
    # But no order gives the second tuple first, or one that nobody inserted.
    assert find_order(at_once([*BOTH, get(2, 1)]), GateSpecification(2, 1, 2)) is None
    assert find_order(at_once([*BOTH, get(1, 1)]), GateSpecification(2, 1, 2)) is None


HELD = [insert(0, 1), insert(1, 2), insert(1, 3)]


def test_a_gate_that_holds_back_one_gives_out_no_last_tuple():
    def right(*calls, holds=1):
        specification = GateSpecification(2, 1, ahead=9, holds=holds)
        return find_order(one_by_one([*HELD, *calls]), specification) is not None

    assert right(get(*WAIT)) and not right(get(1, 0))
    assert right(insert(0, 4), get(1, 0), get(2, 1), get(*WAIT))
    assert not right(insert(0, 4), get(*WAIT)), "it has a later one of the same source"
    assert right(close(0), get(1, 0)), "nothing later comes"
    # Of a batch of two, the last two may be held back, but need not be.
    assert right(insert(0, 4), get(*WAIT), holds=2) and right(insert(0, 4), get(1, 0), holds=2)
    assert not right(insert(0, 4), insert(0, 5), get(*WAIT), holds=2)


def test_each_reader_sees_every_tuple_and_the_slowest_one_makes_room():
    def right(*calls):
        specification = GateSpecification(2, 2, ahead=2)
        return find_order(one_by_one(calls), specification) is not None

    fill = [insert(0, 1), insert(0, 2), insert(1, 9)]
    assert right(*fill, get(1, 0), get(2, 0), get(1, 0, reader=1))
    assert not right(*fill, get(1, 0), get(2, 0, reader=1))
    assert right(*fill, get(1, 0), insert(0, 3, FULL), get(1, 0, reader=1), insert(0, 3))
    assert not right(*fill, get(1, 0), insert(0, 3))
    assert right(*fill, close(0), close(1), *[get(*t) for t in ((1, 0), (2, 0), (9, 1), OVER)])


def test_full_before_ahead_where_room_comes_back_in_parts_or_a_source_pins():
    def right(history, **given):
        return find_order(history, GateSpecification(2, 1, ahead=3, **given)) is not None

    early = one_by_one([insert(0, 1), insert(0, 2), insert(0, 3, FULL)])
    assert not right(early) and right(early, room=2) and not right(early, pins=True)
    # The other source's call spans all of the others.
    pinned = HistoryOperation(*insert(1, 5), 0, 9)
    assert not right([pinned, *early]) and right([pinned, *early], pins=True)
    assert not right([pinned._replace(ended=3), *early], pins=True), "it was over before"
    reading = HistoryOperation(*get(*WAIT), 0, 9)
    assert not right([reading, *early], pins=True), "a reader pins nothing"


# --- every gate, by one thread -------------------------------------------------------------------


def run_alone(variant: Variant, sources: int, readers: int, ahead: int, seed: int, calls: int):
    """Let one thread act for all, and return the history and the specification."""
    chance = random.Random(seed)
    settings = settings_of(variant, ahead)
    state = variant.operations.make_state(sources=sources, readers=readers, **settings)
    out = np.zeros(4, dtype=np.int64)
    clock = [0] * sources
    history = []
    for moment in range(calls):
        actor = chance.randrange(2 * sources + readers)
        source = actor // 2
        if actor >= 2 * sources:
            name, arguments = "get_next_ready_tuple", (actor - 2 * sources,)
            status = variant.operations.get_next_ready_tuple(state, *arguments, out)
            answer = (status, *out.tolist()) if status == READY else (status,)
        elif chance.random() < 0.005:
            name, arguments = "close_source", (source,)
            answer = variant.operations.close_source(state, source)
        else:
            name = "insert_tuple"
            arguments = (
                source,
                clock[source] + chance.choice([-1, 0, 0, 1, 1, 2]),
                moment,
                -moment,
            )
            answer = variant.operations.insert_tuple(state, *arguments)
            clock[source] += (arguments[1] - clock[source]) * (answer == ACCEPTED)
        history.append(HistoryOperation(0, name, arguments, answer, moment, moment))
    given = {name: settings[name] for name in ("ahead", "batch") if name in settings}
    return history, specification_of(variant.operations.answers, sources, readers, **given)


def outstanding_when_full(history, sources: int, readers: int) -> int:
    """Return the fewest tuples of a source outstanding for a reader when the source was FULL."""
    ahead_of = np.zeros((readers, sources), dtype=np.int64)
    fewest = 1 << 30
    for call in history:
        if call.name == "insert_tuple":
            source = call.arguments[0]
            ahead_of[:, source] += call.answer == ACCEPTED
            if call.answer == FULL:
                fewest = min(fewest, int(ahead_of[:, source].max()))
        elif call.name == "get_next_ready_tuple" and call.answer[0] == READY:
            ahead_of[call.arguments[0], call.answer[2]] -= 1
    return fewest


@pytest.mark.parametrize("ahead", [3, 20])
@pytest.mark.parametrize("variant", GATES, ids=lambda variant: variant.id)
def test_every_gate_alone_answers_so(variant, ahead):
    readers = 2 if variant.threads["reader"] != "one" else 1
    fewest = 1 << 30
    for seed in range(4):
        for sources in (1, 2, 3):
            history, specification = run_alone(variant, sources, readers, ahead, seed, 60 * ahead)
            assert find_order(history, specification) is not None, explain(history)
            fewest = min(fewest, outstanding_when_full(history, sources, readers))
    # The bound is tight: gates are FULL as early as the declaration allows. For a gate that
    # declares nothing the bound is unknown.
    assert variant.operations.answers is None or specification.room == fewest


def test_a_gate_that_declares_no_answers_is_held_to_the_rule():
    specification = specification_of(None, 2, 1, ahead=2)
    assert find_order(one_by_one([insert(0, 1, FULL), *BOTH, get(1, 0)]), specification)
    assert find_order(one_by_one([*BOTH, get(*WAIT)]), specification) is None
