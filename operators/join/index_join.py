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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from operators import registry
from operators.contract import ACCEPTED, FULL, UsageError, Variant
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek, poke
from operators.index.family import IndexOperations, check_window
from operators.index.immutable_tree import aligned_array
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
        if half_width < 0:
            raise UsageError(f"a half width is at least 0, received {half_width}")
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
            half_width=min(half_width, int(limits.max)),
            span=span,
            lowest=int(limits.min),
            highest=int(limits.max),
            two_way=int(two_way),
        )

    return make_state


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


def make_steps(operations):
    """Return the steps of a join over the operations of an index, as inlined functions."""
    index_insert, index_remove = operations.insert, operations.remove
    index_find, index_scan = operations.find, operations.scan

    @inlined
    def expire_one(side, window):
        """Delete the oldest tuple of a side."""
        first, place = side.words[FIRST], side.words[FIRST_PLACE]
        side.words[FIRST] = first + 1
        side.words[FIRST_PLACE] = behind(place, window)
        index_remove(side.index, peek(side.keys, place), first)

    @inlined
    def expire_by_time(side, window, horizon):
        """Delete the tuples of a side that came before `horizon`."""
        while side.words[FIRST] < side.words[NEXT]:
            if side.times[side.words[FIRST_PLACE]] >= horizon:
                break
            expire_one(side, window)

    @inlined
    def delete(state, side):
        """Step 2: delete what has left the window of a side that gets another tuple."""
        if side.words[NEXT] - side.words[FIRST] == state.window:
            expire_one(side, state.window)

    @inlined
    def insert(state, side, key, time):
        """Step 3: insert a tuple into window and index of its side."""
        position, place = side.words[NEXT], side.words[NEXT_PLACE]
        poke(side.keys, place, key)
        if state.span > 0:
            side.times[place] = time
        side.words[NEXT] = position + 1
        side.words[NEXT_PLACE] = behind(place, state.window)
        return index_insert(side.index, key, position)

    return expire_by_time, delete, insert, index_find, index_scan


def make_operations(index: IndexOperations) -> JoinOperations:
    """Return the operations of a join over an index."""
    expire_by_time, delete, insert, find, scan = make_steps(index)
    index_merge_ns = index.merge_ns

    @inlined
    def advance(state, own, other, time):
        """Let a window of time follow the clock, on both sides, before a tuple looks for pairs."""
        if state.span > 0:
            expire_by_time(other, state.window, time - state.span)
            if state.two_way:
                expire_by_time(own, state.window, time - state.span)

    @inlined
    def process_on(state, own, other, key, time, out):
        advance(state, own, other, time)
        low, high = low_of(state, key), high_of(state, key)
        find(other.index, low, state.place)
        count = scan(other.index, low, high, state.place, out)
        delete(state, own)
        return count if insert(state, own, key, time) != FULL else INDEX_FULL

    @inlined
    def process(state, side, key, time, out):
        """Join the next tuple of a side."""
        if side == 0:
            return process_on(state, state.r, state.s, key, time, out)
        return process_on(state, state.s, state.r, key, time, out)

    @inlined
    def prefill_on(state, own, key, time):
        delete(state, own)
        return ACCEPTED if insert(state, own, key, time) != FULL else INDEX_FULL

    @inlined
    def prefill(state, side, key, time):
        """Let the next tuple of a side into its window, without looking for partners."""
        if side == 0:
            return prefill_on(state, state.r, key, time)
        return prefill_on(state, state.s, key, time)

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
        merging = index_merge_ns(own.index)
        status = insert(state, own, key, time)
        inserted = now() - (index_merge_ns(own.index) - merging)
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

    @inlined
    def merge_ns(state):
        """Return the time that merges have taken on both sides."""
        both = index_merge_ns(state.r.index)
        return both + index_merge_ns(state.s.index) if state.two_way else both

    def sides(state: Join) -> tuple[Side, ...]:
        return (state.r, state.s) if state.two_way else (state.r,)

    def footprint(state: Join) -> dict[str, int]:
        """Return the bytes in use of both sides, by component; "window": the sliding windows."""
        total = {"window": sum(side.keys.nbytes for side in sides(state))}
        for side in sides(state):
            for name, used in index.footprint(side.index).items():
                total[name] = total.get(name, 0) + used
        return total

    def inserted(state: Join) -> np.ndarray:
        """Return the tuples that each subindex got, both sides together."""
        return sum(index.inserted(side.index) for side in sides(state))

    def cycle(state: Join) -> int:
        """Return the tuples of a side between two merges, 1 where there are none."""
        return getattr(state.r.index, "limit", 1)

    def check_invariants(state: Join) -> None:
        """Check both indexes."""
        for side in sides(state):
            index.check_invariants(side.index)

    return JoinOperations(
        maker_of(index), process, prefill, stamped, merge_ns, footprint, inserted, cycle,
        check_invariants,
    )  # fmt: skip


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
