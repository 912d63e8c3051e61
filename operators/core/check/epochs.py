"""Scenarios of the epochs: a word leads to a node, and a replacer of the node reuses the old one.

The node's word is plain, so that a search which still reads a node after reuse is a data race, and
a free node is poisoned. The results of searches are judged as a register's value.

Each replacer, like each user so far, has acquired another word of the threads that removed nodes,
or reuses nodes that it has removed itself. In the programs named ``told-...`` threads make one kind
of call each, and know of a removal by its epoch alone: what invariant 1 promises them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import ITSELF, Call, Scenario
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.check.handed_on import calls
from operators.core.check.specifications import RegistersSpecification
from operators.core.epochs import Epochs
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import poison

# A replacer has three nodes: one that its link leads to, and two that are free or released.
NODES = 3
FIRST = 10  # initial value of the node of a link
ALONE = {"unpin": ITSELF}

# Words of a replacer's line: the node its link leads to, then for each of its nodes, one after the
# other, the epoch since which it is unreachable, or
IN_USE, FREE = -1, 0


class _Places(NamedTuple):
    epochs: Epochs
    places: np.ndarray  # [replacers] lines; replacer writes, searches read: a node
    nodes: np.ndarray  # [replacers * NODES] plain words
    own: np.ndarray  # [replacers] lines; only that replacer


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of threads that read nodes, and of threads that reuse them."""
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
        # Two threads that remove nodes announce an epoch each.
        _scenario("two-replace", variant, calls(search, other), replaces(0, 11), replaces(1, 21)),
        # A replacer may search too: the pin is no lock.
        _scenario(
            "both-do-both",
            variant,
            calls(("search", 0, 1), ("replace", 0, 11), ("replace", 0, 12)),
            calls(("search", 1, 0), ("replace", 1, 21), ("replace", 1, 22)),
        ),
        *_told(variant),
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
        # No thread searches any more, so that every released node can be reused.
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
    """Return the value of the node of a link; `thread` numbers the pin."""
    on["pin"](state.epochs, thread)
    node = load(state.places, replacer * LINE_WORDS, ACQUIRE)
    value = int(state.nodes[node])
    on["unpin"](state.epochs, thread)
    return value


def _replace(on: Any, state: _Places, replacer: int, value: int) -> int:
    """Let a link lead to another node: ACCEPTED, or FULL when no node can be reused."""
    line = replacer * LINE_WORDS
    let_go = line + 1
    usable = (n for n in range(NODES) if _may_be_used(on, state, replacer, n))
    node = next(usable, None)
    if node is None:
        return FULL
    first = replacer * NODES
    old = int(state.own[line])
    state.nodes[first + node] = value
    # RELEASE keeps the node's word before the link to it.
    store(state.places, line, first + node, RELEASE)
    state.own[let_go + node] = IN_USE
    state.own[let_go + old] = on["advance"](state.epochs)
    state.own[line] = node
    _poison_free(on, state, replacer)
    return ACCEPTED


def _may_be_used(on: Any, state: _Places, replacer: int, node: int) -> bool:
    since = int(state.own[replacer * LINE_WORDS + 1 + node])
    if since in (IN_USE, FREE):
        return since == FREE
    # Both forms of the query: with the node's epoch, and with one that is at or after it.
    asked = since if replacer == 0 else on["latest"](state.epochs)
    return bool(on["all_left"](state.epochs, asked))


def _poison_free(on: Any, state: _Places, replacer: int) -> None:
    """Spoil the nodes that no thread can reach any more, as the structures do."""
    let_go = replacer * LINE_WORDS + 1
    for node in range(NODES):
        since = int(state.own[let_go + node])
        if since > FREE and on["all_left"](state.epochs, since):
            state.own[let_go + node] = FREE
            poison(state.nodes, replacer * NODES + node, 1)


# --- threads that make one kind of call each -----------------------------------------------------

# A link leads to the first node of its replacer before it is removed, and then to the second.
NOTHING_NEW = 0


def _told(variant: Variant) -> list[Scenario]:
    """Return the scenarios of threads that know of a removal by its epoch alone."""
    announces = calls(("advance", 0)), calls(("advance", 1))
    leaves, pins, asks = calls(("unpin", 0)), calls(("pin", 1)), calls("all_left") * 2
    return [
        _told_scenario("told-since-when", variant, announces[0], calls("latest", "latest")),
        _told_scenario("told-of-another", variant, *announces),
        _told_scenario("told-by-the-pin", variant, announces[0], pins),
        _told_scenario("told-that-all-left", variant, leaves, asks, removed=True),
        _told_scenario("told-while-one-comes", variant, leaves, asks, pins, removed=True),
    ]


def _told_scenario(
    name: str, variant: Variant, *programs: tuple[Call, ...], removed: bool = False
) -> Scenario:
    """Return a scenario of two links; `removed` says that link 0 leads to its new node already.

    Thread 0 is then pinned, and reads the removed node.
    """
    on = variant.operations.calls

    def make() -> _Places:
        places, nodes = aligned_words(2 * LINE_WORDS), aligned_words(2 * NODES)
        places[LINE_WORDS] = NODES
        nodes[::NODES] = FIRST
        state = _Places(variant.operations.make_state(2), places, nodes, aligned_words(LINE_WORDS))
        if removed:
            on["pin"](state.epochs, 0)
            assert _announce(on, state, 0) == NOTHING_NEW
        return state

    def perform(state: _Places, call: Call) -> int:
        return _TOLD[call.name](on, state, *call.arguments)

    def finish(state: _Places, history: list[HistoryOperation]) -> None:
        for each in history:
            right = (FIRST,) if each.name == "unpin" else (NOTHING_NEW, FIRST + 1)
            if each.name == "pin" and removed:
                right = (FIRST + 1,)
            assert each.answer in right, f"{each.name} answers {each.answer}, not one of {right}"
        announced = sum(o.name == "advance" for o in history)
        assert on["latest"](state.epochs) == announced + removed
        told = [o.answer for o in history if o.name == "advance"]
        assert len(told) < 2 or sorted(told) == [NOTHING_NEW, FIRST + 1], f"each is told: {told}"
        on["unpin"](state.epochs, 1)
        assert not removed or _ask(on, state) == FIRST + 1, "all have left, and it is not said"

    return Scenario(name, make, programs, perform, finish=finish)


def _new_of(state: _Places, replacer: int) -> int:
    """Return the value of the new node of a link, where only an epoch says that there is one."""
    # RELAXED: what orders it is the call before alone.
    node = load(state.places, replacer * LINE_WORDS, RELAXED)
    return int(state.nodes[node])


def _announce(on: Any, state: _Places, replacer: int) -> int:
    """Lead a link to the second node; return the other one's new value if told that it has one."""
    node = replacer * NODES + 1
    state.nodes[node] = FIRST + 1
    # RELAXED: advance keeps it before the epoch.
    store(state.places, replacer * LINE_WORDS, node, RELAXED)
    return _new_of(state, 1 - replacer) if on["advance"](state.epochs) > 1 else NOTHING_NEW


def _latest(on: Any, state: _Places) -> int:
    """Return the new value of link 0 if told that there is one."""
    return _new_of(state, 0) if on["latest"](state.epochs) > 0 else NOTHING_NEW


def _pinned(on: Any, state: _Places, thread: int) -> int:
    """Return the new value of link 0 if the pin says that there is one; stay pinned."""
    on["pin"](state.epochs, thread)
    epoch = load(state.epochs.pins, thread * LINE_WORDS, RELAXED)
    return _new_of(state, 0) if epoch > 0 else NOTHING_NEW


def _leave(on: Any, state: _Places, thread: int) -> int:
    """Return the value of the removed node that a pin has kept, and let it go."""
    value = int(state.nodes[0])
    on["unpin"](state.epochs, thread)
    return value


def _ask(on: Any, state: _Places) -> int:
    """Overwrite the removed node once told that it is free."""
    if not on["all_left"](state.epochs, 1):
        return NOTHING_NEW
    state.nodes[0] = FIRST + 1
    return FIRST + 1


_TOLD = {
    "advance": _announce,
    "latest": _latest,
    "pin": _pinned,
    "unpin": _leave,
    "all_left": _ask,
}
