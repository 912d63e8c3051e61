"""The common part of both handshake joins: cores in a chain, their messages, and the driver.

R flows through the chain from left to right, S from right to left::

                 R -->     +--------+  -->  +--------+  -->  +--------+
    driver ------------->  | core 0 |       | core 1 |       | core 2 |  <------------- driver
                           +--------+  <--  +--------+  <--  +--------+     <-- S
                                |                |                |
                                +----------------+----------------+---> thread that takes pairs

Each arrow is a ring (`operators.core.spsc_ring`), first in, first out. In addition there are shared
words, each written by one core: the sizes of the windows, for the neighbours, and the watermarks
and the end of the core, for the thread that takes pairs.

The driver reads ready tuples in rank order. It numbers each stream's tuples by *position* and gives
each tuple a *horizon*: the first position of the other stream that has not expired when the tuple
arrives. A pair counts exactly when each tuple's position is at or after the other's horizon. The
pairs are therefore those of the sequential join with the opposite purge, whichever way tuples take
through the chain; the time at which a core drops a tuple affects only the capacity.

# ASSUME: the driver's order is that of a gate in front of it, as for every other join here; the
# handshake joins' papers take it as given.
# ASSUME: a message refers to a row in memory and has no copy of the attributes.
# ASSUME: messages are for data that has to arrive in order. Of a core's progress and size only the
# latest value counts: a word that is overwritten is never full, so that no core waits for room to
# publish it. The thread that takes pairs reads all cores' words and then empties their rings, since
# pairs are sent before the word that covers them (release, acquire). Punctuations are therefore
# sent along the chain only for a silent stream, whose tuples carry no progress.
# ASSUME: the cores' windows hold the numbers that are compared in columns and a core compares the
# tuples that wait in a ring in one pass, as ScaleJoin does here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.atomics import RELAXED, load
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spsc_ring import (
    NO_SLOT,
    RING_WORDS,
    SEEN_READ,
    WRITTEN,
    Rings,
    claim,
    claim_refresh,
    make_rings,
    publish,
)
from operators.core.vectors import poke
from operators.gate import t_gate
from operators.gate.t_gate import TGateState
from operators.theta_join.family import OPPOSITE, Extent, R, Shape
from operators.theta_join.predicates import Predicate
from operators.theta_join.scale_join import LEVELS
from operators.theta_join.window import check_capacity

# A message: the kind; for a tuple the rank, position, horizon, timestamp and row. For other kinds
# the second word is a position of the stream that they are about, or a rank.
TUPLE, ACKNOWLEDGED, ENDED, EXPIRED, PUNCTUATION, NO_MORE = range(6)
KIND, RANK, POSITION, HORIZON, TIMESTAMP, ROW = range(6)
MESSAGE_WORDS = 6
# The most messages between two cores, by default. Of 64, 256, 1,024 and 4,096 at windows of 60,000
# the two joins made 30, 34, 35, 34 and 29, 31, 31, 31 billion comparisons/s with 2 threads, 28, 27,
# 29, 27 and 21, 25, 27, 28 with 4 (two runs each, two cores of an EPYC). 256 is at most about a
# tenth below the best, and lets a third more tuples be in flight than 64, with 2 threads.
MESSAGES = 256
# The most pairs that wait after a core. With 128 and 512 the handshake join made 0.84 [0.62, 0.99]
# and 0.88 [0.69, 1.00] times as many comparisons/s, the low-latency one 0.97 and 0.98 (two threads,
# three pairs in turns, same machine).
PAIRS = 256
# After the last tuple everything has expired.
EVERYTHING = 1 << 62


class Chain(NamedTuple):
    """The data that cores, the driver and the thread that takes pairs share."""

    gate_in: TGateState
    # (2 * cores): into core c, from the left ring c, from the right ring cores + c.
    ways: Rings
    pairs: Rings  # (cores): a pair's key and record
    # Cache lines, by core: written by that core, read by neighbours or the thread that takes pairs.
    sizes: np.ndarray  # (cores * 2): tuples of R and of S in a core
    marks: np.ndarray  # (cores * 2): watermarks: all of R, and of S, of a lower rank are done
    ended: np.ndarray  # (cores): 1 after the core's last pair
    cores: int
    record: int
    r_streams: int


def check(name: str, extent: Extent, shape: Shape) -> None:
    """Refuse settings that handshake joins do not support.

    Raises
    ------
    UsageError
        For several physical streams, another purge, or windows of no size or too many tuples.
    """
    # Chains make larger windows than this; the message names the requested capacity.
    check_capacity(shape.capacity)
    if (shape.r_streams, shape.s_streams) != (1, 1):
        raise UsageError(
            f"{name} joins one physical stream of R with one of S, received {shape.r_streams} and"
            f" {shape.s_streams}; merge them first, or use scale-join"
        )
    if not extent.count and not extent.opposite:
        raise UsageError(f"{name} lets tuples expire in the opposite window; give purge={OPPOSITE}")


def make_chain(predicate: Predicate, shape: Shape, ahead: int, messages: int, pairs: int) -> Chain:
    """Return the data that the threads of a chain share."""
    cores = shape.threads
    return Chain(
        t_gate.make_state(2, 1, ahead, LEVELS),
        make_rings(2 * cores, messages, MESSAGE_WORDS),
        make_rings(cores, pairs, 1 + predicate.record),
        *(aligned_words(lines * LINE_WORDS) for lines in (2 * cores, 2 * cores, cores)),
        cores,
        predicate.record,
        shape.r_streams,
    )


# --- messages -------------------------------------------------------------------------------------


@inlined
def send(rings, ring, kind, position):
    """Send a message other than a tuple; return whether there was room."""
    place = claim(rings, ring)
    if place == NO_SLOT:
        return False
    poke(rings.records, place + KIND, kind)
    poke(rings.records, place + RANK, position)
    publish(rings, ring)
    return True


@inlined
def room(rings, ring):
    """Return a lower bound on the free slots of a ring, for the producer."""
    base = ring * RING_WORDS
    # RELAXED: the producer alone writes this position and the cached one.
    written = load(rings.positions, base + WRITTEN, RELAXED)
    left = rings.capacity - (written - load(rings.positions, base + SEEN_READ, RELAXED))
    if left < 2:
        claim_refresh(rings, base, written)
        left = rings.capacity - (written - load(rings.positions, base + SEEN_READ, RELAXED))
    return left


@inlined
def send_tuple(rings, ring, place, rank, position, horizon, timestamp, row):
    """Send a tuple in the slot that ``claim`` has returned."""
    poke(rings.records, place + KIND, TUPLE)
    poke(rings.records, place + RANK, rank)
    poke(rings.records, place + POSITION, position)
    poke(rings.records, place + HORIZON, horizon)
    poke(rings.records, place + TIMESTAMP, timestamp)
    poke(rings.records, place + ROW, row)
    publish(rings, ring)


@inlined
def way_of(chain, side, core):
    """Return the ring with the tuples of a side for a core."""
    return core if side == R else chain.cores + core
