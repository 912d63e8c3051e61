"""Small programs for every reorder buffer, from its declaration alone.

Each thread is a worker that sends the outputs of some serial numbers. The receiver writes them into
words that nobody else writes, without any atomic, so that two threads that send at the same time
are a data race; and it reads a plain word that the worker has written before, so that an output
may be a reference to data. If the receiver is bounded, some calls make room.

The judgement is the paper's sentence: when no worker is inside ``send`` and downstream has room,
every output that is next has been sent. So at the end of each schedule the receiver has the outputs
of serial 1, 2, 3, ... up to the first that nobody added. A thread that only asks for
``next_serial`` reads what was sent before that, and writes into the words of those outputs, which
are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, FULL, READY, Variant
from operators.core.atomics import ACQUIRE, RELEASE, fetch_add, load
from operators.core.layout import aligned_words
from operators.reorder.check import dimensions
from operators.reorder.check.dimensions import MAKE_ROOM, SCHEDULES, asks, sends
from operators.reorder.reference import in_order

LOG = 16
UNBOUNDED = LOG
# An output that differs from that of its serial number; and the word of one that was sent.
WRONG, USED_AGAIN = -2, -3


class _Bench(NamedTuple):
    """A buffer and its receiver."""

    buffer: Any
    # Number of received outputs, then serial and output of each. Plain; by the sending thread.
    log: np.ndarray
    # The output of each serial number. Plain; by its worker until it is sent, then by who asks.
    made: np.ndarray
    # Total number of outputs that the receiver has room for. By atomics.
    room: np.ndarray


def _receive(bench: _Bench, serial: int, output: int) -> int:
    # ACQUIRE keeps the store below after the room; pairs with the addition in perform.
    count = bench.log[0]
    if count >= load(bench.room, 0, ACQUIRE):
        return FULL
    bench.log[1 + 2 * count] = serial
    bench.log[2 + 2 * count] = bench.made[serial] if output == output_of(serial) else WRONG
    bench.log[0] = count + 1
    return ACCEPTED


def output_of(serial: int) -> int:
    """Return the output of a serial number; one of them is 0, which is distinct from EMPTY."""
    return 10 * (serial - 1)


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a reorder buffer."""

    def buffer(name: str, *programs: tuple[Call, ...], **more: Any) -> Scenario:
        return _scenario(variant, name, programs, **more)

    waits = frozenset({FULL})
    return [
        buffer("in-turn", sends(1, 3), sends(2, 4)),
        buffer("behind-each-other", sends(2, 3), sends(1)),
        buffer("three-workers", sends(3), sends(2), sends(1)),
        buffer("slots-used-again", sends(1, 3), sends(2, 4), slots=2, retry=waits),
        # Three slots lie in four words: the fourth stays empty.
        buffer("no-power-of-two", sends(1, 4), sends(2, 3), slots=3),
        buffer("one-slot", sends(1, 3), sends(2), slots=1, retry=waits),
        buffer("too-far", sends(4, 1), sends(3, 2), slots=2),
        buffer("full-downstream", sends(1, 2), MAKE_ROOM * 2, room=0),
        buffer("room-while-sending", sends(2), (*sends(1), *MAKE_ROOM), room=1),
        buffer("room-from-another", sends(1), sends(2), MAKE_ROOM, room=1, deep=True),
        # Who asks has no other way to learn what was done before.
        buffer("who-asks", sends(1, 2), asks(2)),
        buffer("two-send-and-one-asks", sends(2), sends(1), asks(1)),
        buffer("longer", sends(1, 3, 5), sends(2, 4, 6), slots=2, retry=waits, deep=True),
        buffer("three-and-slots", sends(1, 4), sends(2, 5), sends(3), slots=2, retry=waits,
               deep=True),
        *(
            buffer(each.name, *each.threads, before=each.before, slots=each.slots, room=each.room,
                   retry=waits if each.again else frozenset(), schedules=SCHEDULES)
            for each in dimensions.derived_programs()
        ),
    ]  # fmt: skip


def uncovered(variant: Variant) -> list[str]:
    """Return the pairs of values that no program of a buffer has, with the reasons."""
    return dimensions.uncovered()


def _scenario(
    variant: Variant,
    name: str,
    programs: Sequence[tuple[Call, ...]],
    before: tuple[Call, ...] = (),
    slots: int = 4,
    room: int = UNBOUNDED,
    **more: Any,
) -> Scenario:
    operations = variant.operations
    send, send_pending = operations.make_sending(_receive)

    def make() -> _Bench:
        log, made = aligned_words(2 * LOG), aligned_words(LOG)
        bench = _Bench(operations.make_state(slots), log, made, aligned_words(1))
        bench.room[0] = room
        for call in before:
            assert perform(bench, call) == ACCEPTED, call
        return bench

    def perform(bench: _Bench, call: Call) -> int | tuple[int, ...]:
        if call.name == "send":
            (serial,) = call.arguments
            bench.made[serial] = output_of(serial)
            return send(bench.buffer, bench, serial, output_of(serial))
        if call.name == "next_serial":
            return _ask(bench, operations.next_serial(bench.buffer))
        # RELEASE keeps it before the receiver's check, in whichever thread sends next.
        fetch_add(bench.room, 0, 1, RELEASE)
        send_pending(bench.buffer, bench)
        return ACCEPTED

    def finish(bench: _Bench, history: Sequence[HistoryOperation]) -> None:
        taken = [o.arguments[0] for o in history if o.name == "send" and o.answer == ACCEPTED]
        taken += [call.arguments[0] for call in before]
        count = int(bench.log[0])
        got = [tuple(map(int, bench.log[1 + 2 * k : 3 + 2 * k])) for k in range(count)]
        ready = in_order({serial: output_of(serial) for serial in taken})
        expected = [(k + 1, output) for k, output in enumerate(ready)][: int(bench.room[0])]
        assert got == expected, f"sent were {got}; of {sorted(taken)} these were next: {expected}"
        _judge_refusals(history, slots)
        _judge_what_was_told(history)

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        finish=finish,
        invariants=lambda bench: operations.check_invariants(bench.buffer),
        declines=frozenset({FULL}),
        **more,
    )


def _ask(bench: _Bench, following: int) -> tuple[int, ...]:
    """Return what was sent before a serial number, and use the words of those outputs again."""
    seen = tuple(int(bench.log[2 * serial]) for serial in range(1, following))
    for serial in range(1, following):
        bench.made[serial] = USED_AGAIN
    # The first word of an answer is a status: without it, the output 0 would be FULL.
    return READY, *seen


def _judge_what_was_told(history: Sequence[HistoryOperation]) -> None:
    """Check that who was told a serial number has seen all outputs before it."""
    for operation in history:
        if operation.name == "next_serial":
            seen = operation.answer[1:]
            wanted = tuple(output_of(1 + place) for place in range(len(seen)))
            assert seen == wanted, f"before that {seen} were sent"


def _judge_refusals(history: Sequence[HistoryOperation], slots: int) -> None:
    """Check that no output with a certain slot was refused: the first `slots` serials."""
    for operation in history:
        if operation.name == "send" and operation.answer == FULL:
            (serial,) = operation.arguments
            assert serial > slots, f"serial {serial} was told FULL, and there are {slots} slots"
