"""The requirements on every reorder buffer, whatever its inside: the one suite.

Outputs arrive in any order that leaves each fewer than ``slots`` ahead, and are sent by serial
number, once each, as soon as they are next; one that is too far ahead is refused, and nothing is
lost when downstream is full. Single steps run here, interpreted; threads run as a bench runs them.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import families
from experiments.timing.bench import Request
from operators.contract import ACCEPTED, FULL, UsageError, Variant
from operators.core.jit import INTERPRETED
from operators.registry import variants
from operators.reorder.family import MOST_SLOTS
from operators.reorder.reference import ReferenceBuffer, in_order
from tests.contract.suite import Suite

SUITE = Suite("reorder")


class Downstream(NamedTuple):
    """A receiver: the received outputs, and the total capacity (the one item of `room`)."""

    got: list[tuple[int, int]]
    room: list[int]


def receive(downstream: Downstream, serial: int, output: int) -> int:
    if len(downstream.got) == downstream.room[0]:
        return FULL
    downstream.got.append((serial, output))
    return ACCEPTED


def made(variant: Variant, slots: int, room: int = 1 << 30) -> tuple[Any, Any, Any, Downstream]:
    """Return a state, the two operations and the receiver."""
    operations = variant.operations
    send, send_pending = operations.make_sending(receive)
    return operations.make_state(slots), send, send_pending, Downstream([], [room])


def orders(slots: int, count: int, seed: int) -> list[int]:
    """Return serial numbers 1 to `count` in an order in which none is refused as too early."""
    chance = random.Random(seed)
    left, found = list(range(1, count + 1)), []
    while left:
        # The earliest missing serial number is the next to be sent.
        early = sum(serial < left[0] + slots for serial in left[:slots])
        found.append(left.pop(chance.randrange(early)))
    return found


@SUITE.case()
def outputs_are_sent_by_serial_number_as_soon_as_they_are_next(variant: Variant):
    for seed, slots in enumerate((1, 2, 3, 8, 64)):
        state, send, _, downstream = made(variant, slots)
        oracle = ReferenceBuffer(slots)
        for serial in orders(slots, 200, seed):
            answer = send(state, downstream, serial, 7 * serial)
            assert (answer == ACCEPTED) == oracle.send(serial, 7 * serial)
            assert [output for _, output in downstream.got] == oracle.sent
        assert [serial for serial, _ in downstream.got] == list(range(1, 201))
        assert variant.operations.next_serial(state) == 201
        variant.operations.check_invariants(state)


@SUITE.case()
def any_order_with_refusals_ends_as_the_oracle_says(variant: Variant):
    @given(st.permutations(range(1, 9)), st.integers(1, 8))
    def agree(order, slots):
        state, send, _, downstream = made(variant, slots)
        oracle = ReferenceBuffer(slots)
        left = list(order)
        while left:
            refused = []
            for serial in left:
                answer = send(state, downstream, serial, serial - 1)
                assert (answer == ACCEPTED) == oracle.send(serial, serial - 1)
                if answer == FULL:
                    refused.append(serial)
            left = refused
        assert downstream.got == [(serial, serial - 1) for serial in range(1, 9)]

    agree()


@SUITE.case()
def what_downstream_has_no_room_for_waits_and_is_not_lost(variant: Variant):
    state, send, send_pending, downstream = made(variant, 8, room=0)
    for serial in (2, 1, 4, 3):
        assert send(state, downstream, serial, serial) == ACCEPTED
    for room in (0, 1, 3, 4):
        downstream.room[0] = room
        send_pending(state, downstream)
        assert downstream.got == [(serial, serial) for serial in range(1, room + 1)]
    variant.operations.check_invariants(state)


@SUITE.case()
def an_output_too_far_ahead_is_refused_until_its_slot_is_free(variant: Variant):
    for slots in (1, 3, 4):
        state, send, _, downstream = made(variant, slots)
        assert send(state, downstream, slots + 1, 9) == FULL
        assert send(state, downstream, 1, 5) == ACCEPTED
        assert send(state, downstream, slots + 1, 9) == ACCEPTED


@SUITE.case()
def limits_are_named(variant: Variant):
    for slots in (0, MOST_SLOTS + 1):
        with pytest.raises(UsageError, match=f"slots must be between 1 and .* received {slots}"):
            variant.operations.make_state(slots)


def in_threads(variant: Variant, total: int, **settings: Any) -> None:
    bench = families.ready("reorder", variant.id, settings)
    output = bench.measure(Request(1.0, tuples=total)).output
    assert output.problem is None, settings
    assert output.outputs == total


@SUITE.case()
def real_threads_send_what_a_serial_run_sends(variant: Variant):
    total = 300 if INTERPRETED else 20_000
    for workers, slots in ((1, 1), (2, 1), (2, 2), (2, 1024), (3, 3), (8, 5), (16, 64)):
        in_threads(variant, total, workers=workers, slots=slots, work_us=0.2, send_us=0)
    in_threads(variant, total, workers=2, work_us=0, send_us=0)
    in_threads(variant, total, workers=4, slots=16, work_us=0, send_us=0.5)
    in_threads(variant, total // 10, workers=4, slots=16, work_us=2, work="constant")


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(variants("reorder")))
def test_contract(variant, case):
    case.body(variant)


def test_every_variant_has_a_case():
    assert SUITE.left_out(variants("reorder")) == {}


def test_the_oracle_stops_at_a_gap():
    assert in_order({1: 10, 2: 20, 4: 40}) == [10, 20]
