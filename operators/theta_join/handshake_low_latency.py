"""Low-latency handshake join: a tuple is forwarded past all cores, and kept by one, its home.

Roy, Teubner and Gemulla, "Low-latency handshake join", PVLDB 7(9), 2014. A tuple is handed on
before it is compared (fast forwarding), so that it has seen the whole chain after a few hops and
not after half a window. Position p of a stream is kept by core p mod n alone::

           core 0               core 1               core 2
    R -->  r, in flight   --->  r, in flight   --->  r has ended
           keeps r3 s3 ..       keeps r1 s1 ..       keeps r2 s2 ..
      <--  s has ended    <---  s, in flight   <---  s, in flight   <-- S

Tuples that pass one another in flight would meet twice, at both homes, or never. A core compares

* a tuple of S with the kept tuples of R that *have ended*, at the far end of the chain, and the
  same with R and S exchanged;
* a tuple of R with those of S *in flight*: handed to the left and not acknowledged yet.

Invariant: each pair is compared once. For r and s let m be the number of cores that have r before
s. Tuples pass the cores in order, so these are the first m. Rings are first in, first out; hence

* m = n exactly when r's home knows that r has ended before s comes there: the news left the last
  core ahead of s. Then s finds r at r's home, and nowhere else.
* m = 0 exactly when s's home knows that s has ended before r comes. Then r finds s at s's home.
* otherwise core m had s first and core m - 1 had r first: r was sent to the right before s came to
  core m - 1, so it arrives at core m ahead of the acknowledgement of s, and finds s in flight; at
  any other core s has not come or is acknowledged.

Pairs come out in order. Each core publishes two watermarks: all tuples of R, and all of S, below
that rank are done, their pairs in the ring. The thread that takes pairs first reads the watermarks
and then empties the rings into a heap; pairs below the lowest watermark can be given out. The
driver advances the watermark of a silent stream by punctuations.

# ASSUME: that paper flags single tuples at their home as ended; since news come in the order of
# positions, a core here keeps only the last position that has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import (
    ACCEPTED,
    END,
    NOT_READY,
    READY,
    Look,
    Parameter,
    Variant,
)
from operators.core.atomics import ACQUIRE, RELEASE, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.spsc_ring import NO_SLOT, claim, front, publish, release
from operators.core.vectors import peek, poke
from operators.theta_join import chain as chains
from operators.theta_join import sort_buffer
from operators.theta_join.chain import (
    ACKNOWLEDGED,
    ENDED,
    EVERYTHING,
    EXPIRED,
    KIND,
    MESSAGE_WORDS,
    MESSAGES,
    PAIRS,
    POSITION,
    PUNCTUATION,
    RANK,
    TUPLE,
    make_chain,
    way_of,
)
from operators.theta_join.chain_core import (
    ASKED,
    BATCH,
    COMPARISONS,
    FILLED,
    OWN_WORDS,
    WITH_FLYING,
    WITH_R,
    WITH_S,
    begin_batch,
    check_chain,
    compared,
    end_core,
    has_room,
    make_core,
    make_core_steps,
)
from operators.theta_join.chain_driver import (
    PUNCTUATE_EACH,
    drive,
    drive_past,
    make_driver,
    seen,
)
from operators.theta_join.family import (
    SORT_FULL,
    WINDOW_FULL,
    Extent,
    R,
    S,
    Shape,
    State,
    ThetaOperations,
)
from operators.theta_join.handshake import CHAINED
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import rank_of
from operators.theta_join.scale_join import close_source, insert_tuple
from operators.theta_join.sort_buffer import (
    HELD,
    SortBuffer,
    lowest,
    make_sort_buffer,
    put,
    take_lowest,
)
from operators.theta_join.window import FIRST, NEXT, PASS, place_of, purge

# The variant's words of a core, by side: the first position that has not expired; the first window
# position whose tuple has not ended; the position up to which tuples have ended, and that position
# as last sent to the next core; the watermark: the rank up to which all are done.
HORIZON, ENDED_AT, ENDED_TO, TOLD, DONE = (OWN_WORDS + 2 * word for word in range(5))
OVER = OWN_WORDS + 10  # by side: whether no more is coming
# Pairs that wait to be sorted, by default. Half and twice as many made 0.94 [0.86, 1.03] and 1.02
# [1.01, 1.04] times as many comparisons/s (two threads, three pairs in turns, two cores of an
# EPYC).
SORTED = 1 << 16


class Sorting(NamedTuple):
    """The data of the thread that takes pairs."""

    heap: SortBuffer
    words: np.ndarray  # lowest watermark when the rings were emptied; whether all cores ended


FAR, ALL_ENDED = 0, 1


def make_state(
    predicate: Predicate,
    tables: Any,
    extent: Extent,
    shape: Shape,
    *,
    ahead: int = 1024,
    messages: int = MESSAGES,
    pairs: int = PAIRS,
    sort: int = SORTED,
    punctuate_each: int = PUNCTUATE_EACH,
) -> State:
    """Return a chain of cores with empty windows.

    Parameters
    ----------
    predicate, tables, extent, shape, ahead, messages, pairs, punctuate_each
        As for the handshake join.
    sort : int
        The most pairs that wait to be sorted.

    Raises
    ------
    UsageError
        For several physical streams, another purge, or a parameter out of its limits.
    """
    chains.check("handshake-low-latency", extent, shape)
    # Expired tuples stay until the news of it arrives, at the latest with a punctuation.
    capacity = shape.capacity + 2 * shape.threads * messages + punctuate_each
    # Tuples of S handed to the left and not acknowledged, or whose acknowledgement is in flight.
    flying = 2 * messages + PASS
    cores = [make_core(predicate, tables, capacity, flying, n) for n in range(shape.threads)]
    return State(
        make_chain(predicate, shape, ahead, messages, pairs),
        tuple(cores),
        Sorting(make_sort_buffer(sort, 1 + predicate.record), aligned_words(LINE_WORDS)),
        make_driver(extent, shape.capacity, punctuate_each),
    )


@cache
def make_fill(predicate: Predicate):
    """Return ``fill``, see the family: every tuple is at home and has ended."""
    keep_tuple = make_core_steps(predicate).keep_tuple

    @inlined
    def fill(shared, core, side, timestamp, row, newer, filled):
        words = core.words
        rank = words[FILLED]
        words[FILLED] = rank + 1
        position = filled - 1 - newer
        words[ENDED_TO + side] = words[TOLD + side] = position + 1
        if position % shared.cores != core.number:
            return ACCEPTED
        target = WITH_R if side == R else WITH_S
        kept = keep_tuple(core, target, side, rank, position, 0, timestamp, row)
        words[ENDED_AT + side] += int(kept)
        return ACCEPTED if kept else WINDOW_FULL

    return fill


# --- news -----------------------------------------------------------------------------------------


@inlined
def hear(core, side, kind, word):
    """Process a message other than a tuple that came with the tuples of a side."""
    words, other = core.words, 1 - side
    if kind == ACKNOWLEDGED:
        core.flying.words[FIRST] += 1
    elif kind == ENDED:
        # News of the other stream return with this one.
        words[ENDED_TO + other] = word
    elif kind == EXPIRED:
        words[HORIZON + other] = max(words[HORIZON + other], word)
    elif kind == PUNCTUATION:
        mark("handshake_low_latency: a punctuation has come")
        words[DONE + side] = max(words[DONE + side], word)
    else:
        words[OVER + side] = 1
        words[DONE + side] = EVERYTHING


@inlined
def passed_on(chain, core, side, kind):
    """Whether a message goes on to the next core; acknowledgements and ENDED do not."""
    last = chain.cores - 1 if side == R else 0
    return core.number != last and kind != ACKNOWLEDGED and kind != ENDED


@inlined
def tell_ended(chain, core, side, spare):
    """Send news of ended tuples of a stream, against its direction, before any tuple goes there.

    False when there is no room for the message and `spare` more.
    """
    words = core.words
    goes = 1 - side
    last = chain.cores - 1 if goes == R else 0
    if core.number == last or words[TOLD + side] == words[ENDED_TO + side]:
        return True
    ring = way_of(chain, goes, core.number + 1 if goes == R else core.number - 1)
    if chains.room(chain.ways, ring) <= spare:
        mark("handshake_low_latency: no room for news")
        return False
    words[TOLD + side] = words[ENDED_TO + side]
    return chains.send(chain.ways, ring, ENDED, words[ENDED_TO + side])


@inlined
def follow(core, side, window):
    """Purge expired tuples, and advance ENDED_AT past kept tuples that have ended."""
    words = core.words
    purge(window, (), words[HORIZON + side])
    at = max(words[ENDED_AT + side], window.words[FIRST])
    while at < window.words[NEXT]:
        if peek(window.stamps, place_of(window, at)) >= words[ENDED_TO + side]:
            break
        at += 1
    words[ENDED_AT + side] = at


@inlined
def tell_how_far(chain, core):
    """Publish the core's watermarks for the thread that takes pairs."""
    for side in (R, S):
        # RELEASE: a thread that sees the watermark finds the pairs in the ring.
        at = (2 * core.number + side) * LINE_WORDS
        store(chain.marks, at, core.words[DONE + side], RELEASE)


@inlined
def hand_on(chain, core, side, place):
    """Hand a message to the next core unchanged; return whether there was room."""
    following = core.number + 1 if side == R else core.number - 1
    to = claim(chain.ways, way_of(chain, side, following))
    if to == NO_SLOT:
        mark("handshake_low_latency: the next core has no room")
        return False
    records = chain.ways.records
    for word in range(MESSAGE_WORDS):
        poke(records, to + word, peek(records, place + word))
    publish(chain.ways, way_of(chain, side, following))
    return True


@inlined
def can_settle(chain, core, side, place):
    """Whether a tuple finds room here or is at home elsewhere."""
    home = peek(chain.ways.records, place + POSITION) % chain.cores
    return home != core.number or has_room(core, WITH_R if side == R else WITH_S)


@cache
def make_meetings(predicate: Predicate) -> tuple[Callable, Callable, Callable]:
    """Return ``meet_r``, ``meet_s`` and ``settle``, which process a tuple that a core takes."""
    steps = make_core_steps(predicate)
    keep, ask = steps.keep, steps.ask

    @inlined
    def meet_r(chain, core, place):
        """Compare a tuple of R with those of S that have ended, and with those in flight."""
        follow(core, S, core.s)
        ask(core, chain, place, R, WITH_S, core.words[ENDED_AT + S])
        ask(core, chain, place, R, WITH_FLYING, core.flying.words[NEXT])

    @inlined
    def meet_s(chain, core, place):
        """Compare a tuple of S with those of R that have ended."""
        follow(core, R, core.r)
        ask(core, chain, place, S, WITH_R, core.words[ENDED_AT + R])

    @inlined
    def settle(chain, core, side, place):
        """Keep a tuple if this is its home, which has room, and advance the watermark."""
        records, words = chain.ways.records, core.words
        position = peek(records, place + POSITION)
        if position % chain.cores == core.number:
            keep(core, chain, place, side, WITH_R if side == R else WITH_S)
        last = chain.cores - 1 if side == R else 0
        if core.number == last:
            words[ENDED_TO + side] = position + 1
        words[DONE + side] = peek(records, place + RANK) + 1

    return meet_r, meet_s, settle


@cache
def make_takers(predicate: Predicate) -> tuple[Callable, Callable]:
    """Return ``take_r`` and ``take_s``: take the next message from the left, and from the right.

    Each returns whether there was one, and room for the messages that follow from it.
    """
    keep = make_core_steps(predicate).keep
    meet_r, meet_s, settle = make_meetings(predicate)

    @inlined
    def take_r(chain, core):
        """Take the next message from the left; return whether that was possible."""
        ring = way_of(chain, R, core.number)
        place = front(chain.ways, ring)
        if place == NO_SLOT:
            return False
        kind = peek(chain.ways.records, place + KIND)
        if kind == TUPLE:
            if not can_settle(chain, core, R, place) or not tell_ended(chain, core, S, 1):
                return False
            if core.number + 1 < chain.cores and not hand_on(chain, core, R, place):
                return False
            meet_r(chain, core, place)
            settle(chain, core, R, place)
        else:
            if passed_on(chain, core, R, kind) and not hand_on(chain, core, R, place):
                return False
            hear(core, R, kind, peek(chain.ways.records, place + RANK))
        release(chain.ways, ring)
        return True

    @inlined
    def take_s(chain, core):
        """Take the next message from the right, as ``take_r`` does from the left."""
        ring, right = way_of(chain, S, core.number), way_of(chain, R, core.number + 1)
        place = front(chain.ways, ring)
        if place == NO_SLOT:
            return False
        kind = peek(chain.ways.records, place + KIND)
        if kind == TUPLE:
            acknowledges = core.number + 1 < chain.cores
            if acknowledges and chains.room(chain.ways, right) == 0:
                mark("handshake_low_latency: no room to acknowledge")
                return False
            if not can_settle(chain, core, S, place) or not tell_ended(chain, core, R, 1):
                return False
            if core.number > 0:
                if not has_room(core, WITH_FLYING) or not hand_on(chain, core, S, place):
                    return False
            meet_s(chain, core, place)
            if core.number > 0:
                keep(core, chain, place, S, WITH_FLYING)
            if acknowledges:
                chains.send(chain.ways, right, ACKNOWLEDGED, 0)
            settle(chain, core, S, place)
        else:
            if passed_on(chain, core, S, kind) and not hand_on(chain, core, S, place):
                return False
            hear(core, S, kind, peek(chain.ways.records, place + RANK))
        release(chain.ways, ring)
        return True

    return take_r, take_s


@cache
def make_step(predicate: Predicate):
    """Return ``step(shared, core)``; see the head of this file."""
    steps = make_core_steps(predicate)
    compare, emit = steps.compare, steps.emit
    take_r, take_s = make_takers(predicate)

    @inlined
    def step(chain, core):
        words = core.words
        status = emit(chain, core)
        if status != READY:
            return status
        tell_how_far(chain, core)
        in_flight = core.flying.words[NEXT] - core.flying.words[FIRST]
        # Otherwise acknowledgements to this core would wait for room in a ring that nobody empties.
        if words[OVER + R] == 1 and words[OVER + S] == 1 and in_flight == 0:
            end_core(chain, core)
            return END
        # A stream may be silent for so long that only news of expiry make room.
        follow(core, R, core.r)
        follow(core, S, core.s)
        begin_batch(core)
        done = False
        while words[ASKED + WITH_S] < PASS and take_r(chain, core):
            done = True
        while words[ASKED + WITH_R] < PASS and take_s(chain, core):
            done = True
        # News go ahead of tuples, and alone if no tuples come.
        tell_ended(chain, core, R, 0)
        tell_ended(chain, core, S, 0)
        if words[BATCH] > 0:
            compare(core)
        return READY if done else NOT_READY

    return step


# --- sorting pairs --------------------------------------------------------------------------------


@cache
def make_get_output(predicate: Predicate):
    """Return ``get_output(shared, own, out)``, see the family."""
    record = predicate.record

    @inlined
    def look(chain, own):
        """Read the watermarks of all cores, before the rings are emptied."""
        far = EVERYTHING
        ended = 1
        for core in range(chain.cores):
            # ACQUIRE, here and below, pairs with the stores of the core: its pairs are in the ring.
            ended &= load(chain.ended, core * LINE_WORDS, ACQUIRE)
            for side in (R, S):
                done = load(chain.marks, (2 * core + side) * LINE_WORDS, ACQUIRE)
                far = min(far, done)
        own.words[FAR], own.words[ALL_ENDED] = far, ended

    @inlined
    def empty_rings(chain, own):
        """Move pairs into the heap; return False when it has no room for another."""
        for core in range(chain.cores):
            place = front(chain.pairs, core)
            while place != NO_SLOT:
                if sort_buffer.is_full(own.heap):
                    return False
                put(own.heap, chain.pairs.records, place)
                release(chain.pairs, core)
                place = front(chain.pairs, core)
        return True

    @inlined
    def get_output(chain, own, out):
        heap = own.heap
        if heap.words[HELD] == 0 or rank_of(lowest(heap)) >= own.words[FAR]:
            look(chain, own)
            emptied = empty_rings(chain, own)
            if not emptied:
                # A pair still in a ring may come before all in the heap.
                return SORT_FULL
            if heap.words[HELD] == 0:
                return END if own.words[ALL_ENDED] != 0 else NOT_READY
            if rank_of(lowest(heap)) >= own.words[FAR]:
                mark("handshake_low_latency: an earlier pair may come")
                return NOT_READY
        take_lowest(heap, out, 1 + record)
        return READY

    return get_output


def comparisons(state: State) -> np.ndarray:
    """Return the comparisons of each core."""
    return np.array([int(core.words[COMPARISONS]) for core in state.threads], np.int64)


def peak(state: State) -> int:
    """Return the most pairs that waited to be sorted."""
    return int(state.output.heap.words[sort_buffer.PEAK])


def check_invariants(state: State) -> None:
    """Check gate, windows and sort buffer in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it and the core.
    """
    check_chain(state)
    sort_buffer.check_invariants(state.output.heap)
    for core in state.threads:
        for stream, window in (("R", core.r), ("S", core.s)):
            places = np.arange(int(window.words[FIRST]), int(window.words[NEXT])) % window.capacity
            homes = window.stamps[places] % state.shared.cores
            assert (homes == core.number).all(), f"core {core.number} keeps another's {stream}"


VARIANT = Variant(
    id="handshake-low-latency",
    family="theta_join",
    title="Low-latency handshake join",
    paper="scalejoin",
    section="VI; Roy, Teubner and Gemulla, PVLDB 7(9), 2014",
    operations=ThetaOperations(
        make_state=make_state,
        insert_tuple=insert_tuple,
        close_source=close_source,
        make_fill=make_fill,
        make_step=make_step,
        make_get_output=make_get_output,
        seen=seen,
        compared=compared,
        comparisons=comparisons,
        peak=peak,
        check_invariants=check_invariants,
        drive=drive,
        drive_past=drive_past,
    ),
    order="total: (rank of the later tuple, rank of the earlier one)",
    progress="lock-free",
    threads={
        "source": "one of R, one of S",
        "driver": "one",
        "core": "1 to 64 in a chain",
        "output": "one, puts pairs in order",
    },
    capacity="tuples of a window; messages and pairs wait for room; sort pairs, then an error",
    parameters=(
        *CHAINED,
        Parameter("sort", SORTED, 1, 1 << 24, "pairs", "that wait to be put in order"),
    ),
    look=Look("green", "^", "dash-dot"),
)
