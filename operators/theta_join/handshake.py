"""Handshake join: both streams move along the cores, step by step, and meet in passing.

Teubner and Mueller, "How soccer players would do stream joins", SIGMOD 2011. A window is cut into
segments, one a core. A tuple enters at one end of the chain and moves on, oldest first, as later
tuples come, until it has expired and is at the other end::

           core 0          core 1          core 2
    R -->  r9 r8 r7  ---->  r6 r5 r4  ---->  r3 r2 r1  -->  gone
      <--  s1 s2 s3  <----  s4 s5 s6  <----  s7 s8 s9  <-- S

One step of a core::

    emit        pairs that found no room in the last step
    take R      from the left: compare with the window of S, then keep; or an acknowledgement, which
                removes the oldest tuple of S
    take S      from the right: compare with the window of R, keep, and acknowledge
    compare     the taken tuples, in one pass a window
    hand on     the oldest of R to the right, removed here at once; the oldest of S to the left,
                kept until acknowledged: while the window is larger than the neighbour's, and all
                expired tuples

Invariant: each pair of tuples that are in the chain at the same time is compared once.

A tuple r that is sent right and a tuple s that is sent left between the same two cores cross in one
of two ways. When s reaches the left core before r has left it, they are compared there, and the
acknowledgement, which goes right ahead of r, removes s before r arrives. Otherwise r has left first
and is not compared there; it arrives on the right ahead of the acknowledgement, where s still is.
Two tuples in one core were compared when the later one came.

The meeting point of two tuples depends on their speeds. Pairs therefore come out in no order, and
up to half a window after the arrival of the later tuple, which has to travel to the other one.

# ASSUME: that paper lets the driver remove an expired tuple wherever it is. Here the tuple travels
# to the end of the chain and is removed there: it must still meet tuples that arrived before it
# expired. After the last tuple the driver lets everything expire, so that all pairs come out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from operators.contract import ACCEPTED, END, NOT_READY, READY, Look, Parameter, Variant
from operators.core.atomics import ACQUIRE, RELAXED, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.spsc_ring import NO_SLOT, front, release
from operators.core.vectors import peek
from operators.theta_join import chain as chains
from operators.theta_join.chain import (
    ACKNOWLEDGED,
    EVERYTHING,
    EXPIRED,
    KIND,
    MESSAGES,
    NO_MORE,
    PAIRS,
    RANK,
    TUPLE,
    make_chain,
    send,
    way_of,
)
from operators.theta_join.chain_core import (
    ASKED,
    BATCH,
    COMPARISONS,
    FILLED,
    GIVEN,
    OWN_WORDS,
    WITH_R,
    WITH_S,
    begin_batch,
    check_chain,
    compared,
    end_core,
    forward,
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
from operators.theta_join.family import WINDOW_FULL, Extent, R, S, Shape, State, ThetaOperations
from operators.theta_join.predicates import Predicate
from operators.theta_join.scale_join import PARAMETERS, THREADS, close_source, insert_tuple
from operators.theta_join.window import FIRST, NEXT, PASS, Window, place_of

# The variant's words of a core, by side: the first position that has not expired, and that position
# as last sent to the neighbour; whether no more is coming, and whether the neighbour knows that.
HORIZON, TOLD, OVER, PASSED = (OWN_WORDS + 2 * word for word in range(4))
SENT = OWN_WORDS + 8  # tuples of S from here on were not handed on
# The most tuples that a core hands on in a step, before it takes messages again.
STEP = 2 * PASS


def make_state(
    predicate: Predicate,
    tables: Any,
    extent: Extent,
    shape: Shape,
    *,
    ahead: int = 1024,
    messages: int = MESSAGES,
    pairs: int = PAIRS,
    punctuate_each: int = PUNCTUATE_EACH,
) -> State:
    """Return a chain of cores with empty windows.

    Parameters
    ----------
    predicate, tables, extent, shape
        As for any theta join; one stream of R and one of S.
    ahead : int
        The most tuples of a stream that the driver has not read yet.
    messages : int
        The most in flight from a core to a neighbour.
    pairs : int
        The most pairs of a core that wait to be taken.
    punctuate_each : int
        Tuples of one stream alone before the other end hears of them.

    Raises
    ------
    UsageError
        For several physical streams, another purge, or a parameter out of its limits.
    """
    chains.check("handshake", extent, shape)
    # Expired tuples are in flight to the end of the chain for a while, and stay until the news of
    # it arrives, at the latest with a punctuation.
    capacity = shape.capacity + 2 * shape.threads * (messages + STEP) + punctuate_each
    cores = [make_core(predicate, tables, capacity, 1, n) for n in range(shape.threads)]
    return State(
        make_chain(predicate, shape, ahead, messages, pairs),
        tuple(cores),
        aligned_words(LINE_WORDS),
        make_driver(extent, shape.capacity, punctuate_each),
    )


@cache
def make_fill(predicate: Predicate):
    """Return ``fill``, see the family: the oldest tuples are nearest the end where they leave."""
    keep_tuple = make_core_steps(predicate).keep_tuple

    @inlined
    def fill(shared, core, side, timestamp, row, newer, filled):
        words = core.words
        rank = words[FILLED]
        words[FILLED] = rank + 1
        segment = newer * shared.cores // filled
        home = segment if side == R else shared.cores - 1 - segment
        position = filled - 1 - newer
        if home != core.number:
            return ACCEPTED
        target = WITH_R if side == R else WITH_S
        kept = keep_tuple(core, target, side, rank, position, 0, timestamp, row)
        return ACCEPTED if kept else WINDOW_FULL

    return fill


# --- handing on -----------------------------------------------------------------------------------


@inlined
def size_of(core, side):
    """Return the number of tuples of a side in a core, without unacknowledged ones."""
    if side == R:
        return core.r.words[NEXT] - core.r.words[FIRST]
    return core.s.words[NEXT] - core.words[SENT]


@inlined
def tell_size(chain, core):
    """Publish the sizes of the windows for the neighbours."""
    # RELAXED: a hint for cores that hand on to this one; no other read depends on it.
    store(chain.sizes, 2 * core.number * LINE_WORDS, size_of(core, R), RELAXED)
    store(chain.sizes, (2 * core.number + 1) * LINE_WORDS, size_of(core, S), RELAXED)


@inlined
def moves_on(chain, core, side, window, position, neighbour):
    """Whether to hand a tuple to the neighbour."""
    if peek(window.stamps, place_of(window, position)) < core.words[HORIZON + side]:
        return True
    # RELAXED: see ``tell_size``.
    size = load(chain.sizes, (2 * neighbour + side) * LINE_WORDS, RELAXED)
    return size_of(core, side) > size


@inlined
def hand_on_r(chain, core):
    """Hand the oldest tuples of R to the right; at the right end, drop expired ones."""
    window, last = core.r, core.number == chain.cores - 1
    done = False
    for _ in range(STEP):
        first = window.words[FIRST]
        if first == window.words[NEXT]:
            break
        if last:
            if peek(window.stamps, place_of(window, first)) >= core.words[HORIZON + R]:
                break
        elif not moves_on(chain, core, R, window, first, core.number + 1):
            break
        elif not forward(chain, way_of(chain, R, core.number + 1), window, core.extras_r, first):
            mark("handshake: the right neighbour has no room")
            break
        window.words[FIRST] = first + 1
        done = True
    return done


@inlined
def hand_on_s(chain, core):
    """Hand the oldest tuples of S to the left; at the left end, drop expired ones."""
    window, words = core.s, core.words
    done = False
    for _ in range(STEP):
        position = words[SENT]
        if position == window.words[NEXT]:
            break
        if core.number == 0:
            if peek(window.stamps, place_of(window, position)) >= words[HORIZON + S]:
                break
            # No core has to acknowledge it.
            window.words[FIRST] = position + 1
        elif not moves_on(chain, core, S, window, position, core.number - 1):
            break
        elif not forward(chain, way_of(chain, S, core.number - 1), window, core.extras_s, position):
            mark("handshake: the left neighbour has no room")
            break
        words[SENT] = position + 1
        done = True
    return done


@inlined
def tell_neighbours(chain, core):
    """Hand on expiry, and the end of a stream: S's expiry goes right with R, and R's left."""
    words = core.words
    for side in (R, S):
        # The message is about tuples of `side`, and travels with the other stream.
        goes = 1 - side
        last = chain.cores - 1 if goes == R else 0
        following = core.number + 1 if goes == R else core.number - 1
        if core.number != last and words[TOLD + side] < words[HORIZON + side]:
            if send(chain.ways, way_of(chain, goes, following), EXPIRED, words[HORIZON + side]):
                words[TOLD + side] = words[HORIZON + side]
        through = size_of(core, goes) == 0 and words[OVER + goes] == 1
        if through and words[PASSED + goes] == 0:
            if core.number == last:
                words[PASSED + goes] = 1
            elif send(chain.ways, way_of(chain, goes, following), NO_MORE, EVERYTHING):
                words[PASSED + goes] = 1


@inlined
def hear(core, side, kind, word):
    """Process a message other than a tuple that came with the tuples of a side."""
    if kind == ACKNOWLEDGED:
        mark("handshake: a tuple of S has arrived")
        core.s.words[FIRST] += 1
    elif kind == EXPIRED:
        core.words[HORIZON + 1 - side] = max(core.words[HORIZON + 1 - side], word)
    elif kind == NO_MORE:
        core.words[OVER + side] = 1


@cache
def make_takers(predicate: Predicate) -> tuple[Callable, Callable]:
    """Return ``take_r`` and ``take_s``: take messages from the left, and from the right.

    Each returns whether there was one.
    """
    steps = make_core_steps(predicate)
    keep, ask = steps.keep, steps.ask

    @inlined
    def take_r(chain, core):
        ring, records = way_of(chain, R, core.number), chain.ways.records
        done = False
        while core.words[ASKED + WITH_S] < PASS:
            place = front(chain.ways, ring)
            if place == NO_SLOT:
                break
            if peek(records, place + KIND) == TUPLE:
                if not keep(core, chain, place, R, WITH_R):
                    break
                ask(core, chain, place, R, WITH_S, core.s.words[NEXT])
            else:
                hear(core, R, peek(records, place + KIND), peek(records, place + RANK))
            release(chain.ways, ring)
            done = True
        return done

    @inlined
    def take_s(chain, core):
        ring, records = way_of(chain, S, core.number), chain.ways.records
        right = core.number + 1
        done = False
        while core.words[ASKED + WITH_R] < PASS:
            place = front(chain.ways, ring)
            if place == NO_SLOT:
                break
            if peek(records, place + KIND) == TUPLE:
                # The acknowledgement goes right behind all tuples of R that were sent before.
                if not has_room(core, WITH_S):
                    break
                if right < chain.cores:
                    if not send(chain.ways, way_of(chain, R, right), ACKNOWLEDGED, 0):
                        mark("handshake: no room to acknowledge")
                        break
                keep(core, chain, place, S, WITH_S)
                ask(core, chain, place, S, WITH_R, core.r.words[NEXT])
            else:
                hear(core, S, peek(records, place + KIND), peek(records, place + RANK))
            release(chain.ways, ring)
            done = True
        return done

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
        begin_batch(core)
        done = take_r(chain, core) | take_s(chain, core)
        if words[BATCH] > 0:
            compare(core)
            # Tuples handed on now have been compared; their rows stay until the next batch.
            status = emit(chain, core)
            if status != READY and status != NOT_READY:
                return status
        done |= hand_on_r(chain, core) | hand_on_s(chain, core)
        tell_neighbours(chain, core)
        tell_size(chain, core)
        over = words[PASSED + R] == 1 and words[PASSED + S] == 1
        if over and core.s.words[FIRST] == core.s.words[NEXT] and words[GIVEN] == words[BATCH]:
            end_core(chain, core)
            return END
        return READY if done else NOT_READY

    return step


@cache
def make_get_output(predicate: Predicate):
    """Return ``get_output(shared, own, out)``, see the family: any available pair."""
    record = predicate.record

    @inlined
    def get_output(chain, own, out):
        through = True
        for _ in range(chain.cores):
            core = own[0]
            # Read before the ring: after the end no pair is added to it.
            # ACQUIRE pairs with the store in end_core.
            ended = load(chain.ended, core * LINE_WORDS, ACQUIRE) != 0
            place = front(chain.pairs, core)
            if place != NO_SLOT:
                for word in range(1 + record):
                    out[word] = peek(chain.pairs.records, place + word)
                release(chain.pairs, core)
                return READY
            through &= ended
            own[0] = 0 if core + 1 == chain.cores else core + 1
        return END if through else NOT_READY

    return get_output


def comparisons(state: State) -> np.ndarray:
    """Return the comparisons of each core."""
    return np.array([int(core.words[COMPARISONS]) for core in state.threads], np.int64)


def peak(state: State) -> int:
    """Return 0: pairs are not sorted."""
    return 0


def check_invariants(state: State) -> None:
    """Check gate and windows in a quiescent state, and that a stream is in order along the chain.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it and the core.
    """
    check_chain(state)
    oldest_first = state.threads[::-1], state.threads
    r = [rank for core in oldest_first[R] for rank in _ranks_of(core.r, core.r.words[FIRST])]
    # Without those that have been handed on and wait to be acknowledged.
    s = [rank for core in oldest_first[S] for rank in _ranks_of(core.s, core.words[SENT])]
    assert r == sorted(r), f"a later tuple of R is ahead of an earlier one: {r}"
    assert s == sorted(s), f"a later tuple of S is ahead of an earlier one: {s}"


def _ranks_of(window: Window, first: int) -> list[int]:
    """Return the ranks of a window's tuples from a position on."""
    places = np.arange(first, window.words[NEXT]) % window.capacity
    return [int(rank) for rank in window.ranks[places]]


CHAINED = (
    THREADS,
    PARAMETERS[1],
    Parameter("messages", MESSAGES, 1, 1 << 16, "", "in flight between two cores"),
    Parameter("pairs", PAIRS, 1, 1 << 20, "", "of a core that wait to be taken"),
)

VARIANT = Variant(
    id="handshake",
    family="theta_join",
    title="Handshake join",
    paper="scalejoin",
    section="VI; Teubner and Mueller, SIGMOD 2011",
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
        ordered=False,
        drive=drive,
        drive_past=drive_past,
    ),
    order="none: pairs as they are found",
    # A core without input answers NOT_READY; no step waits.
    progress="lock-free",
    threads={
        "source": "one of R, one of S",
        "driver": "one",
        "core": "1 to 64 in a chain",
        "output": "one, takes pairs",
    },
    capacity="tuples of a window a core; messages and pairs wait for room in their rings",
    parameters=CHAINED,
    look=Look("vermillion", "D", "dashed"),
)
