"""Scenarios of the arena: nodes of an owner that changes, and nodes that others read."""

from __future__ import annotations

from typing import Any, NamedTuple

from operators.check.history import HistoryOperation
from operators.check.scenario import ITSELF, Call, Scenario, until
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.arena import NO_NODE, Arena
from operators.core.check.handed_on import (
    HandedOn,
    calls,
    every_script,
    handed_on,
    new_scratch,
    under_mutex,
)
from operators.core.check.specifications import FreeListSpecification
from operators.core.layout import LINE_WORDS
from operators.core.mutex import make_mutexes
from operators.core.reference import QueueSpecification
from operators.core.spsc_ring import Rings, make_rings, pop, push

ALONE = {
    "give_back": ITSELF,
    "take_all_back": "It is for an owner whose nodes were all taken by the thread that calls it.",
    "free_count": "It reads one word of the owner, and tells of no node that could be reached.",
}
NOT_INTACT = -2  # a node that was given back without the word its taker had written


class _Mail(NamedTuple):
    arena: Arena  # owner 0 is the sender; a node is two words
    rings: Rings  # 0: nodes with letters inside; 1: nodes on their way back


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of an owner that changes, and of nodes that others read."""
    arena = variant.operations
    # Call, thread, owner.
    takes = [("take", thread, 0) for thread in range(3)]
    gives = [("give_back", thread, 0) for thread in range(3)]

    def make() -> Arena:
        return arena.make_state(1, 2, 1)

    def inside(state: HandedOn, call: Call) -> int:
        return _in_arena(arena.calls, state, call)

    def scenario(name: str, *programs: tuple[Call, ...], **more: Any) -> Scenario:
        return handed_on(
            name,
            variant,
            make,
            inside,
            programs,
            specification=lambda: FreeListSpecification(2),
            **more,
        )

    def apart(thread: int) -> tuple[Call, ...]:
        take, give = ("take", thread, thread), ("give_back", thread, thread)
        return calls(take, give, take, take, take, give)

    letters = tuple(Call("enqueue", (10 + n, n)) for n in range(3))
    reads = (Call("dequeue"),) * 3
    two_owners = Scenario(
        name="two-owners",
        make=lambda: HandedOn(make_mutexes(1), arena.make_state(2, 2, 1), new_scratch()),
        programs=(apart(0), apart(1)),
        # No lock: the two owners share no word.
        perform=inside,
        specification=lambda: FreeListSpecification(2, owners=2),
        invariants=lambda state: arena.check_invariants(state.inside),
    )
    one_each = Scenario(
        name="a-call-each",
        make=lambda: _one_taken(arena.calls, HandedOn(make_mutexes(1), make(), new_scratch())),
        programs=(calls(takes[0], takes[0]), calls(gives[1])),
        perform=under_mutex(inside),
        invariants=lambda state: arena.check_invariants(state.inside),
        finish=_all_taken,
    )
    return [
        one_each,
        scenario(
            "handed-on",
            calls(takes[0], gives[0], takes[0]),
            calls(takes[1], takes[1], gives[1]),
        ),
        two_owners,
        every_script(
            variant,
            make,
            inside,
            lambda state: _all_free(arena.calls, state),
            lambda: FreeListSpecification(2),
            calls(takes[0], gives[0], takes[1], gives[1]),
        ),
        _mail("letters", variant, 1, letters, reads),
        _mail("letters-of-two-nodes", variant, 2, letters, reads),
        _mail("letters-that-wait", variant, 1, letters[:2], reads[:2], retry=frozenset({FULL})),
        scenario(
            "three-threads", *(calls(t, g) for t, g in zip(takes, gives, strict=True)), deep=True
        ),
    ]


def _in_arena(arena_calls: Any, state: HandedOn, call: Call) -> int:
    # A thread's line: how many nodes it holds, then those nodes.
    thread, owner = call.arguments
    line = thread * LINE_WORDS
    held = int(state.scratch[line])
    if call.name == "take":
        node = int(arena_calls["take"](state.inside, owner))
        if node != NO_NODE:
            state.inside.words[node] = node
            state.scratch[line] = held + 1
            state.scratch[line + held + 1] = node
        return node
    if held == 0:
        return NO_NODE
    node = int(state.scratch[line + held])
    intact = int(state.inside.words[node]) == node
    state.scratch[line] = held - 1
    arena_calls["give_back"](state.inside, owner, node)
    return node if intact else NOT_INTACT


def _one_taken(arena_calls: Any, state: HandedOn) -> HandedOn:
    """Let thread 1 hold a node before the threads begin."""
    assert _in_arena(arena_calls, state, Call("take", (1, 0))) != NO_NODE
    return state


def _all_taken(state: HandedOn, history: list[HistoryOperation]) -> None:
    """Check that each free node was given out once, and that of thread 1 only when given back."""
    taken = [o.answer for o in history if o.name == "take" and o.answer != NO_NODE]
    given = [o.answer for o in history if o.name == "give_back"]
    assert given == [0] and taken in ([1], [1, 0], [0, 1]), f"taken {taken}, given back {given}"


def _all_free(arena_calls: Any, state: HandedOn) -> None:
    for thread in range(2):
        while _in_arena(arena_calls, state, Call("give_back", (thread, 0))) != NO_NODE:
            pass
    # The highest first, as in a new arena.
    for node in sorted((arena_calls["take"](state.inside, 0) for _ in range(2)), reverse=True):
        arena_calls["give_back"](state.inside, 0, node)


def _mail(
    name: str,
    variant: Variant,
    capacity: int,
    letters: tuple[Call, ...],
    reads: tuple[Call, ...],
    **more: Any,
) -> Scenario:
    """Return a scenario in which one thread writes into nodes and another reads them.

    A node's words are plain; sending the node's number through rings orders them.
    """
    arena = variant.operations

    def perform(state: _Mail, call: Call) -> int | tuple[int, int]:
        nodes, rings = state
        out = [0]
        if call.name == "dequeue":
            if not pop(rings, 0, out):
                return 0
            letter = int(nodes.words[2 * out[0]]), int(nodes.words[2 * out[0] + 1])
            push(rings, 1, out[0])
            return letter
        while pop(rings, 1, out):
            arena.calls["give_back"](nodes, 0, out[0])
        node = arena.calls["take"](nodes, 0)
        if node == NO_NODE:
            return FULL
        nodes.words[2 * node], nodes.words[2 * node + 1] = call.arguments
        push(rings, 0, node)
        return ACCEPTED

    def finish(state: _Mail, history: list[HistoryOperation]) -> None:
        sent = [o.arguments for o in history if o.name == "enqueue" and o.answer == ACCEPTED]
        read = [o.answer for o in history if o.name == "dequeue" and o.answer]
        read += until(0, lambda: perform(state, Call("dequeue")))
        assert read == sent, f"sent {sent}, read {read}"

    return Scenario(
        name=name,
        make=lambda: _Mail(arena.make_state(1, capacity, 2), make_rings(2, capacity)),
        programs=(letters, reads),
        perform=perform,
        specification=lambda: QueueSpecification(capacity),
        finish=finish,
        declines=frozenset({FULL}),
        invariants=lambda state: arena.check_invariants(state.arena),
        **more,
    )
