"""The index-based window join (IBWJ): an index for each window, one thread.

Source: section 2.2 of "Parallel Index-based Stream Join on a Multicore CPU", figure 1::

    r arrives:   1. search I_S for keys in [r - diff, r + diff]      --> pairs
                 2. delete from I_R what has left W_R
                 3. insert r into W_R and I_R

The nested-loop join is the same with an index that compares every key. A variant is a line of the
table at the end: the join over one index.

Invariant (``check_invariants``): each index holds exactly the tuples of its sliding window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators import registry
from operators.contract import FULL, UsageError, Variant
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_array, aligned_words
from operators.core.vectors import peek, poke
from operators.index.family import IndexOperations, check_window
from operators.join.family import INDEX_FULL, JoinOperations

# Words of a side: the positions of the next tuple and of the oldest in the window, and the places
# of both in the ring.
NEXT, FIRST, NEXT_PLACE, FIRST_PLACE = range(4)
# What `spent` counts, in ns.
INSERT_NS, DELETE_NS, SEARCH_NS, SCAN_NS = range(4)


class Side(NamedTuple):
    """One stream's sliding window and its index."""

    index: Any  # its state
    keys: np.ndarray  # (window): the sliding window, a ring by position
    times: np.ndarray  # (window): of a window of time, else one word that nobody reads
    words: np.ndarray  # see above


class Join(NamedTuple):
    """The sides, and what all probes have in common."""

    r: Side
    s: Side  # of a self join: the side of R once more
    place: np.ndarray  # between `find` and `scan` of an index
    window: int
    half_width: int
    span: int
    lowest: int  # the range of keys: a band that goes beyond it ends there
    highest: int
    two_way: int


def make_side(index, window: int, key_type: type, span: int) -> Side:
    """Return an empty window over an index."""
    times = aligned_words(window if span else 1)
    return Side(index, aligned_array(window, key_type), times, aligned_words(LINE_WORDS))


def maker_of(operations: IndexOperations) -> Callable[..., Join]:
    """Return ``make_state`` of a join over an index with these operations."""

    def make_state(
        window: int,
        half_width: int,
        *,
        two_way: bool = True,
        key_bits: int = 32,
        span: int = 0,
        **parameters: Any,
    ) -> Join:
        """Return an empty join.

        Raises
        ------
        UsageError
            When a parameter is out of its limits.
        """
        key_type = check_window(window, key_bits)
        if span < 0:
            raise UsageError(f"the ticks of a window are above 0, received {span}")

        def side() -> Side:
            index = operations.make_state(window, key_bits, **parameters)
            return make_side(index, window, key_type, span)

        r = side()
        limits = np.iinfo(key_type)
        return Join(
            r=r,
            s=side() if two_way else r,
            place=aligned_words(operations.places(r.index)),
            window=window,
            half_width=widest(half_width, limits),
            span=span,
            lowest=int(limits.min),
            highest=int(limits.max),
            two_way=int(two_way),
        )

    return make_state


def widest(half_width: int, limits: np.iinfo) -> int:
    """Return a half width that asks no more of keys of some type: as wide as their range, at most.

    Raises
    ------
    UsageError
        When it is below 0, or has more than 63 bits.
    """
    if not 0 <= half_width <= np.iinfo(np.int64).max:
        raise UsageError(f"a half width is at least 0 and below 2**63, received {half_width}")
    return min(half_width, int(limits.max) - int(limits.min))


@inlined
def low_of(state, key):
    """Return the lower end of a key's band, within the range of keys."""
    return key - state.half_width if key > state.lowest + state.half_width else state.lowest


@inlined
def high_of(state, key):
    """Return the upper end of a key's band, within the range of keys."""
    return key + state.half_width if key < state.highest - state.half_width else state.highest


@inlined
def behind(place, window):
    """Return the place behind one of the ring."""
    return 0 if place + 1 == window else place + 1


class Steps(NamedTuple):
    """The steps of a join over one index, as inlined functions."""

    advance: Callable[..., None]  # a window of time follows the clock, on both sides
    find: Callable[..., None]  # step 1, the index's
    scan: Callable[..., int]
    delete: Callable[..., None]  # step 2
    insert: Callable[..., int]  # step 3


def make_steps(index: IndexOperations) -> Steps:
    """Return the steps of a join over an index."""
    index_insert, index_remove = index.insert, index.remove

    @inlined
    def expire_one(side, window):
        first, place = side.words[FIRST], side.words[FIRST_PLACE]
        side.words[FIRST] = first + 1
        side.words[FIRST_PLACE] = behind(place, window)
        index_remove(side.index, peek(side.keys, place), first)

    @inlined
    def expire_by_time(side, window, horizon):
        while side.words[FIRST] < side.words[NEXT]:
            if peek(side.times, side.words[FIRST_PLACE]) >= horizon:
                break
            expire_one(side, window)

    @inlined
    def advance(state, own, other, time):
        """Delete what has left a window of time, on both sides, before a tuple looks for pairs."""
        if state.span > 0:
            expire_by_time(other, state.window, time - state.span)
            if state.two_way:
                expire_by_time(own, state.window, time - state.span)

    @inlined
    def delete(state, side):
        """Step 2: delete what leaves the window of a side that gets another tuple."""
        if side.words[NEXT] - side.words[FIRST] == state.window:
            expire_one(side, state.window)

    @inlined
    def insert(state, side, key, time):
        """Step 3: insert a tuple into window and index of its side."""
        position, place = side.words[NEXT], side.words[NEXT_PLACE]
        poke(side.keys, place, key)
        if state.span > 0:
            poke(side.times, place, time)
        side.words[NEXT] = position + 1
        side.words[NEXT_PLACE] = behind(place, state.window)
        return index_insert(side.index, key, position)

    return Steps(advance, index.find, index.scan, delete, insert)


def make_process(steps: Steps) -> Callable[..., int]:
    """Return ``process`` of a join with these steps."""
    advance, find, scan, delete, insert = steps

    @inlined
    def process_on(state, own, other, key, time, out, probing):
        advance(state, own, other, time)
        count = 0
        if probing:
            find(other.index, low_of(state, key), state.place)
            count = scan(other.index, low_of(state, key), high_of(state, key), state.place, out)
        delete(state, own)
        return count if insert(state, own, key, time) != FULL else INDEX_FULL

    @inlined
    def process(state, side, key, time, out, probing):
        """Join the next tuple of a side."""
        if side == 0:
            return process_on(state, state.r, state.s, key, time, out, probing)
        return process_on(state, state.s, state.r, key, time, out, probing)

    return process


def make_stamped(steps: Steps, merge_ns: Callable[..., int]) -> Callable[..., int]:
    """Return ``stamped`` of a join with these steps: the same with a clock beside each."""
    advance, find, scan, delete, insert = steps

    @inlined
    def stamped_on(state, own, other, key, time, out, spent):
        advance(state, own, other, time)
        low, high = low_of(state, key), high_of(state, key)
        begin = now()
        find(other.index, low, state.place)
        searched = now()
        count = scan(other.index, low, high, state.place, out)
        scanned = now()
        delete(state, own)
        deleted = now()
        merging = merge_ns(own.index)
        status = insert(state, own, key, time)
        # A merge is told apart: it belongs to all tuples since the last one.
        inserted = now() - (merge_ns(own.index) - merging)
        spent[SEARCH_NS] += searched - begin
        spent[SCAN_NS] += scanned - searched
        spent[DELETE_NS] += deleted - scanned
        spent[INSERT_NS] += inserted - deleted
        return count if status != FULL else INDEX_FULL

    @inlined
    def stamped(state, side, key, time, out, spent):
        """Join the next tuple of a side with a clock beside each step."""
        if side == 0:
            return stamped_on(state, state.r, state.s, key, time, out, spent)
        return stamped_on(state, state.s, state.r, key, time, out, spent)

    return stamped


def sides_of(state: Join) -> tuple[Side, ...]:
    """Return the sides of a join: one of a self join."""
    return (state.r, state.s) if state.two_way else (state.r,)


def footprint_of(
    index: IndexOperations, states: Sequence[Any], keys: Sequence[np.ndarray]
) -> dict[str, int]:
    """Return the bytes in use of all `states` by component; "window": the `keys` of windows."""
    total = {"window": sum(each.nbytes for each in keys)}
    for state in states:
        for name, used in index.footprint(state).items():
            total[name] = total.get(name, 0) + used
    return total


def make_operations(index: IndexOperations) -> JoinOperations:
    """Return the operations of a join over an index."""
    steps = make_steps(index)

    def merge_ns(state: Join) -> int:
        return sum(int(index.merge_ns(side.index)) for side in sides_of(state))

    def footprint(state: Join) -> dict[str, int]:
        sides = sides_of(state)
        return footprint_of(index, [side.index for side in sides], [side.keys for side in sides])

    def inserted(state: Join) -> np.ndarray:
        return np.concatenate([index.inserted(side.index) for side in sides_of(state)])

    def cycle(state: Join) -> int:
        return index.cycle(state.r.index)

    def check_invariants(state: Join) -> None:
        for side in sides_of(state):
            index.check_invariants(side.index)
            assert int(side.words[NEXT] - side.words[FIRST]) <= state.window, "a window too full"

    return JoinOperations(
        make_state=maker_of(index),
        process=make_process(steps),
        stamped=make_stamped(steps, index.merge_ns),
        merge_ns=merge_ns,
        footprint=footprint,
        inserted=inserted,
        cycle=cycle,
        check_invariants=check_invariants,
    )


def _variant(index: Variant) -> Variant:
    return Variant(
        id=index.id,
        family="join",
        title=index.title,
        paper="pim_tree",
        section=index.section,
        operations=make_operations(index.operations),
        order="pairs in the order of arrival of the probing tuple",
        progress="blocking",
        threads={"joiner": "one"},
        capacity="the tuples of a window",
        parameters=index.parameters,
        look=index.look,
        extended=index.extended,
        extends=index.extends,
        shown=index.shown,
    )


VARIANTS = tuple(_variant(index) for index in registry.declared_in("index"))
