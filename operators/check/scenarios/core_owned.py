"""Scenarios of what belongs to one thread at a time: hash table, winsets, arena."""

from __future__ import annotations

from typing import Any, NamedTuple

from operators.aggregation import update_output
from operators.aggregation.plan import make_plan
from operators.aggregation.sink import take_rows
from operators.aggregation.through_time import ACTIVE
from operators.aggregation.winsets import BITMAP_BITS, FIRST_PLACE, GENERATION, N, WindowState
from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario, until
from operators.check.scenarios.core_mutex import (
    HandedOn,
    calls,
    every_script,
    handed_on,
    new_scratch,
)
from operators.check.scenarios.core_specifications import FreeListSpecification
from operators.contract import ACCEPTED, FULL, Variant
from operators.core import hash_table
from operators.core.arena import NO_NODE, Arena
from operators.core.hash_table import NO_ENTRY, Tables
from operators.core.integers import mix64
from operators.core.layout import LINE_WORDS
from operators.core.mutex import make_mutexes
from operators.core.reference import QueueSpecification, TableSpecification
from operators.core.spsc_ring import Rings, make_rings, pop, push

# --- hash table ----------------------------------------------------------------------------------


def of_hash_table(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a table of two keys: probing, full, and its generations' end."""
    tables = variant.operations
    near, far, other = _same_home(3, entries=4)

    def make() -> Tables:
        return tables.make_state(1, 2)

    def at_the_end() -> Tables:
        made = make()
        made.heads[hash_table.GENERATION] = (hash_table.LAST_GENERATION - 2) << hash_table.KEY_BITS
        return made

    def inside(state: HandedOn, call: Call) -> Any:
        return _in_table(tables.calls, state.inside, call)

    def scenario(name: str, *programs: tuple[Call, ...], make: Any = make, **more: Any):
        return handed_on(
            name,
            variant,
            make,
            inside,
            programs,
            specification=lambda: TableSpecification(2),
            **more,
        )

    count = {key: ("count", key) for key in (near, far, other)}
    steps = calls(count[near], count[far], ("find", far), "reset")
    return [
        scenario(
            "handed-on",
            calls(count[near], count[far], "members"),
            calls(count[far], count[other], ("find", near)),
        ),
        scenario("emptied", calls(count[near], "reset", count[far]), calls(count[near]) * 3),
        scenario(
            "generations-end",
            calls("reset", count[near], "reset"),
            calls(count[near], count[far], "reset"),
            make=at_the_end,
        ),
        every_script(
            variant,
            make,
            inside,
            lambda state: tables.calls["reset"](state.inside, 0),
            lambda: TableSpecification(2),
            steps,
        ),
        scenario(
            "three-threads",
            calls(count[near], "reset"),
            calls(count[far], ("find", near)),
            calls(count[other], "members"),
            deep=True,
        ),
    ]


def _same_home(count: int, entries: int) -> list[int]:
    """Return keys that belong to one entry, so that all but the first are probed for."""
    home = mix64(1) & (entries - 1)
    return [key for key in range(1, 100) if mix64(key) & (entries - 1) == home][:count]


def _in_table(table_calls: Any, tables: Tables, call: Call) -> Any:
    if call.name == "reset":
        table_calls["reset"](tables, 0)
        return ACCEPTED
    if call.name == "members":
        members = range(table_calls["member_count"](tables, 0))
        places = [table_calls["member_place"](tables, 0, member) for member in members]
        return tuple(int(table_calls["key_at"](tables, place)) for place in places)
    name = "find" if call.name == "find" else "find_or_insert"
    place = table_calls[name](tables, 0, *call.arguments)
    if place == NO_ENTRY:
        return NO_ENTRY
    if call.name == "count":
        tables.entries[place + 1] += 1
    return int(tables.entries[place + 1])


# --- winsets -------------------------------------------------------------------------------------


def of_winsets(variant: Variant) -> list[Scenario]:
    """Return the scenarios of an output thread's winsets, which another thread goes on with."""
    keys = 5
    window = variant.operations.calls

    def make(rows: int = 32, winsets: int = 8) -> WindowState:
        plan = make_plan("count", 2, 1, keys, rows_capacity=rows, winsets_capacity=winsets)
        windows = variant.operations.make_state(plan)
        windows.control[ACTIVE] = 1
        return windows

    def inside(state: HandedOn, call: Call) -> Any:
        windows = state.inside
        control = windows.control
        if call.name == "reset":
            # The oldest winset is put out, and another takes its turn.
            update_output.output(windows, -1)
            control[ACTIVE] += 1
            return ACCEPTED
        (key,) = call.arguments
        place = int(control[FIRST_PLACE])
        tag = (int(control[GENERATION]) << windows.key_bits) | key
        if call.name == "count":
            at = window["find_or_create"](
                windows, place, window["home_slot"](windows, key), key, tag
            )
            windows.table[at + N] += 1
        else:
            # `find` is asked for keys only that the bitmap has.
            if not windows.present[place * windows.bitmap_words] >> (key % BITMAP_BITS) & 1:
                return NO_ENTRY
            at = window["find"](windows, place, key, tag)
        return int(windows.table[at + N])

    def finish(state: HandedOn, history: list[HistoryOperation]) -> None:
        variant.operations.check_invariants(state.inside)
        update_output.output(state.inside, -1)
        counted = sum(o.name == "count" for o in history)
        found = int(take_rows(state.inside.sink)[:, -1].sum())
        assert found == counted, f"{counted} tuples were counted, {found} put out"

    def specification() -> TableSpecification:
        return TableSpecification(keys)

    def scenario(name: str, *programs: tuple[Call, ...], **more: Any) -> Scenario:
        return handed_on(
            name,
            variant,
            make,
            inside,
            programs,
            specification=specification,
            finish=finish,
            **more,
        )

    one, two = ("count", 0), ("count", 3)
    steps = calls(one, two, "reset")
    return [
        scenario("handed-on", calls(one, two, ("find", 3)), calls(two, "reset", two)),
        scenario("put-out", calls(one, "reset", one), calls("reset", one, ("find", 0))),
        every_script(
            variant,
            lambda: make(rows=0, winsets=1 << 7),
            inside,
            lambda state: inside(state, Call("reset")),
            specification,
            steps,
        ),
        scenario("three-threads", calls(one, two), calls("reset", one), calls(two, one), deep=True),
    ]


# --- arena ---------------------------------------------------------------------------------------


NOT_INTACT = -2  # a node that was given back without the word its taker had written


class _Mail(NamedTuple):
    arena: Arena  # owner 0 is the sender; a node is two words
    rings: Rings  # 0: nodes with letters inside; 1: nodes on their way back


def of_arena(variant: Variant) -> list[Scenario]:
    """Return the scenarios of an owner that changes, and of nodes that others read."""
    arena = variant.operations
    # By a thread, of an owner.
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
        # Nothing is locked: they have no word in common.
        perform=inside,
        specification=lambda: FreeListSpecification(2, owners=2),
        invariants=lambda state: arena.check_invariants(state.inside),
    )
    return [
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
    """Return a scenario in which a thread writes into nodes of its own and another reads them.

    A node's words are plain; what orders them is that its number travels through rings.
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
