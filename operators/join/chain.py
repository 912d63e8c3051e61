"""A chain of cores for round-robin partitioning: the path of tuples, and the share of each core.

Source: section 2.2.3 of "Parallel Index-based Stream Join on a Multicore CPU", figure 3, after Roy,
Teubner and Gemulla, "Low-latency handshake join", 2014. Tuple n of a stream is kept by core n mod P
alone, its *home*. R enters at the left end of the chain, S at the right one, and each tuple is
handed on to the far end, past every core (fast forwarding); every core searches only its share::

      R from memory                                               positions n with n mod P = 1
           |
           v                                                                   |
    +--------------+   R: (rank, key)    +--------------+   R    +--------------+
    |    core 0    | ------------------> |    core 1    | -----> |    core 2    |
    |  I_R    I_S  | <------------------ |  I_R    I_S  | <----- |  I_R    I_S  |
    +--------------+   S: (rank, key)    +--------------+   S    +--------------+
                                                                       ^
                                                                       |
                                                                 S from memory

The *rank* of a tuple is its number in the arrival order of both streams; each stream reaches every
core in that order. The variant decides when a core processes a tuple, and where the pairs go. A
self join has no S: the one stream passes all cores, and searches the shares that it is kept in. In
time windows each tuple carries a time.

Invariant: a core hands tuples on when they come, whether it can process them yet or not: as far as
the rings have room, a stream reaches the far end without waiting for the other one. A tuple that
was handed on but not read yet keeps its slot.

Shared words are those of the rings (`operators.core.spsc_ring`); all others belong to one core. The
linearization points of handing on are those of ``publish``, of making room those of ``give_back``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from operators import registry
from operators.contract import Parameter, UsageError
from operators.core.jit import inlined
from operators.core.spsc_ring import (
    NO_SLOT,
    Rings,
    claim,
    front,
    give_back,
    make_rings,
    publish,
    slot_place,
    take,
)
from operators.core.spsc_ring import check_invariants as check_rings
from operators.core.vectors import peek, poke
from operators.index.family import IndexOperations
from operators.join.family import MOST_THREADS, JoinOperations, State
from operators.join.feed import end_of, rank_of, time_of
from operators.join.window import (
    Windows,
    behind,
    each_window,
    footprint_of,
    make_windows,
    seen_of,
    views_of,
)
from operators.join.window import check_invariants as check_windows

# Words of a core; those of a side have the offset side * SIDE_WORDS.
HEAD = 0  # the next tuple of a stream: NONE, THERE or CLOSED
RANK, KEY, TIME = 1, 2, 3  # of the head
FEED_PLACE = 4  # at the entry of the stream: slot in memory of the next tuple
SENT, SENT_PLACE = 5, 6  # there: next position to be sent ahead, and the slot in memory
FORWARDED, CONSUMED = 7, 8  # elsewhere: messages handed on to the next core, if any, and read here
SIDE_WORDS = 9
OWN_WORDS = 2 * SIDE_WORDS  # from here on words of the variant

NONE, THERE, CLOSED = range(3)
# The most messages and partners in flight between two cores.
MESSAGES, PARTNERS = 64, 1024
# The rank of the message after the last tuple.
NO_MORE = -1


class Chain(NamedTuple):
    """The rings that connect the cores."""

    # (2 * cores): into core c, R through ring c and S through ring cores + c. A record is a rank,
    # a key and, in time windows, a time.
    ways: Rings
    partners: Rings  # (cores): from core c to the collecting thread, in the variant's format
    cores: int
    kind: int  # of the indexes: the number in INDEXES


# The indexes that a core's share may have.
INDEXES = {each.id: each.operations for each in registry.declared_in("index")}

PARAMETERS = (
    Parameter("threads", 2, 1, MOST_THREADS, "threads", "cores of the chain"),
    Parameter("index", "b-plus-tree", meaning="of each core's share", choices=tuple(INDEXES)),
)


def make_chain(threads: int, index: str, span: int, messages: int, partners: int) -> Chain:
    """Return a chain of `threads` cores.

    Parameters
    ----------
    threads : int
        Cores of the chain.
    index : str
        An id of the family ``index``.
    span : int
        Ticks of a time window, else 0.
    messages, partners : int
        The most in flight between two cores.

    Raises
    ------
    UsageError
        When the number of cores is out of its limits.
    """
    if not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"a chain has 1 to {MOST_THREADS} threads, received {threads}")
    ways = make_rings(2 * threads, messages, 3 if span else 2)
    return Chain(ways, make_rings(threads, partners), threads, list(INDEXES).index(index))


def make_share(index: str, window: int, half_width: int, **parameters: Any) -> Windows:
    """Return the windows of a core over a share; parameters and errors are ``make_windows``'s."""
    kept = make_windows(INDEXES[index], window, half_width, **parameters)
    (windows,) = views_of(INDEXES[index], kept, 1)
    return windows


def reopen(state: State) -> None:
    """Let a chain that has come to its END go on with more tuples."""
    for core in cores_of(state):
        for side in range(2):
            base = side * SIDE_WORDS
            core.words[base + HEAD] = NONE
            # The last message was the end mark, which is to be sent again.
            core.words[base + SENT] = seen_of(core.windows, side)


# --- handing on -----------------------------------------------------------------------------------


@inlined
def entering_time(core, feed, side, position):
    """Return the time of a tuple that enters, or 0 in count windows."""
    return time_of(feed, side, position) if core.windows.span > 0 else 0


@inlined
def write(chain, core, place, rank, key, time):
    """Write the message of a tuple into a ring's slot at `place`."""
    poke(chain.ways.records, place, rank)
    poke(chain.ways.records, place + 1, key)
    if core.windows.span > 0:
        poke(chain.ways.records, place + 2, time)


@inlined
def enters_here(chain, core, side):
    """Whether a stream enters the chain at this core."""
    return core.windows.number == (0 if side == 0 else chain.cores - 1)


@inlined
def ends_here(chain, core, side):
    """Whether a stream leaves the chain after this core."""
    return core.windows.number == (chain.cores - 1 if side == 0 else 0)


@inlined
def send_ahead(chain, core, feed, side):
    """Send tuples that enter here to the next core, while it has room; return whether any were."""
    if chain.cores == 1 or not enters_here(chain, core, side):
        return False
    base = side * SIDE_WORDS
    words = core.words
    keys = feed.r if side == 0 else feed.s
    ring = side * chain.cores + (core.windows.number + 1 if side == 0 else core.windows.number - 1)
    done = False
    while words[base + SENT] <= end_of(feed, side):
        place = claim(chain.ways, ring)
        if place == NO_SLOT:
            break
        position, at = words[base + SENT], words[base + SENT_PLACE]
        if position < end_of(feed, side):
            time = entering_time(core, feed, side, position)
            write(chain, core, place, rank_of(feed, side, position), peek(keys, at), time)
            words[base + SENT_PLACE] = behind(at, len(keys))
        else:
            poke(chain.ways.records, place, NO_MORE)
        publish(chain.ways, ring)
        words[base + SENT] = position + 1
        done = True
    return done


@inlined
def all_sent(chain, core, feed, side):
    """Whether all tuples of a stream that enters here have been sent to the next core."""
    here = chain.cores > 1 and enters_here(chain, core, side)
    return not here or core.words[side * SIDE_WORDS + SENT] > end_of(feed, side)


@inlined
def hand_on(chain, core, side):
    """Hand messages on to the next core, processed here or not, while it has room: whether any.

    That takes the slot; it is given back when the message is read (``take_head``).
    """
    if enters_here(chain, core, side) or ends_here(chain, core, side):
        return False
    ring = side * chain.cores + core.windows.number
    following = ring + 1 if side == 0 else ring - 1
    records = chain.ways.records
    done = False
    arrived = front(chain.ways, ring)
    while arrived != NO_SLOT:
        place = claim(chain.ways, following)
        if place == NO_SLOT:
            break
        time = peek(records, arrived + 2) if core.windows.span > 0 else 0
        write(chain, core, place, peek(records, arrived), peek(records, arrived + 1), time)
        publish(chain.ways, following)
        core.words[side * SIDE_WORDS + FORWARDED] = take(chain.ways, ring)
        done = True
        arrived = front(chain.ways, ring)
    return done


@inlined
def take_head(chain, core, feed, side):
    """Take the next tuple of a stream if there is no head; return whether a head was taken."""
    base = side * SIDE_WORDS
    words = core.words
    if words[base + HEAD] != NONE:
        return False
    if enters_here(chain, core, side):
        position = seen_of(core.windows, side)
        if position < end_of(feed, side):
            place = words[base + FEED_PLACE]
            keys = feed.r if side == 0 else feed.s
            words[base + RANK] = rank_of(feed, side, position)
            words[base + TIME] = entering_time(core, feed, side, position)
            words[base + KEY] = peek(keys, place)
            words[base + FEED_PLACE] = behind(place, len(keys))
        else:
            words[base + RANK] = NO_MORE
    else:
        ring = side * chain.cores + core.windows.number
        if ends_here(chain, core, side) and front(chain.ways, ring) != NO_SLOT:
            words[base + FORWARDED] = take(chain.ways, ring)  # there is no next core
        if words[base + CONSUMED] == words[base + FORWARDED]:
            return False
        place = slot_place(chain.ways, ring, words[base + CONSUMED])
        words[base + RANK] = peek(chain.ways.records, place)
        words[base + KEY] = peek(chain.ways.records, place + 1)
        if core.windows.span > 0:
            words[base + TIME] = peek(chain.ways.records, place + 2)
        words[base + CONSUMED] += 1
        give_back(chain.ways, ring, words[base + CONSUMED])
    words[base + HEAD] = CLOSED if words[base + RANK] == NO_MORE else THERE
    return True


@inlined
def move(chain, core, feed):
    """Send ahead, hand on, and take heads, while there is room; return whether any was done."""
    done = send_ahead(chain, core, feed, 0) | send_ahead(chain, core, feed, 1)
    done |= hand_on(chain, core, 0) | hand_on(chain, core, 1)
    done |= take_head(chain, core, feed, 0) | take_head(chain, core, feed, 1)
    return done


# --- quiescent ------------------------------------------------------------------------------------


def cores_of(state: State) -> tuple:
    """Return the entries of the cores, without those of other threads after them."""
    return state.threads[: state.shared.cores]


def operations_of(
    make_state: Callable[..., State],
    make_step: Callable[..., Callable[..., int]],
    seen: Callable[..., int],
    **more: Any,
) -> JoinOperations:
    """Return the operations of a join on a chain, with the quiescent ones of this module.

    Parameters
    ----------
    make_state, make_step, seen : callable
        As for `operators.join.family.JoinOperations`.
    **more
        The join's ``ordered`` and ``collectors``, unless default.
    """
    return JoinOperations(
        make_state, make_step, seen, merge_ns, footprint, inserted, cycle, check_invariants, reopen,
        **more,
    )  # fmt: skip


def _index_of(state: State) -> IndexOperations:
    return list(INDEXES.values())[state.shared.kind]


def footprint(state: State) -> dict[str, int]:
    """Return the bytes in use of all cores by component; "window": the keys that they keep."""
    kept = [each for core in cores_of(state) for each in each_window(core.windows)]
    return footprint_of(_index_of(state), kept)


def merge_ns(state: State) -> int:
    """Return the time that merges have taken, the mean over the cores, which work in parallel."""
    index = _index_of(state)
    kept = [each for core in cores_of(state) for each in each_window(core.windows)]
    return sum(int(index.merge_ns(each.index)) for each in kept) // state.shared.cores


def inserted(state: State) -> np.ndarray:
    """Return an empty array: subindexes of several cores have no common ranges."""
    return np.zeros(0, dtype=np.int64)


def cycle(state: State) -> int:
    """Return the number of tuples of a stream after which the work of their core repeats."""
    return _index_of(state).cycle(state.threads[0].windows.r.index) * state.shared.cores


def check_invariants(state: State) -> None:
    """Check a quiescent chain: every core has seen as much, and keeps its share of the windows.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names the core.
    """
    check_rings(state.shared.ways)
    check_rings(state.shared.partners)
    first, index = state.threads[0], _index_of(state)
    for number, core in enumerate(cores_of(state)):
        unread = [core.words[at + FORWARDED] - core.words[at + CONSUMED] for at in (0, SIDE_WORDS)]
        assert not any(unread), f"core {number}: messages were not read, {unread}"
        for side in range(2):
            behind_first = seen_of(core.windows, side) - seen_of(first.windows, side)
            assert behind_first == 0, f"core {number} is {-behind_first} tuples behind"
        check_windows(index, core.windows)
