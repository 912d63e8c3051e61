"""Scenarios of optimistic locks: pairs that are read while they change, and a reused node.

The words of a pair are equal whenever the lock is free. They lie in an array that `racy` made: a
reader loads one, and another thread may run between that and the load of the other. A search
follows a number to a node, and the node may be released and reused meanwhile.

No program here misses OBSOLETE in searches when it is removed: the link to a node changes before
the node is released, and is checked once more after the node's version was read. OBSOLETE is for
threads that wait for the lock (``wait-for-obsolete``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, FULL, Variant
from operators.core.atomics import RELEASE, fence
from operators.core.check.handed_on import calls
from operators.core.check.specifications import RegistersSpecification
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.optimistic import RESTART, racy

FIRST = 10  # initial value of a pair
# Pairs, and the locks over them: pair 0 alone; the link to a node; two nodes, the second of which
# is initially obsolete.
PLAIN, LINK, NODE, OTHER = range(4)
TORN = -7  # no value of a pair

_BEGINS = "What is read since this version is nothing until check has compared it, in one thread."
_COMPARES = "It compares a version that the same thread has been given before."
_HOLDS = "Only the thread that has taken the lock may call it."
ALONE = {
    **dict.fromkeys(("read_begin", "read_when_open"), _BEGINS),
    **dict.fromkeys(("check", "upgrade"), _COMPARES),
    "acquire": "A thread that takes the lock and never gives it back stops all others for ever.",
    **dict.fromkeys(("release", "release_unchanged", "retire"), _HOLDS),
    "reopen": "Only the thread that owns the obsolete data, and has its lock, may call it.",
}


class _Pairs(NamedTuple):
    locks: np.ndarray
    pairs: np.ndarray  # [4] lines, racy; the link is the first word of its line
    counter: np.ndarray  # a plain word, under the lock of pair 0


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of pairs that are read, changed, and reused."""
    read, again = ("search", 0, PLAIN), ("search", 1, PLAIN)

    def writes(kind: str, *values: int) -> tuple[Call, ...]:
        return calls(*((kind, PLAIN, value) for value in values))

    return [
        _scenario("read-and-write", variant, calls(read, read), writes("replace", 11, 12)),
        _scenario("read-when-open", variant, calls(("wait", 0, PLAIN)), writes("replace", 11, 12)),
        _scenario("two-writers", variant, writes("replace", 11, 12), writes("replace", 21, 22)),
        _scenario("two-upgrades", variant, writes("add", 1, 2), writes("add", 3)),
        _scenario(
            "two-writers-and-a-reader",
            variant,
            writes("replace", 11),
            writes("add", 1),
            calls(again),
        ),
        _scenario(
            "nothing-changed", variant, calls(read), (*writes("look", 0), *writes("replace", 11))
        ),
        _scenario(
            "node-of-two-uses",
            variant,
            calls(("follow", 0, LINK)),
            calls(("renew", LINK, 11), ("renew", LINK, 12)),
        ),
        _scenario(
            "wait-for-obsolete",
            variant,
            calls(("claim", NODE), ("claim", NODE)),
            calls(("renew", LINK, 11)),
        ),
        # A number from the node's former use, which no check of a link guards any more.
        _scenario("old-number", variant, calls(("inside", OTHER)), calls(("renew", LINK, 11))),
    ]


def _scenario(name: str, variant: Variant, *programs: tuple[Call, ...]) -> Scenario:
    on = variant.operations.calls

    def make() -> _Pairs:
        locks = variant.operations.make_state(4)
        # OTHER is an unused node.
        assert on["acquire"](locks, OTHER)
        on["retire"](locks, OTHER)
        pairs = np.full(4 * LINE_WORDS, FIRST)
        pairs[LINK * LINE_WORDS] = NODE
        return _Pairs(locks, racy(pairs), aligned_words(LINE_WORDS))

    def perform(state: _Pairs, call: Call) -> Any:
        return _PERFORM[call.name](on, state, *call.arguments)

    def finish(state: _Pairs, history: list[HistoryOperation]) -> None:
        made = sum(o.name in ("replace", "add") and o.answer != RESTART for o in history)
        assert int(state.counter[0]) == made, f"{state.counter[0]} changes of {made} are left"
        claims = [o.answer for o in history if o.name == "claim"]
        assert state.counter[1] == sum(claims), "two threads have had one lock at once"

    return Scenario(
        name=name,
        make=make,
        programs=programs,
        perform=perform,
        specification=_PairsSpecification,
        finish=finish,
        invariants=lambda state: variant.operations.check_invariants(state.locks),
        retry=frozenset({RESTART}),
        declines=frozenset({RESTART}),
    )


class _PairsSpecification(RegistersSpecification):
    """Registers with addition; a call that answers RESTART has no effect."""

    def __init__(self, count: int = 4, first: int = FIRST) -> None:
        super().__init__(count, first)

    def accepts(self, thread: int, name: str, arguments: tuple, answer: Any) -> bool:
        """Perform a call; False when `answer` is wrong."""
        if name == "inside":
            return answer != TORN
        if answer == RESTART or name in ("look", "claim"):
            return True
        if name in ("wait", "follow"):
            name = "search"
        if name == "renew":
            name = "replace"
        if name == "add":
            word, more = arguments
            self._values[word] += more
            return answer == self._values[word]
        return super().accepts(thread, name, arguments, answer)

    def answers(self, thread: int, name: str, arguments: tuple) -> list[Any]:
        """Return the answers that a call may give now."""
        if name in ("look", "claim"):
            return [RESTART, ACCEPTED, FULL]
        if name == "inside":
            return [RESTART]
        if name == "add":
            return [RESTART, self._values[arguments[0]] + arguments[1]]
        if name in ("wait", "follow"):
            return [RESTART, self._values[arguments[1]]]
        return [
            RESTART,
            *super().answers(thread, "replace" if name == "renew" else name, arguments),
        ]

    def copy(self) -> _PairsSpecification:
        """Return another in the same state."""
        other = _PairsSpecification()
        other._values = list(self._values)
        return other


# --- the calls of the threads ---------------------------------------------------------------------


def _pair(state: _Pairs, pair: int) -> int:
    """Return the value of a pair, TORN where its words differ."""
    first = int(state.pairs[pair * LINE_WORDS])
    return first if int(state.pairs[pair * LINE_WORDS + 1]) == first else TORN


def _set_pair(state: _Pairs, pair: int, value: int) -> None:
    for word in range(2):
        state.pairs[pair * LINE_WORDS + word] = value


def _search(on: Any, state: _Pairs, thread: int, pair: int, begin: str = "read_begin") -> int:
    version = on[begin](state.locks, pair)
    if version == RESTART:
        return RESTART
    value = _pair(state, pair)
    return value if on["check"](state.locks, pair, version) else RESTART


def _wait(on: Any, state: _Pairs, thread: int, pair: int) -> int:
    return _search(on, state, thread, pair, "read_when_open")


def _inside(on: Any, state: _Pairs, node: int) -> int:
    return _search(on, state, 0, node)


def _change(state: _Pairs, pair: int, value: int) -> None:
    _set_pair(state, pair, value)
    # Plain: a data race when two threads have the lock.
    state.counter[0] = int(state.counter[0]) + 1


def _replace(on: Any, state: _Pairs, pair: int, value: int) -> int:
    assert on["acquire"](state.locks, pair)
    _change(state, pair, value)
    on["release"](state.locks, pair)
    return ACCEPTED


def _add(on: Any, state: _Pairs, pair: int, more: int) -> int:
    """Add to the value read before the lock was taken: the sum, or RESTART."""
    version = on["read_when_open"](state.locks, pair)
    value = _pair(state, pair)
    if not on["upgrade"](state.locks, pair, version):
        return RESTART
    _change(state, pair, value + more)
    on["release"](state.locks, pair)
    return value + more


def _look(on: Any, state: _Pairs, pair: int, unused: int) -> int:
    """Take the lock and change nothing: a version from before stays valid."""
    version = on["read_when_open"](state.locks, pair)
    if not on["upgrade"](state.locks, pair, version):
        return RESTART
    on["release_unchanged"](state.locks, pair)
    assert on["check"](state.locks, pair, version), (
        "a lock given back unchanged has another version"
    )
    return ACCEPTED


def _follow(on: Any, state: _Pairs, thread: int, link: int) -> int:
    """Return the value of the node that the link leads to, or RESTART."""
    since = on["read_when_open"](state.locks, link)
    node = int(state.pairs[link * LINE_WORDS])
    if not on["check"](state.locks, link, since):
        return RESTART
    version = on["read_when_open"](state.locks, node)
    if version == RESTART or not on["check"](state.locks, link, since):
        return RESTART
    value = _pair(state, node)
    return value if on["check"](state.locks, node, version) else RESTART


def _renew(on: Any, state: _Pairs, link: int, value: int) -> int:
    """Let the link lead to the other node, with a new value, and retire the first."""
    assert on["acquire"](state.locks, link)
    old = int(state.pairs[link * LINE_WORDS])
    new = NODE + OTHER - old
    assert on["acquire"](state.locks, old)
    # RELEASE: before the obsolete data changes; pairs with the fence in check.
    fence(RELEASE)
    _set_pair(state, new, value)
    on["reopen"](state.locks, new)
    state.pairs[link * LINE_WORDS] = new
    on["retire"](state.locks, old)
    on["release"](state.locks, link)
    return ACCEPTED


def _claim(on: Any, state: _Pairs, node: int) -> int:
    """Take the lock of a node; return 1, or 0 when the node was obsolete."""
    if not on["acquire"](state.locks, node):
        return 0
    assert int(state.pairs[LINK * LINE_WORDS]) == node, "the lock of an obsolete node was taken"
    state.counter[1] = int(state.counter[1]) + 1
    on["release"](state.locks, node)
    return 1


_PERFORM = {
    "search": _search,
    "wait": _wait,
    "replace": _replace,
    "add": _add,
    "look": _look,
    "follow": _follow,
    "renew": _renew,
    "claim": _claim,
    "inside": _inside,
}
