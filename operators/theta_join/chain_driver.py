"""The thread that feeds both ends of a chain: tuples in rank order, and news of expiry.

Before a tuple it sends the tuple's horizon on the same way, as news of expiry in the other stream.
After `punctuate_each` tuples of one stream alone it sends the rank to the other end (a
punctuation). At the end it lets everything expire and tells both ends that no more is coming.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, UsageError
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.marks import mark
from operators.core.spsc_ring import NO_SLOT, claim
from operators.core.vectors import peek, poke
from operators.gate import t_gate
from operators.theta_join.chain import (
    EVERYTHING,
    EXPIRED,
    NO_MORE,
    PUNCTUATION,
    send,
    send_tuple,
    way_of,
)
from operators.theta_join.family import WINDOW_FULL, Extent, R, S

# A stream's tuples that are sent before the other end gets a punctuation. 8 and 32 made 1.05 [1.01,
# 1.13] and 1.03 [0.99, 1.06] times as many comparisons/s (low-latency, two threads, three pairs in
# turns, two cores of an EPYC): no reason to choose either.
PUNCTUATE_EACH = 16

# The driver's words: the next rank; by side the next position, the first that has not expired, and
# the tuples sent since the other end's last message; the stage of a waiting tuple, and of the end.
NEXT_RANK = 0
SEEN, FIRST, SINCE = 1, 3, 5
WAITING, ENDING = 7, 8


class Driver(NamedTuple):
    """The thread that feeds both ends of the chain."""

    ready: np.ndarray  # a tuple of the gate
    # By stream and position: timestamps of tuples that have not expired.
    times_r: np.ndarray
    times_s: np.ndarray
    words: np.ndarray
    span: int
    count: int
    punctuate_each: int


def make_driver(extent: Extent, capacity: int, punctuate_each: int = PUNCTUATE_EACH) -> Driver:
    """Return a driver with room for the timestamps of `capacity` tuples of each stream.

    Parameters
    ----------
    extent : Extent
    capacity : int
    punctuate_each : int
        Tuples of one stream alone before the other end hears of them, at least 1.

    Raises
    ------
    UsageError
        When `punctuate_each` is smaller.
    """
    if punctuate_each < 1:
        raise UsageError(f"punctuate_each is at least 1, received {punctuate_each}")
    times = (aligned_words(capacity + 1) for _ in "rs")
    return Driver(
        aligned_words(4), *times, aligned_words(2 * LINE_WORDS), extent.span, extent.count,
        punctuate_each,
    )  # fmt: skip


@inlined
def drive(chain, driver):
    """Send the next ready tuple to the entry of its stream: READY, NOT_READY or END."""
    words = driver.words
    if words[ENDING] > 0:
        return say_the_end(chain, driver)
    if words[WAITING] == 0:
        status = t_gate.get_next_ready_tuple(chain.gate_in, 0, driver.ready)
        if status == END:
            words[ENDING] = 1
            return READY
        if status != READY:
            return status
        side = R if driver.ready[1] < chain.r_streams else S
        if not drive_past(driver, side, driver.ready[0]):
            return WINDOW_FULL
        words[WAITING] = 1
    return send_numbered(chain, driver)


@inlined
def drive_past(driver, side, timestamp):
    """Assign a rank and position to a tuple, and let tuples expire.

    False when there is no room for the timestamp.
    """
    words = driver.words
    own, other = (driver.times_r, driver.times_s) if side == R else (driver.times_s, driver.times_r)
    if driver.count == 0:
        # On both sides: no later tuple meets them.
        expire(words, 1 - side, other, timestamp - driver.span)
        expire(words, side, own, timestamp - driver.span)
    position = words[SEEN + side]
    if position - words[FIRST + side] >= len(own):
        return False
    poke(own, position % len(own), timestamp)
    words[SEEN + side] = position + 1
    if driver.count > 0:
        words[FIRST + side] = max(words[FIRST + side], position + 1 - driver.count)
    words[NEXT_RANK] += 1
    return True


@inlined
def seen(driver):
    """Return the number of tuples that the driver has sent."""
    return driver.words[NEXT_RANK]


@inlined
def expire(words, side, times, horizon):
    """Expire positions with timestamps below the horizon."""
    first = words[FIRST + side]
    while first < words[SEEN + side] and peek(times, first % len(times)) < horizon:
        first += 1
    words[FIRST + side] = first


@inlined
def send_numbered(chain, driver):
    """Send the expiry, then the last numbered tuple, then a punctuation if it is time."""
    words = driver.words
    side = R if driver.ready[1] < chain.r_streams else S
    ring = way_of(chain, side, 0 if side == R else chain.cores - 1)
    back = way_of(chain, 1 - side, chain.cores - 1 if side == R else 0)
    if words[WAITING] == 1:
        # Ahead of the tuple, which does not meet expired ones.
        if not send(chain.ways, ring, EXPIRED, words[FIRST + 1 - side]):
            return NOT_READY
        words[WAITING] = 2
    if words[WAITING] == 2:
        place = claim(chain.ways, ring)
        if place == NO_SLOT:
            return NOT_READY
        send_tuple(
            chain.ways, ring, place, words[NEXT_RANK] - 1, words[SEEN + side] - 1,
            words[FIRST + 1 - side], driver.ready[0], driver.ready[3],
        )  # fmt: skip
        words[SINCE + side] += 1
        words[SINCE + 1 - side] = 0
        words[WAITING] = 3
    if words[SINCE + side] >= driver.punctuate_each:
        mark("handshake: a punctuation is due")
        if words[WAITING] == 3:
            if not send(chain.ways, back, PUNCTUATION, words[NEXT_RANK]):
                return NOT_READY
            words[WAITING] = 4
        # If the other stream is silent, no other message carries the expiry of this one.
        if not send(chain.ways, back, EXPIRED, words[FIRST + side]):
            return NOT_READY
        words[SINCE + side] = 0
    words[WAITING] = 0
    return READY


@inlined
def say_the_end(chain, driver):
    """Tell both ends that everything has expired and that no more is coming."""
    words = driver.words
    while words[ENDING] <= 4:
        said = words[ENDING] - 1
        side = said & 1
        ring = way_of(chain, side, 0 if side == R else chain.cores - 1)
        kind = EXPIRED if said < 2 else NO_MORE
        if not send(chain.ways, ring, kind, EVERYTHING):
            return NOT_READY
        words[ENDING] += 1
    return END
