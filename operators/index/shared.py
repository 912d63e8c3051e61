"""The protocol of an index that several threads use at once, and the same index for one thread.

Source: sections 3.3.3 and 4 of "Parallel Index-based Stream Join on a Multicore CPU". Tuples enter
in about the order of their positions, by whichever thread has processed them, and leave long after
the last search that may ask for them (*delayed deletes*). So an index does not know what is in the
window: a search says which positions it asks for, those from the earliest tuple of its window, t_e,
up to the *edge tuple*, before which everything is in the index::

    position     t_e                      edge             t_l
                  |------ the index ------|---- unordered --|      what a tuple meets
       .. expired |  all of it is there   |  there or not   |

An index that merges (`Merges`) does so in stages that the join drives, with or without others at
work meanwhile (section 4.2)::

    begin     nobody else uses the index     how many pieces of work there are
    count     any thread, a piece            nobody inserts; searches go on
    place     one thread                     nobody inserts; searches go on
    copy      any thread, a piece            nobody inserts; searches go on
    finish    one thread                     nobody inserts; searches go on
    swap      nobody else uses the index     what was made is the index
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Merges(NamedTuple):
    """The stages of a merge: each takes a view of the index.

    ``is_due(view)`` says whether it is time, by any thread and at any time. ``begin(view, oldest)``
    starts a merge at which what lies before the position `oldest` is asked for by nobody any more,
    and returns how many pieces of work there are; ``count(view, piece)``, ``place(view)``,
    ``copy(view, piece)``, ``finish(view)`` and ``swap(view)`` follow in this order, each piece from
    0 on once. What one stage wrote, the next has behind it: the caller orders memory.
    """

    is_due: Callable[..., bool]
    begin: Callable[..., int]
    count: Callable[..., None]
    place: Callable[..., None]
    copy: Callable[..., None]
    finish: Callable[..., None]
    swap: Callable[..., None]


class SharedIndexOperations(NamedTuple):
    """What an index provides that several threads use at once.

    ``make_state(window, slack, key_bits, threads, **parameters)`` returns a NamedTuple of arrays:
    `window` is the most tuples that a search may ask for, and at most ``window + slack`` have been
    inserted and not been removed at any time. ``views(state, threads)`` returns a view a thread,
    all of one type; the operations below take that of the thread that calls them.

    ``enter(view)`` and ``leave(view)`` bracket whatever a thread does with the index, a task at a
    time: what it may look at is not used again between the two.

    ``insert(view, key, position)`` indexes a tuple: ACCEPTED, or FULL where there was no room.
    ``remove(view, key, position)`` deletes one that was inserted, has expired and is asked for by
    nobody any more; an index that merges does nothing.

    ``find(view, keys, begin, count, places)`` descends for the `count` keys from ``keys[begin]`` on
    and notes where each belongs: that of the first in the first ``places_of(state)`` words of
    `places`, and so on. Several descents are made in lock-step, a level at a time, with every
    node asked for before it is needed (`operators.core.prefetch`).

    ``scan(view, low, high, places, at, window, out, count)`` goes on from what stands in `places`
    from word `at` on, where `low` belongs, and writes the positions of keys from `low` to `high`
    behind ``out[:count]``, in no order, each once; it returns the new count. Asked for are the
    positions from that of the sequence ``window[OLDEST]`` to ``window[NEWEST]``
    (`operators.index.window`). Other threads, and this one, may have changed the index since
    ``find``, short of a swap; whatever they do, all entries asked for are found. `out` has room for
    them and a vector more.

    ``merges`` are the stages of a merge, None where there are none.

    ``footprint``, ``inserted``, ``cycle`` and ``check_invariants`` are as of
    `operators.index.family.IndexOperations`, over the state and at rest; None stands for an
    ``inserted`` and a ``cycle`` of an index without merges. ``entries(state)`` returns
    what it holds at rest: a list of (key, sequence), sorted; plain Python.
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
