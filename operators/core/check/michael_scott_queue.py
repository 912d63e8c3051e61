"""Scenarios of Michael and Scott's queue, with any number of threads at either end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.check.derived import all_there
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.check import dimensions
from operators.core.check.queues import EMPTY, WAITS, compare_drained, gets, puts, rest_of
from operators.core.check.specifications import NodeQueueSpecification, holding
from operators.core.layout import aligned_words
from operators.core.michael_scott_queue import (
    INDEX_MASK,
    LINK,
    NODE_WORDS,
    NULL,
    WORD_MASK,
    Queues,
    enqueue_tuple,
)

NOTES = 128
# A dequeue whose item's note was missing, or belonged to another item.
NO_NOTE = (-1,)


class _Announced(NamedTuple):
    queues: Queues
    # Indexed by the number of an item: plain, written before the item goes in and read by the
    # thread that takes it. Writes before an enqueue must happen before reads after the dequeue.
    notes: np.ndarray


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a queue with any number of threads at either end."""

    def queue(name: str, capacity: int, filled: int, *programs: tuple[Call, ...], **more: Any):
        return _queue(name, variant, capacity, filled, programs, **more)

    e, d, p = _item, gets(1), gets(1, "peek")
    return [
        queue("enqueuers", 3, 0, e(1) + e(2) + d, e(3) + d + e(4)),
        queue("enqueuers-when-full", 2, 1, e(1) + e(2), e(3) + d + e(4)),
        queue("dequeuers", 3, 3, d + d + e(1), d + e(2) + d),
        queue("empty", 2, 0, e(1) + d, d + p + d),
        queue("lagging-tail", 2, 0, e(1), d + e(2) + d),
        # A node is removed, reused and back at the head during the other thread's call.
        queue("node-comes-back", 2, 1, d, d + e(1) + d + e(2)),
        # The same for the free list, with the same top over another node.
        queue("free-node-comes-back", 3, 0, e(1), e(2) + e(3) + d + d),
        queue("peek-and-reuse", 1, 1, p + p, d + e(1) + d + e(2)),
        queue("one-node", 1, 0, e(1) + d + e(2), d + e(3) + d),
        # As before, and the node is back as the last one: a thread that reads tail, then the old
        # link of the node and the old head, would move tail off the queue.
        queue("last-node-comes-back", 1, 1, d, d + e(1) + d, graph=False),
        # The second thread moves tail to the node of the first, which has stopped; the third finds
        # the node there, and must see the first link of this use.
        queue("enqueue-helps", 3, 0, e(1), e(2), e(3), stopped=1, graph=False),
        queue("dequeue-helps", 3, 0, e(1), d, e(2), stopped=1, graph=False),
        queue("tags-wrap", 2, 1, e(1) + d, d + e(2) + d, last_tags=True),
        queue("waiting", 1, 0, e(1) + e(2), d + d, retry=WAITS),
        queue("three-threads", 2, 1, e(1) + d, d + e(2), e(3) + p, deep=True),
        queue("two-producers", 2, 0, e(1) + e(2), e(3), d * 3, retry=WAITS, deep=True),
        queue("two-consumers", 2, 2, d + d, d + d, e(1) + e(2) + e(3), deep=True),
        *(
            queue(each.name, each.capacity, each.filled, *map(_of_items, each.threads),
                  used=each.used, retry=WAITS if each.again else frozenset(),
                  schedules=dimensions.SCHEDULES)
            for each in dimensions.derived_programs(all_there)
        ),
    ]  # fmt: skip


def uncovered(variant: Variant) -> list[str]:
    """Return the values that no program of a queue has, with the reasons."""
    return dimensions.uncovered(all_there)


def _of_items(program: tuple[Call, ...]) -> tuple[Call, ...]:
    """Return a program of words as one of tuples."""
    return tuple(_item(*c.arguments)[0] if c.name == "enqueue" else c for c in program)


def _item(number: int) -> tuple[Call, ...]:
    """Return the program that enqueues one tuple, whose words must stay together."""
    return puts((number, -number, number << 40))


def _queue(
    name: str,
    variant: Variant,
    capacity: int,
    filled: int,
    programs: Sequence[tuple[Call, ...]],
    last_tags: bool = False,
    used: int = 0,
    stopped: int = 0,
    **more: Any,
) -> Scenario:
    """Return a scenario; the thread that enqueues the item `stopped` stops before it moves tail."""
    operations = variant.operations
    enqueue, dequeue, peek = (operations.calls[n] for n in ("enqueue", "dequeue", "peek"))
    items = [_item(100 + number)[0].arguments for number in range(filled)]

    def make() -> _Announced:
        queues = operations.make_state(1, capacity)
        if last_tags:
            queues.ends[:] |= WORD_MASK & ~INDEX_MASK
            queues.nodes[LINK::NODE_WORDS] |= WORD_MASK & ~INDEX_MASK
        state = _Announced(queues, aligned_words(NOTES))
        for number in range(1, used + 1):
            for call in (*_item(number), *gets(1)):
                perform(state, call)
        for item in items:
            perform(state, Call("enqueue", item))
        return state

    def perform(state: _Announced, call: Call) -> int | tuple[int, ...]:
        queues, notes = state
        if call.name == "enqueue":
            number = call.arguments[0]
            notes[number] = -number
            if number == stopped:
                return FULL if enqueue_tuple(queues, 0, *call.arguments)[1] == NULL else ACCEPTED
            return enqueue(queues, 0, *call.arguments)
        out = [0, 0, 0]
        if call.name == "peek":
            # Only the timestamp is read.
            there, out[0] = peek(queues, 0)
            words = (out[0],)
        else:
            there, words = dequeue(queues, 0, out), tuple(out)
        if not there:
            return EMPTY
        return words if notes[out[0]] == -out[0] else NO_NOTE

    return Scenario(
        name=name,
        make=make,
        programs=tuple(programs),
        perform=perform,
        specification=lambda: holding(NodeQueueSpecification(capacity), items),
        finish=lambda state, history: compare_drained(items, history, rest_of(perform, state)),
        invariants=lambda state: operations.check_invariants(state.queues),
        **more,
    )
