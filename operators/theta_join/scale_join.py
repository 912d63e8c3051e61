"""ScaleJoin: every thread sees every tuple, and keeps every n-th.

Algorithm 1 of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream Join"
(sections IV and V). Threads share two ScaleGates and nothing else::

    R streams ---+                 +--> thread 0: W_R, W_S --+
                 +--> ScaleGate ---+--> thread 1: W_R, W_S --+--> ScaleGate --> pairs, in order
    S streams ---+      (in)       +--> thread 2: W_R, W_S --+      (out)

Each processing thread reads all ready tuples, in one order. It compares a tuple with its share of
the opposite window, and keeps the tuple if ``counter % n == id``. A pair is therefore compared
once, by the thread that keeps the earlier tuple, and every thread makes 1/n of the comparisons,
whatever the streams do.

The processing threads are the sources of the second gate. Its order is that of the pairs' keys: the
rank of the later tuple, then that of the earlier one. A thread's pairs ascend, and keys are unique,
so the output is byte-identical for any number of threads.

Invariants
----------
1. All threads have the same rank for a tuple: its number in the order of the first gate.
2. The tuple of rank k is kept by thread k mod n alone.
3. A thread's keys ascend.
4. No thread waits for ever for room in the second gate: a pair leaves it once all other threads are
   past the key, and an idle thread publishes a heartbeat when it is asked to.
5. A record of an output is not overwritten before the thread that takes pairs has read it: there is
   one more than the second gate lets be ahead.

Shared words are those of the gates (`operators.gate.t_gate`), the records, which a gate's insertion
publishes with their slot, and `asked`. Linearization points are the gates'.

# ASSUME: the gates break ties by stream, where the paper's Algorithm 2 has them by arrival; its
# outputs are ordered by timestamp alone, which leaves ties undefined.
# ASSUME: tuples in gates and windows are references to rows in memory, as in the paper's Java;
# windows also keep the numbers that are compared, and an output copies all attributes.
# ASSUME: the paper's gates have no bounds. With bounds a thread that has found many pairs would
# wait for one that has found none, and that one for tuples that are let in when the first goes on.
# ASSUME: a thread compares the tuples that are ready as a batch
# (`operators.theta_join.processing`); the paper takes them one by one, with the same pairs.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    READY,
    Look,
    Parameter,
    Variant,
)
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.gate import t_gate
from operators.gate.t_gate import TGateState
from operators.theta_join import processing
from operators.theta_join.family import (
    KEYS_FALL,
    MOST_THREADS,
    TOO_FAR,
    Extent,
    R,
    S,
    Shape,
    State,
    ThetaOperations,
)
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import (
    BATCH,
    COMPARISONS,
    GIVEN,
    NO_PAIR,
    RANK,
    Joining,
    begin_batch,
    drop_pair,
    front_pair,
    has_room,
    make_joining,
    make_steps,
)
from operators.theta_join.window import SCAN, Matching

# Words of a thread: the number of records written, and the rank of the last heartbeat.
WRITTEN, TOLD = 0, 1
# The kinds of tuples in the second gate.
PAIR, HEARTBEAT = 0, 1


class Gates(NamedTuple):
    """The data that all threads share."""

    gate_in: TGateState  # readers: the processing threads
    gate_out: TGateState  # sources: the processing threads
    records: np.ndarray  # (threads * slots * record): of outputs in flight
    asked: np.ndarray  # [1]: the rank up to which a thread without room asks for heartbeats
    slots: int
    record: int
    r_streams: int


class ProcessingThread(NamedTuple):
    """The data of one processing thread."""

    joining: Joining
    ready: np.ndarray  # a tuple of the first gate: timestamp, stream, key, row
    words: np.ndarray


def make_state(
    predicate: Predicate,
    tables: Any,
    extent: Extent,
    shape: Shape,
    *,
    ahead: int = 1024,
    ahead_out: int = 1024,
    matching: Matching = SCAN,
) -> State:
    """Return a ScaleJoin with empty windows.

    Parameters
    ----------
    predicate : Predicate
    tables : NamedTuple
        The attributes of all rows.
    extent : Extent
    shape : Shape
    ahead : int
        The most tuples of a stream that some processing thread has not read yet.
    ahead_out : int
        The most pairs of a thread that wait to be taken.
    matching : Matching
        The method of finding matches in a thread's windows.

    Raises
    ------
    UsageError
        When a parameter is out of its limits.
    """
    threads = shape.threads
    streams = shape.r_streams + shape.s_streams
    # Invariant 5: in addition to those ahead, one being read and one being written.
    slots = ahead_out + 2
    shared = Gates(
        t_gate.make_state(streams, threads, ahead, LEVELS),
        t_gate.make_state(threads, 1, ahead_out, LEVELS),
        aligned_words(threads * slots * max(predicate.record, 1)),
        aligned_words(LINE_WORDS),
        slots,
        predicate.record,
        shape.r_streams,
    )
    owns = tuple(
        ProcessingThread(
            make_joining(predicate, tables, extent, shape.capacity, number, threads, matching),
            aligned_words(LINE_WORDS),
            aligned_words(LINE_WORDS),
        )
        for number in range(threads)
    )
    return State(shared, owns, aligned_words(LINE_WORDS))


LEVELS = 3  # of both gates, as T-Gate's default


@inlined
def insert_tuple(shared, stream, timestamp, key, row):
    """Deliver the next tuple of a physical stream."""
    return t_gate.insert_tuple(shared.gate_in, stream, timestamp, key, row)


@inlined
def close_source(shared, stream):
    """End a physical stream."""
    return t_gate.close_source(shared.gate_in, stream)


@cache
def make_fill(predicate: Predicate, matching: Matching = SCAN):
    """Return ``fill``, see the family."""
    accept = make_steps(predicate, matching).accept

    @inlined
    def fill(shared, own, side, timestamp, row, newer, filled):
        return accept(own.joining, side, timestamp, row, False)

    return fill


@inlined
def tell_how_far(shared, own):
    """Insert a heartbeat into the second gate: the watermark of this thread's pairs."""
    rank = own.joining.words[RANK]
    key = rank << processing.REACH_BITS
    # Without room, the pairs in the gate already advance this thread's watermark.
    told = t_gate.insert_tuple(shared.gate_out, own.joining.number, key, HEARTBEAT, 0)
    if told == ACCEPTED:
        own.words[TOLD] = rank


@cache
def make_step(predicate: Predicate, heartbeats: bool = False, matching: Matching = SCAN):
    """Return ``step(shared, own)`` of a processing thread (Algorithm 1, ``run``).

    Parameters
    ----------
    predicate : Predicate
    heartbeats : bool
        Whether a thread inserts a heartbeat into the second gate after each batch.
    matching : Matching
        The method of finding matches in the windows.
    """
    accept, compare, write_pair = make_steps(predicate, matching)
    record = predicate.record

    @inlined
    def take_batch(shared, own):
        """Read ready tuples and enter them into the windows (L9 and L19 to L23)."""
        begin_batch(own.joining)
        status = READY
        while status == READY and has_room(own.joining):
            status = t_gate.get_next_ready_tuple(shared.gate_in, own.joining.number, own.ready)
            if status == READY:
                side = R if own.ready[1] < shared.r_streams else S
                accepted = accept(own.joining, side, own.ready[0], own.ready[3], True)
                if accepted != ACCEPTED:
                    return accepted
        # END is read again when the batch is done.
        return READY if own.joining.words[BATCH] > 0 else status

    @inlined
    def emit(shared, own):
        """Insert the pairs of the batch into the second gate (L18), as far as there is room."""
        number = own.joining.number
        position = front_pair(own.joining)
        while position != NO_PAIR:
            slot = number * shared.slots + own.words[WRITTEN] % shared.slots
            key = write_pair(own.joining, position, shared.records, slot * record)
            if key < 0:
                return TOO_FAR
            status = t_gate.insert_tuple(shared.gate_out, number, key, PAIR, slot)
            if status == FULL:
                mark("scale_join: no room for a pair")
                # RELAXED, here and in `step`: it only asks for heartbeats (invariant 4).
                store(shared.asked, 0, own.joining.words[RANK], RELAXED)
                return NOT_READY
            if status != ACCEPTED:
                return KEYS_FALL  # Against invariant 3: a pair would be lost.
            own.words[WRITTEN] += 1
            drop_pair(own.joining)
            position = front_pair(own.joining)
        return READY

    @inlined
    def step(shared, own):
        words = own.joining.words
        if words[GIVEN] == words[BATCH]:
            status = take_batch(shared, own)
            if status == END:
                t_gate.close_source(shared.gate_out, own.joining.number)
            elif status == NOT_READY and load(shared.asked, 0, RELAXED) > own.words[TOLD]:
                if words[RANK] > own.words[TOLD]:
                    mark("scale_join: tells how far it is")
                    tell_how_far(shared, own)
            if status != READY:
                return status
            compare(own.joining)
        status = emit(shared, own)
        if heartbeats and status == READY:
            tell_how_far(shared, own)
        return status

    return step


@cache
def make_get_output(predicate: Predicate):
    """Return ``get_output(shared, own, out)``, see the family."""
    record = predicate.record

    @inlined
    def get_output(shared, own, out):
        status = t_gate.get_next_ready_tuple(shared.gate_out, 0, own)
        while status == READY and own[2] == HEARTBEAT:
            status = t_gate.get_next_ready_tuple(shared.gate_out, 0, own)
        if status == READY:
            out[0] = own[0]
            place = own[3] * record
            for word in range(record):
                out[1 + word] = shared.records[place + word]
        return status

    return get_output


@inlined
def seen(own):
    """Return the number of tuples that a processing thread has seen."""
    return own.joining.words[RANK]


@inlined
def compared(own):
    """Return the number of comparisons that a processing thread has made."""
    return own.joining.words[COMPARISONS]


def comparisons(state: State) -> np.ndarray:
    """Return the comparisons of each processing thread."""
    return np.array([int(own.joining.words[COMPARISONS]) for own in state.threads], np.int64)


def peak(state: State) -> int:
    """Return 0: no pair waits outside the gate."""
    return 0


def check_invariants(state: State) -> None:
    """Check gates and windows in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it and the thread.
    """
    t_gate.check_invariants(state.shared.gate_in)
    t_gate.check_invariants(state.shared.gate_out)
    for own in state.threads:
        processing.check_invariants(own.joining)


def make_operations(heartbeats: bool = False, matching: Matching = SCAN) -> ThetaOperations:
    """Return the operations of a ScaleJoin, see ``make_step``."""
    return ThetaOperations(
        make_state=partial(make_state, matching=matching),
        insert_tuple=insert_tuple,
        close_source=close_source,
        make_fill=partial(make_fill, matching=matching),
        make_step=partial(make_step, heartbeats=heartbeats, matching=matching),
        make_get_output=make_get_output,
        seen=seen,
        compared=compared,
        comparisons=comparisons,
        peak=peak,
        check_invariants=check_invariants,
    )


THREADS = Parameter("threads", 2, 1, MOST_THREADS, "threads", "that compare")
PARAMETERS = (
    THREADS,
    Parameter(
        "ahead", 1024, 3, 1 << 20, "tuples", "of a stream, not yet read by all", bounds_flight=True
    ),
    Parameter("ahead_out", 1024, 3, 1 << 20, "pairs", "of a thread that wait to be taken"),
)


def variant_of(identifier: str, title: str, **more: Any) -> Variant:
    """Return the declaration of a ScaleJoin."""
    declared = {
        "section": "IV, Algorithm 1",
        "operations": make_operations(),
        "parameters": PARAMETERS,
        **more,
    }
    return Variant(
        id=identifier,
        family="theta_join",
        title=title,
        paper="scalejoin",
        order="total: (rank of the later tuple, rank of the earlier one)",
        progress="lock-free",
        threads={
            "source": "one a physical stream",
            "processing": "1 to 64",
            "output": "one, takes pairs",
        },
        capacity="tuples of a window; ahead tuples a stream and pairs a thread, then FULL",
        **declared,
    )


VARIANT = variant_of("scale-join", "ScaleJoin", look=Look("blue", "o", "solid"))
