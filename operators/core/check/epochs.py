"""Scenarios of the epochs: a word leads to a node, and who replaces it uses the old one again.

The node's word is plain, so that a search which still reads a node in its next use is a data race,
and a node that is free is spoiled. What searches find is judged as a register's value.

What no program here misses when it is taken away (the orders were tried as mutants, which lived):

* the fence in ``all_left``, and ACQUIRE at the epoch in ``pin``: they keep loads from being early,
  and the memory here (``buffers``) has none that are. What is read behind the pin is reached by a
  link that is acquired itself, so that the race detector has nothing to say either.
* ACQUIRE in ``latest`` and in ``advance``: they are for who uses again what others have taken out.
  Each replacer here, like each user so far, has acquired another word of theirs before, or uses
  again what it has taken out itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.atomics import ACQUIRE, RELEASE, load, store
from operators.core.check.handed_on import calls
from operators.core.check.specifications import RegistersSpecification
from operators.core.epochs import Epochs
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import spoil

# A replacer has three nodes: one its place leads to, and two that are free or let go.
NODES = 3
FIRST = 10  # what the node of a place holds at first

# Words of a replacer's line: the node its place leads to, then of each of its nodes, one after the
# other, the epoch since which it is out of reach, or
IN_USE, FREE = -1, 0


class _Places(NamedTuple):
    epochs: Epochs
    places: np.ndarray  # [replacers] lines; replacer writes, searches read: a node
    nodes: np.ndarray  # [replacers * NODES] plain words
    own: np.ndarray  # [replacers] lines; that replacer alone


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of threads that read nodes, and of threads that use them again."""
    search, again = ("search", 0, 0), ("search", 1, 0)
    other = ("search", 0, 1)

    def replaces(replacer: int, *values: int) -> tuple[Call, ...]:
        return calls(*(("replace", replacer, value) for value in values))

    return [
        _scenario("one-search", variant, calls(search), replaces(0, 11, 12, 13)),
        _scenario("search-again", variant, calls(search, search), replaces(0, 11, 12)),
        _scenario(
            "search-and-wait", variant, calls(search, search), replaces(0, 11, 12), retry=True
        ),
        _scenario("two-searches", variant, calls(search), calls(again), replaces(0, 11, 12)),
        # Two who take nodes out announce an epoch each.
        _scenario("two-replace", variant, calls(search, other), replaces(0, 11), replaces(1, 21)),
        # Who replaces may search too: the pin is no lock.
        _scenario(
            "both-do-both",
            variant,
            calls(("search", 0, 1), ("replace", 0, 11), ("replace", 0, 12)),
            calls(("search", 1, 0), ("replace", 1, 21), ("replace", 1, 22)),
        ),
        _scenario(
            "three-threads",
            variant,
            calls(search, other),
            (*replaces(0, 11, 12), *calls(("search", 1, 1))),
            replaces(1, 21, 22),
            deep=True,
        ),
    ]


def _scenario(
    name: str,
    variant: Variant,
    *programs: tuple[Call, ...],
    retry: bool = False,
    deep: bool = False,
) -> Scenario:
    epochs = variant.operations

    def make() -> _Places:
        own = aligned_words(2 * LINE_WORDS)
        own[1::LINE_WORDS] = IN_USE
        places = aligned_words(2 * LINE_WORDS)
        places[LINE_WORDS] = NODES
        nodes = aligned_words(2 * NODES)
        nodes[::NODES] = FIRST
        return _Places(epochs.make_state(2), places, nodes, own)

    def perform(state: _Places, call: Call) -> int:
        if call.name == "search":
            return _search(epochs.calls, state, *call.arguments)
        return _replace(epochs.calls, state, *call.arguments)

    def finish(state: _Places, history: list[HistoryOperation]) -> None:
        announced = sum(o.name == "replace" and o.answer == ACCEPTED for o in history)
        found = epochs.calls["latest"](state.epochs)
        assert found == announced, f"the epoch is {found} after {announced} were announced"
        # Nobody searches any more, so that whatever was let go can be used again.
        for replacer in range(2):
            assert _replace(epochs.calls, state, replacer, 99) == ACCEPTED, "a node is lost"
            assert _search(epochs.calls, state, 0, replacer) == 99

    return Scenario(
        name=name,
        make=make,
        programs=programs,
        perform=perform,
        specification=lambda: RegistersSpecification(2, FIRST),
        finish=finish,
        invariants=lambda state: epochs.check_invariants(state.epochs),
        retry=frozenset({FULL}) if retry else frozenset(),
        declines=frozenset({FULL}),
        deep=deep,
    )


def _search(on: Any, state: _Places, thread: int, replacer: int) -> int:
    """Return what the node of a place holds; `thread` numbers the pin."""
    on["pin"](state.epochs, thread)
    node = load(state.places, replacer * LINE_WORDS, ACQUIRE)
    value = int(state.nodes[node])
    on["unpin"](state.epochs, thread)
    return value


def _replace(on: Any, state: _Places, replacer: int, value: int) -> int:
    """Let a place lead to another node: ACCEPTED, or FULL when none can be used again."""
    line = replacer * LINE_WORDS
    let_go = line + 1
    usable = (n for n in range(NODES) if _may_be_used(on, state, replacer, n))
    node = next(usable, None)
    if node is None:
        return FULL
    first = replacer * NODES
    old = int(state.own[line])
    state.nodes[first + node] = value
    # RELEASE keeps the node's word before the way to it.
    store(state.places, line, first + node, RELEASE)
    state.own[let_go + node] = IN_USE
    state.own[let_go + old] = on["advance"](state.epochs)
    state.own[line] = node
    _spoil_free(on, state, replacer)
    return ACCEPTED


def _may_be_used(on: Any, state: _Places, replacer: int, node: int) -> bool:
    since = int(state.own[replacer * LINE_WORDS + 1 + node])
    if since in (IN_USE, FREE):
        return since == FREE
    # Both ways of asking: by the node's own epoch, and by one that is at or after it.
    asked = since if replacer == 0 else on["latest"](state.epochs)
    return bool(on["all_left"](state.epochs, asked))


def _spoil_free(on: Any, state: _Places, replacer: int) -> None:
    """Make what nobody can look at any more unreadable, as the structures do."""
    let_go = replacer * LINE_WORDS + 1
    for node in range(NODES):
        since = int(state.own[let_go + node])
        if since > FREE and on["all_left"](state.epochs, since):
            state.own[let_go + node] = FREE
            spoil(state.nodes, replacer * NODES + node, 1)
