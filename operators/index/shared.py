"""The protocol of an index that several threads use at once, and the same index for one thread.

Source: sections 3.3.3 and 4 of "Parallel Index-based Stream Join on a Multicore CPU". Tuples enter
in approximately the order of their positions, inserted by whichever thread has processed them, and
leave long after the last search that may ask for them (*delayed deletes*). So an index does not
know the bounds of the window. Each search gives the range of positions that it requests, from the
earliest tuple of its window, t_e, up to the *edge tuple*, before which all tuples are indexed::

    position     t_e                      edge             t_l
                  |------ the index ------|---- unordered --|      what a tuple meets
       .. expired |  all indexed          |  there or not   |

An index that merges (`Merges`) does so in stages that the join drives, with or without concurrent
searches (section 4.2)::

    begin     nobody else uses the index     returns the number of pieces
    count     any thread, a piece            nobody inserts; searches go on
    place     one thread                     nobody inserts; searches go on
    copy      any thread, a piece            nobody inserts; searches go on
    finish    one thread                     nobody inserts; searches go on
    swap      nobody else uses the index     publishes the merged tree as the index
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from operators.contract import ACCEPTED
from operators.core.atomics import now
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.index.family import (
    MASK_32,
    IndexOperations,
    every_tuple,
    no_subindexes,
    one_view,
    position_of,
)
from operators.index.window import NEWEST, OLDEST, SIZE, make_window, note_inserted, note_removed


class Merges(NamedTuple):
    """The stages of a merge: each takes a view of the index.

    ``is_due(view)`` tells whether a merge is due; any thread may ask, at any time.
    ``begin(view, oldest)`` starts a merge when nobody asks for tuples before the position `oldest`
    any more, and returns the number of pieces of work. ``count(view, piece)``, ``place(view)``,
    ``copy(view, piece)``, ``finish(view)`` and ``swap(view)`` follow in this order, with each piece
    from 0 on once. The caller orders memory: the writes of one stage happen before the next stage.
    """

    is_due: Callable[..., bool]
    begin: Callable[..., int]
    count: Callable[..., None]
    place: Callable[..., None]
    copy: Callable[..., None]
    finish: Callable[..., None]
    swap: Callable[..., None]


class SharedIndexOperations(NamedTuple):
    """The operations of an index that several threads use at once.

    ``make_state(window, slack, key_bits, threads, **parameters)`` returns a NamedTuple of arrays.
    `window` is the most tuples that a search may ask for. Without merges, at most
    ``window + slack`` tuples are inserted and not yet removed at any time. With merges, at most
    ``cycle(state) + slack`` tuples are inserted from one swap, or from the start, to the next
    ``begin``, and at most ``window + slack`` are requested when a merge begins.
    ``views(state, threads)`` returns a view for each thread, all of one type; the operations below
    take the view of the calling thread.

    ``enter(view)`` and ``leave(view)`` bracket all accesses of a thread to the index, one task at a
    time: memory that the thread may read is not reused between the two.

    ``insert(view, key, position)`` indexes a tuple: ACCEPTED, or FULL if there was no room.
    ``remove(view, key, position)`` deletes a tuple that was inserted, has expired and is not
    requested any more; an index that merges does nothing.

    ``find(view, keys, begin, count, places)`` descends for the `count` keys from ``keys[begin]`` on
    and notes where each belongs: the first ``places_of(state)`` words of `places` are for the first
    key, and so on. Descents proceed in lock-step, one level at a time, with every node prefetched
    (`operators.core.prefetch`).

    ``scan(view, low, high, places, at, window, out, count)`` continues from the words that ``find``
    wrote from ``places[at]`` on for `low`. It writes the positions of keys from `low` to `high`
    behind ``out[:count]``, in no order, each once, and returns the new count. The requested
    positions are those from the sequence ``window[OLDEST]`` to ``window[NEWEST]``
    (`operators.index.window`). Other threads, and this one, may have changed the index since
    ``find``, except by a swap; all requested entries are found nevertheless. `out` has room for
    them and one more vector.

    ``merges`` are the stages of a merge, None if there are none.

    ``footprint``, ``inserted``, ``cycle`` and ``check_invariants`` are those of
    `operators.index.family.IndexOperations`, over the state and at rest; ``inserted`` and ``cycle``
    are None for an index without merges. ``entries(state)`` returns the entries at rest: a sorted
    list of (key, sequence); plain Python.
    """

    make_state: Callable[..., Any]
    views: Callable[..., tuple]
    enter: Callable[..., None]
    leave: Callable[..., None]
    insert: Callable[..., int]
    remove: Callable[..., None]
    find: Callable[..., None]
    scan: Callable[..., int]
    places_of: Callable[..., int]
    footprint: Callable[..., dict[str, int]]
    check_invariants: Callable[..., None]
    entries: Callable[..., list]
    merges: Merges | None = None
    inserted: Callable[..., Any] | None = None
    cycle: Callable[..., int] | None = None


# --- the same index for one thread ----------------------------------------------------------------

MERGE_NS = 0  # word of `ForOne.spent`: total time of the merges


class ForOne(NamedTuple):
    """A shared index that one thread uses, with the window of tuples in it."""

    index: Any
    mine: Any  # the view of the one thread
    keys: np.ndarray  # the searched key: `find` takes an array
    words: np.ndarray  # see operators.index.window
    spent: np.ndarray  # see above


def operations_for_one(shared: SharedIndexOperations) -> IndexOperations:
    """Return the operations of a shared index for one thread, whose searches ask for the window.

    A tuple is removed when it leaves the window. The insertion at which a merge is due performs the
    whole merge. With a single thread nobody is a step behind, so `slack` is 0.
    """
    insert_shared, remove_shared = shared.insert, shared.remove
    find_shared, scan_shared = shared.find, shared.scan
    enter, leave = shared.enter, shared.leave
    merge = make_merge(shared.merges)

    def make_state(window: int, key_bits: int = 32, **parameters: Any) -> ForOne:
        """Return an empty index; parameters and errors are those of the shared index."""
        index = shared.make_state(window, 0, key_bits, 1, **parameters)
        (view,) = shared.views(index, 1)
        own = aligned_words(LINE_WORDS), make_window(), aligned_words(LINE_WORDS)
        return ForOne(index, view, *own)

    @inlined
    def insert(state, key, position):
        """Index the newest tuple, and merge if a merge is due: ACCEPTED, or FULL."""
        note_inserted(state.words, position)
        enter(state.mine)
        status = insert_shared(state.mine, key, position)
        if status == ACCEPTED:
            merge(state)
        leave(state.mine)
        return status

    @inlined
    def remove(state, key, position):
        """Delete the oldest tuple."""
        note_removed(state.words, position)
        enter(state.mine)
        remove_shared(state.mine, key, position)
        leave(state.mine)

    @inlined
    def find(state, low, place):
        """Descend to where `low` belongs; ``scan`` reads the entries there."""
        state.keys[0] = low
        enter(state.mine)
        find_shared(state.mine, state.keys, 0, 1, place)

    @inlined
    def scan(state, low, high, place, out):
        """Write the positions of the keys from `low` to `high`, and return their number."""
        count = scan_shared(state.mine, low, high, place, 0, state.words, out, 0)
        leave(state.mine)
        return count

    @inlined
    def merge_ns(state):
        """Return the total time of the merges."""
        return state.spent[MERGE_NS]

    def over_index(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda state: function(state.index)

    def check_invariants(state: ForOne) -> None:
        """Check the index, and that it holds the tuples of the window.

        Raises
        ------
        AssertionError
            When an invariant does not hold.
        """
        shared.check_invariants(state.index)
        behind = int(state.words[NEWEST]) + 1
        check_holds(shared, state.index, behind - int(state.words[SIZE]), behind)
        due = shared.merges is not None and shared.merges.is_due(state.mine)
        assert not due, "a merge that is due was not made"

    return IndexOperations(
        make_state=make_state,
        insert=insert,
        remove=remove,
        find=find,
        scan=scan,
        merge_ns=merge_ns,
        places=over_index(shared.places_of),
        footprint=over_index(shared.footprint),
        check_invariants=check_invariants,
        inserted=over_index(shared.inserted) if shared.inserted else no_subindexes,
        cycle=over_index(shared.cycle) if shared.cycle else every_tuple,
        views=one_view,
        shared=shared,
    )


def make_merge(merges: Merges | None) -> Callable[..., None]:
    """Return ``merge(state)``, which runs all stages of a merge by one thread if one is due."""
    if merges is None:

        @inlined
        def merge_nothing(state):
            """Do nothing: the index has no merges."""

        return merge_nothing
    is_due, begin, count, place, copy, finish, swap = merges

    @inlined
    def merge(state):
        if is_due(state.mine):
            began = now()
            oldest = position_of(state.words[OLDEST], state.words[NEWEST])
            pieces = begin(state.mine, oldest)
            for piece in range(pieces):
                count(state.mine, piece)
            place(state.mine)
            for piece in range(pieces):
                copy(state.mine, piece)
            finish(state.mine)
            swap(state.mine)
            state.spent[MERGE_NS] += now() - began

    return merge


def check_holds(shared: SharedIndexOperations, index: Any, begin: int, end: int) -> None:
    """Check that an index at rest holds the positions from `begin` up to `end`, each once.

    An index without merges has no others; one with merges may also have expired entries.

    Raises
    ------
    AssertionError
        When it does not hold them.
    """
    found = sorted(sequence & MASK_32 for _, sequence in shared.entries(index))
    wanted = sorted(position & MASK_32 for position in range(begin, end))
    if shared.merges is not None:
        asked = set(wanted)
        found = [sequence for sequence in found if sequence in asked]
    assert found == wanted, f"the index holds {len(found)} entries, and {len(wanted)} are asked for"
