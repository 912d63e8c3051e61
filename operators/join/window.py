"""The sliding windows of both streams with an index over each, whole or as one thread's share.

Every join over indexes processes a tuple in the same steps (section 2.2 of "Parallel Index-based
Stream Join on a Multicore CPU", figure 1)::

    r arrives:   1. search I_S for keys in [r - diff, r + diff]      --> pairs
                 2. delete tuples that have left W_R from I_R
                 3. insert r into W_R and I_R

A window may be kept in shares: of n threads the one with number i keeps the tuples at positions
i, i + n, i + 2 n, ... and an index over them. Every thread processes every tuple, in one order, so
that each of them knows which tuples have left::

    position   0    1    2    3    4    5    6    7    8        window of 5 after tuple 8
               left left left left [------ window ------]       3 shares, number 1 keeps 1, 4 and 7,
                    ^              ^              ^             of which 1 has left: FIRST is 1

Whether windows are whole is a compile-time constant: a whole one needs no test of ownership.

Invariant (``check_invariants``): an index holds exactly the tuples of its window that are kept in
this share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED, FULL, UsageError
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_array, aligned_words
from operators.core.vectors import peek, poke
from operators.index.family import IndexOperations, check_window
from operators.index.window import SIZE
from operators.join.family import INDEX_FULL

# Words of a window: the number of processed tuples of the stream, the number of kept tuples that
# have left, and the ring slots of the next and the oldest tuple.
NEXT, FIRST, NEXT_SLOT, FIRST_SLOT = range(4)


class Window(NamedTuple):
    """One stream's sliding window, or a thread's share of it, and its index."""

    index: Any  # the index's state, or a thread's view of it
    keys: np.ndarray  # the kept tuples: a ring, the oldest first
    times: np.ndarray  # of a time window the same, else one unused word
    words: np.ndarray  # see above


class Windows(NamedTuple):
    """The windows of both streams, and the band of the join."""

    r: Window
    s: Window  # in a self join: `r` again
    place: np.ndarray  # passed from `find` to `scan` of an index
    length: int  # tuples of a whole window
    span: int  # ticks of a time window, else 0
    number: int  # of the share
    shares: int
    half_width: int
    lowest: int  # the range of keys, to which bands are clipped
    highest: int
    two_way: int


def make_windows(
    index: IndexOperations,
    window: int,
    half_width: int,
    *,
    two_way: bool = True,
    key_bits: int = 32,
    span: int = 0,
    number: int = 0,
    shares: int = 1,
    spare: int = 0,
    **parameters: Any,
) -> Windows:
    """Return empty windows, or one share of them; `parameters` are those of the index.

    There is room for `spare` tuples beyond a window, for tuples that leave it late.

    The indexes are states: a thread calls operations on one of ``views_of`` these windows.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    key_type = check_window(window, key_bits)
    if span < 0:
        raise UsageError(f"the ticks of a window are above 0, received {span}")
    room = -(-(window + spare) // shares)

    def make_window() -> Window:
        state = index.make_state(room, key_bits, **parameters)
        times = aligned_words(room if span else 1)
        return Window(state, aligned_array(room, key_type), times, aligned_words(LINE_WORDS))

    r = make_window()
    limits = np.iinfo(key_type)
    return Windows(
        r=r,
        s=make_window() if two_way else r,
        place=aligned_words(index.places(r.index)),
        length=window,
        span=span,
        number=number,
        shares=shares,
        half_width=widest(half_width, limits),
        lowest=int(limits.min),
        highest=int(limits.max),
        two_way=int(two_way),
    )


def views_of(index: IndexOperations, windows: Windows, threads: int) -> tuple[Windows, ...]:
    """Return the windows as each of some threads uses them.

    Each thread has a view of each index and ``place``; keys, times and words are shared.

    Raises
    ------
    UsageError
        When the index does not support so many threads.
    """
    of_r = index.views(windows.r.index, threads)
    of_s = index.views(windows.s.index, threads) if windows.two_way else of_r
    return tuple(
        windows._replace(
            r=windows.r._replace(index=r),
            s=windows.s._replace(index=s),
            place=aligned_words(index.places(r)),
        )
        for r, s in zip(of_r, of_s, strict=True)
    )


def check_half_width(half_width: int) -> None:
    """Refuse an invalid half width.

    Raises
    ------
    UsageError
        When it is below 0, or has more than 63 bits.
    """
    if not 0 <= half_width <= np.iinfo(np.int64).max:
        raise UsageError(f"a half width is at least 0 and below 2**63, received {half_width}")


def widest(half_width: int, limits: np.iinfo) -> int:
    """Return the half width, limited to the range of the keys' type.

    Raises
    ------
    UsageError
        As ``check_half_width`` does.
    """
    check_half_width(half_width)
    return min(half_width, int(limits.max) - int(limits.min))


@inlined
def low_of(windows, key):
    """Return the lower end of a key's band, within the range of keys."""
    return key - windows.half_width if key > windows.lowest + windows.half_width else windows.lowest


@inlined
def high_of(windows, key):
    """Return the upper end of a key's band, within the range of keys."""
    if key < windows.highest - windows.half_width:
        return key + windows.half_width
    return windows.highest


@inlined
def behind(slot, slots):
    """Return the next slot of a ring."""
    return 0 if slot + 1 == slots else slot + 1


@inlined
def seen_of(windows, side):
    """Return the number of processed tuples of a stream; a self join has none of S."""
    return windows.r.words[NEXT] if side == 0 else windows.s.words[NEXT] * windows.two_way


@inlined
def seen_of_both(windows):
    """Return the number of processed tuples of both streams."""
    return seen_of(windows, 0) + seen_of(windows, 1)


class Steps(NamedTuple):
    """The steps of a join over one index, as inlined functions."""

    advance: Callable[..., None]  # a time window follows the clock, on both sides
    find: Callable[..., None]  # step 1: the operation of the index
    scan: Callable[..., int]
    delete: Callable[..., None]  # step 2
    insert: Callable[..., int]  # step 3
    expire: Callable[..., None]  # instead of step 2, if one stream may be late


def make_steps(index: IndexOperations, whole: bool) -> Steps:
    """Return the steps of a join over an index, with `whole` windows or with a share of them."""
    index_scan, index_insert, index_remove = index.scan, index.insert, index.remove

    @inlined
    def oldest_of(windows, mine):
        """Return the position of the oldest kept tuple, or of the next one if there is none."""
        first = mine.words[FIRST]
        return first if whole else first * windows.shares + windows.number

    @inlined
    def expire_one(windows, mine):
        first, slot = mine.words[FIRST], mine.words[FIRST_SLOT]
        mine.words[FIRST] = first + 1
        mine.words[FIRST_SLOT] = behind(slot, windows.length if whole else len(mine.keys))
        index_remove(mine.index, peek(mine.keys, slot), first)

    @inlined
    def expire_by_time(windows, mine, horizon):
        while oldest_of(windows, mine) < mine.words[NEXT]:
            if peek(mine.times, mine.words[FIRST_SLOT]) >= horizon:
                break
            expire_one(windows, mine)

    @inlined
    def advance(windows, mine, other, time):
        """Delete tuples that have left a time window, on both sides, before a tuple's search."""
        if windows.span > 0:
            expire_by_time(windows, other, time - windows.span)
            if windows.two_way:
                expire_by_time(windows, mine, time - windows.span)

    @inlined
    def expire(windows, mine, first, horizon):
        """Delete tuples before a position, or in a time window before a time."""
        if windows.span > 0:
            expire_by_time(windows, mine, horizon)
        else:
            while oldest_of(windows, mine) < min(first, mine.words[NEXT]):
                expire_one(windows, mine)

    @inlined
    def scan(windows, other, low, high, out):
        """Write the positions of partners."""
        count = index_scan(other.index, low, high, windows.place, out)
        if not whole:
            for at in range(count):
                poke(out, at, peek(out, at) * windows.shares + windows.number)
        return count

    @inlined
    def delete(windows, mine):
        """Step 2: delete the tuple that the next one displaces, if it is kept here."""
        if mine.words[NEXT] - oldest_of(windows, mine) == windows.length:
            expire_one(windows, mine)

    @inlined
    def insert(windows, mine, key, time):
        """Step 3: insert a tuple into window and index, if it is kept here."""
        position = mine.words[NEXT]
        mine.words[NEXT] = position + 1
        if not whole and position % windows.shares != windows.number:
            return ACCEPTED
        slot = mine.words[NEXT_SLOT]
        poke(mine.keys, slot, key)
        if windows.span > 0:
            poke(mine.times, slot, time)
        mine.words[NEXT_SLOT] = behind(slot, windows.length if whole else len(mine.keys))
        return index_insert(mine.index, key, position if whole else position // windows.shares)

    return Steps(advance, index.find, scan, delete, insert, expire)


def make_process(steps: Steps) -> Callable[..., int]:
    """Return the function that processes a tuple.

    Returns
    -------
    callable
        ``process(windows, side, key, time, out, probing)`` takes the next tuple of a side (0: R,
        1: S; a self join has side 0 alone) and writes the positions of its partners into
        ``out[0:count]``, in no order: the count, or INDEX_FULL. Without `probing` the tuple enters
        the window without a search.
    """
    advance, find, scan, delete, insert, _ = steps

    @inlined
    def process_on(windows, mine, other, key, time, out, probing):
        advance(windows, mine, other, time)
        count = 0
        if probing:
            find(other.index, low_of(windows, key), windows.place)
            count = scan(windows, other, low_of(windows, key), high_of(windows, key), out)
        delete(windows, mine)
        return count if insert(windows, mine, key, time) != FULL else INDEX_FULL

    @inlined
    def process(windows, side, key, time, out, probing):
        """Process the next tuple of a side."""
        if side == 0:
            return process_on(windows, windows.r, windows.s, key, time, out, probing)
        return process_on(windows, windows.s, windows.r, key, time, out, probing)

    return process


def make_timed_process(
    steps: Steps, merge_ns: Callable[..., int], note: Callable[..., None]
) -> Callable[..., int]:
    """Return ``process(windows, side, key, time, out, notes)``, with a clock between the parts.

    `note` is that of `operators.join.family.Timing`.
    """
    advance, find, scan, delete, insert, _ = steps

    @inlined
    def process_on(windows, mine, other, key, time, out, notes):
        advance(windows, mine, other, time)
        low, high = low_of(windows, key), high_of(windows, key)
        begin = now()
        find(other.index, low, windows.place)
        searched = now()
        count = scan(windows, other, low, high, out)
        scanned = now()
        delete(windows, mine)
        deleted = now()
        merging = merge_ns(mine.index)
        status = insert(windows, mine, key, time)
        # A merge belongs to all tuples since the last one, and is timed separately.
        inserted = now() - (merge_ns(mine.index) - merging)
        note(notes, inserted - deleted, deleted - scanned, searched - begin, scanned - searched)
        return count if status != FULL else INDEX_FULL

    @inlined
    def process(windows, side, key, time, out, notes):
        """Process the next tuple of a side with a clock between its parts."""
        if side == 0:
            return process_on(windows, windows.r, windows.s, key, time, out, notes)
        return process_on(windows, windows.s, windows.r, key, time, out, notes)

    return process


# --- quiescent ----------------------------------------------------------------------------------


def each_window(windows: Windows) -> tuple[Window, ...]:
    """Return the window of each stream; a self join has one."""
    return (windows.r, windows.s) if windows.two_way else (windows.r,)


def footprint_of(index: IndexOperations, kept: Sequence[Window]) -> dict[str, int]:
    """Return the bytes in use of some windows by component; "window" is the keys."""
    total = {"window": sum(each.keys.nbytes for each in kept)}
    for each in kept:
        for name, used in index.footprint(each.index).items():
            total[name] = total.get(name, 0) + used
    return total


def check_invariants(index: IndexOperations, windows: Windows) -> None:
    """Check windows in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names the share.
    """
    for mine in each_window(windows):
        index.check_invariants(mine.index)
        share = f"share {windows.number}"
        seen, first = int(mine.words[NEXT]), int(mine.words[FIRST])
        if not windows.span:
            left = _kept_of(windows, max(0, seen - windows.length))
            assert first == left, f"{share}: {first} of {left} tuples have left"
        kept = _kept_of(windows, seen) - first
        assert 0 <= kept <= len(mine.keys), f"{share} keeps {kept} tuples"
        size = int(mine.index.words[SIZE])
        assert size == kept, f"{share}: the index has {size} of {kept} tuples"


def _kept_of(windows: Windows, seen: int) -> int:
    """Return the number of the first `seen` tuples of a stream that this share keeps."""
    return (seen + windows.shares - 1 - windows.number) // windows.shares
