"""What both handshake joins have in common: cores in a chain, their messages, and the driver.

R flows through the chain from left to right, S from right to left::

                 R -->     +--------+  -->  +--------+  -->  +--------+
    driver ------------->  | core 0 |       | core 1 |       | core 2 |  <------------- driver
                           +--------+  <--  +--------+  <--  +--------+     <-- S
                                |                |                |
                                +----------------+----------------+---> who takes pairs

Each arrow is a ring (`operators.core.spsc_ring`). What a ring brings comes in the order in which it
was sent. Beside the rings there are shared words, each written by one core: how full its windows
are, for its neighbours, and how far it is and whether it has ended, for who takes pairs.

The driver reads ready tuples in rank order. It numbers each stream's tuples by *position* and tells
each tuple its *horizon*: the first position of the other stream that has not expired when it
arrives. A pair counts exactly when each tuple's position is at or behind the other's horizon. So
the pairs are those of the sequential join with the opposite purge, whatever way tuples take through
the chain; that some expire in a core sooner or later says only how long they take up room.

# ASSUME: the driver's order is that of a gate in front of it, as for every other join here; the
# handshake joins' own papers take it as given.
# ASSUME: a message refers to a row in memory and has no copy of the attributes.
# ASSUME: a message is for what has to come in order. Of how far a core is, and how full, the newest
# value alone counts: a word that is written over has it at once and is never full, so that no core
# waits for room to tell it. Who takes pairs reads all cores' words and then empties their rings, as
# what a word stands for was sent before it (release, acquire). So punctuations are sent along the
# chain for a silent stream alone, whose tuples say nothing.
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

# A message: its kind, and of a tuple its rank, position, horizon, timestamp and row. Of the others
# the second word is a position of the stream that they are about, or a rank.
TUPLE, ACKNOWLEDGED, ENDED, EXPIRED, PUNCTUATION, NO_MORE = range(6)
KIND, RANK, POSITION, HORIZON, TIMESTAMP, ROW = range(6)
MESSAGE_WORDS = 6
# How many of them wait between two cores by default. Of 64, 256, 1,024 and 4,096 at windows of
# 60,000 the two joins made 30, 34, 35, 34 and 29, 31, 31, 31 billion comparisons/s with 2 threads,
# 28, 27, 29, 27 and 21, 25, 27, 28 with 4 (two runs each, two cores of an EPYC). 256 is at most
# about a tenth below the best, and lets a third more tuples be under way than 64, with 2 threads.
MESSAGES = 256
# How many pairs wait behind a core. With 128 and 512 the handshake join made 0.84 [0.62, 0.99] and
# 0.88 [0.69, 1.00] times as many comparisons/s, the low-latency one 0.97 and 0.98 (two threads,
# three pairs in turns, same machine).
PAIRS = 256
# After the last tuple everything has expired.
EVERYTHING = 1 << 62


class Chain(NamedTuple):
    """What cores, the driver and the thread that takes pairs share."""

    gate_in: TGateState
    # (2 * cores): into core c, from the left ring c, from the right ring cores + c.
    ways: Rings
    pairs: Rings  # (cores): a pair's key and record
    # Lines, by core: written by that core, read by its neighbours and by who takes pairs.
    sizes: np.ndarray  # (cores * 2): tuples of R and of S in a core
    marks: np.ndarray  # (cores * 2): all of R, and of S, of a lower rank are done
    ended: np.ndarray  # (cores): 1 behind the core's last pair
    cores: int
    record: int
    r_streams: int


def check(name: str, extent: Extent, shape: Shape) -> None:
    """Refuse what a handshake join does not do.

    Raises
    ------
    UsageError
        For several physical streams, another purge, or windows of no size or too many tuples.
    """
    # A chain's windows are made larger than this; whoever asks is told of what was asked for.
    check_capacity(shape.capacity)
    if (shape.r_streams, shape.s_streams) != (1, 1):
        raise UsageError(
            f"{name} joins one physical stream of R with one of S, received {shape.r_streams} and"
            f" {shape.s_streams}; merge them first, or use scale-join"
        )
    if not extent.count and not extent.opposite:
        raise UsageError(f"{name} lets tuples expire in the opposite window; give purge={OPPOSITE}")


def make_chain(predicate: Predicate, shape: Shape, ahead: int, messages: int, pairs: int) -> Chain:
    """Return what the threads of a chain share."""
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
    """Send a message that is no tuple: whether there was room."""
    place = claim(rings, ring)
    if place == NO_SLOT:
        return False
    poke(rings.records, place + KIND, kind)
    poke(rings.records, place + RANK, position)
    publish(rings, ring)
    return True


@inlined
def room(rings, ring):
    """Return how many messages a ring has room for, for its producer: at least so many."""
    base = ring * RING_WORDS
    # RELAXED: the producer's own position and copy.
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
    """Return the ring that brings a core the tuples of a side."""
    return core if side == R else chain.cores + core
