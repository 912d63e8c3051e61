"""What both handshake joins have in common: cores in a chain, their messages, and the driver.

R flows through the chain from left to right, S from right to left::

                 R -->     +--------+  -->  +--------+  -->  +--------+
    driver ------------->  | core 0 |       | core 1 |       | core 2 |  <------------- driver
                           +--------+  <--  +--------+  <--  +--------+     <-- S
                                |                |                |
                                +----------------+----------------+---> who takes pairs

Each arrow is a ring (`operators.core.spsc_ring`); nothing else passes between cores but how full a
window is, and how far a core is. What a ring brings comes in the order in which it was sent.

The driver reads ready tuples in rank order. It numbers each stream's tuples by *position* and tells
each tuple its *horizon*: the first position of the other stream that has not expired when it
arrives. A pair counts exactly when each tuple's position is at or behind the other's horizon. So
the pairs are those of the sequential join with the opposite purge, whatever way tuples take through
the chain; that some expire in a core sooner or later says only how long they take up room.

# ASSUME: the driver's order is that of a gate in front of it, as for every other join here; the
# handshake joins' own papers take it as given.
# ASSUME: a message refers to a row in memory and has no copy of the attributes.
# ASSUME: the cores' windows hold the numbers that are compared in columns and a core compares the
# tuples that wait in a ring in one pass, as ScaleJoin does here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, UsageError
from operators.core import spsc_ring
from operators.core.atomics import RELAXED, RELEASE, load, store
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
from operators.core.vectors import peek, poke
from operators.gate import t_gate
from operators.gate.t_gate import TGateState
from operators.theta_join import window as windows
from operators.theta_join.family import OPPOSITE, TOO_FAR, WINDOW_FULL, Extent, R, S, Shape, State
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import key_of
from operators.theta_join.scale_join import LEVELS
from operators.theta_join.window import (
    FOUND,
    PASS,
    Comparing,
    Window,
    lowest_bit,
    make_comparing,
    make_window,
    make_window_steps,
    place_of,
    without_lowest_bit,
)

# A message: its kind, and of a tuple its rank, position, horizon, timestamp and row. Of the others
# the second word is a position of the stream that they are about, or a rank.
TUPLE, ACKNOWLEDGED, ENDED, EXPIRED, PUNCTUATION, NO_MORE = range(6)
KIND, RANK, POSITION, HORIZON, TIMESTAMP, ROW = range(6)
MESSAGE_WORDS = 6
MESSAGES = 64
PAIRS = 256
# After the last tuple everything has expired.
EVERYTHING = 1 << 62
# A stream's tuples that the driver sends before it tells the other end how far it is.
PUNCTUATE_EACH = 16

# A core's words: comparisons, the batch that it is at, and how many tuples were filled in.
COMPARISONS, BATCH, GIVEN, GIVEN_CHUNK, FILLED = range(5)
# By target: how many tuples of the batch are compared with it.
ASKED = 5
NEEDED = 8  # and the oldest position that has to stay
OWN_WORDS = 2 * LINE_WORDS  # those of a variant follow
CORE_WORDS = 6 * LINE_WORDS
# What a tuple of the batch is compared with.
WITH_S, WITH_R, WITH_FLYING = range(3)
# Words of a tuple of the batch.
TARGET, NUMBER, ITS_RANK, ITS_POSITION, ITS_HORIZON, ITS_TIMESTAMP, ITS_ROW = range(7)
BATCH_WORDS = 7
NO_PAIR = -1
# A window's tuple has these beside its row and rank; its stamp is its position.
EXTRA_HORIZON, EXTRA_TIMESTAMP = 0, 1
EXTRAS = 2


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


class Core(NamedTuple):
    """What one core keeps for itself."""

    r: Window
    s: Window
    flying: Window  # S tuples that were handed on and are not acknowledged yet
    extras_r: np.ndarray
    extras_s: np.ndarray
    extras_flying: np.ndarray
    asking_s: Comparing  # tuples of R, against the window of S
    asking_r: Comparing
    asking_flying: Comparing
    batch: np.ndarray  # (3 * PASS * BATCH_WORDS)
    words: np.ndarray
    tables: Any
    number: int


class Driver(NamedTuple):
    """The thread that feeds both ends of the chain."""

    ready: np.ndarray  # a tuple of the gate
    # Of each stream, by position: timestamps of what has not expired.
    times_r: np.ndarray
    times_s: np.ndarray
    words: np.ndarray
    span: int
    count: int


# The driver's words: the next rank; by side the next position, the first that has not expired, and
# what was sent since the other end last heard; whether a tuple waits for room, and what is said at
# the end.
NEXT_RANK = 0
SEEN, FIRST, SINCE = 1, 3, 5
WAITING, ENDING = 7, 8


def check(name: str, extent: Extent, shape: Shape) -> None:
    """Refuse what a handshake join does not do.

    Raises
    ------
    UsageError
        For several physical streams, or another purge.
    """
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


def make_driver(extent: Extent, capacity: int) -> Driver:
    """Return a driver that knows the timestamps of so many tuples of each stream."""
    times = (aligned_words(capacity + 1) for _ in "rs")
    return Driver(
        aligned_words(4), *times, aligned_words(2 * LINE_WORDS), extent.span, extent.count
    )


def make_core(predicate: Predicate, tables: Any, capacity: int, flying: int, number: int) -> Core:
    """Return a core with empty windows."""
    r, s = (make_window(predicate, capacity) for _ in "rs")
    between = make_window(predicate, flying)
    kept = (s, r, between)
    return Core(
        r, s, between,
        *(aligned_words(EXTRAS * each.capacity) for each in (r, s, between)),
        *(make_comparing(predicate, each) for each in kept),
        aligned_words(len(kept) * PASS * BATCH_WORDS),
        aligned_words(CORE_WORDS),
        tables,
        number,
    )  # fmt: skip


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
def is_full(window):
    """Whether a window has no room for a tuple beside those that it has."""
    return window.words[windows.NEXT] - window.words[windows.FIRST] >= window.capacity - 2 * PASS


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


# --- the driver -----------------------------------------------------------------------------------


@inlined
def drive(chain, driver):
    """Send the next ready tuple to its end of the chain: READY, NOT_READY or END."""
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
    """Give a tuple its rank and position, and let expire what it does.

    False when there is no room for its timestamp.
    """
    words = driver.words
    own, other = (driver.times_r, driver.times_s) if side == R else (driver.times_s, driver.times_r)
    if driver.count == 0:
        # Of both: nothing that comes later meets them.
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
    """Return how many tuples the driver has sent."""
    return driver.words[NEXT_RANK]


@inlined
def expire(words, side, times, horizon):
    """Let positions expire whose timestamps are below the horizon."""
    first = words[FIRST + side]
    while first < words[SEEN + side] and peek(times, first % len(times)) < horizon:
        first += 1
    words[FIRST + side] = first


@inlined
def send_numbered(chain, driver):
    """Send what expires, then the tuple that was numbered last, then a punctuation now and then."""
    words = driver.words
    side = R if driver.ready[1] < chain.r_streams else S
    ring = way_of(chain, side, 0 if side == R else chain.cores - 1)
    back = way_of(chain, 1 - side, chain.cores - 1 if side == R else 0)
    if words[WAITING] == 1:
        # Ahead of the tuple: what has expired it does not meet.
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
    if words[SINCE + side] >= PUNCTUATE_EACH:
        if not send(chain.ways, back, PUNCTUATION, words[NEXT_RANK]):
            return NOT_READY
        words[SINCE + side] = 0
    words[WAITING] = 0
    return READY


@inlined
def say_the_end(chain, driver):
    """Tell both ends that everything has expired and that there is no more."""
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


# --- a core's batch -------------------------------------------------------------------------------


@inlined
def asking_of(core, target):
    """Return the comparisons with a target."""
    if target == WITH_S:
        return core.asking_s
    return core.asking_r if target == WITH_R else core.asking_flying


@inlined
def window_of(core, target):
    """Return the window that is the target."""
    if target == WITH_S:
        return core.s
    return core.r if target == WITH_R else core.flying


@inlined
def extra_of(core, target, place, word):
    """Return what else belongs to the tuple at a place of a target."""
    at = EXTRAS * place + word
    if target == WITH_S:
        return peek(core.extras_s, at)
    return peek(core.extras_r, at) if target == WITH_R else peek(core.extras_flying, at)


@inlined
def set_extra(core, target, place, word, value):
    """Keep what else belongs to the tuple at a place of a target."""
    at = EXTRAS * place + word
    if target == WITH_S:
        poke(core.extras_s, at, value)
    elif target == WITH_R:
        poke(core.extras_r, at, value)
    else:
        poke(core.extras_flying, at, value)


@inlined
def begin_batch(core):
    """Begin another batch: all pairs of the last one were given out.

    What its tuples are compared with stays until the next one, whatever leaves the windows.
    """
    words = core.words
    words[BATCH], words[GIVEN], words[GIVEN_CHUNK] = 0, 0, 0
    for target in range(3):
        words[ASKED + target] = 0
    words[NEEDED + WITH_S] = core.s.words[windows.FIRST]
    words[NEEDED + WITH_R] = core.r.words[windows.FIRST]
    words[NEEDED + WITH_FLYING] = core.flying.words[windows.FIRST]


class CoreSteps(NamedTuple):
    """The steps of a core under a predicate, as inlined functions.

    ``keep(core, chain, place, side, target)`` puts the tuple of a message into a window; False when
    there is no room. ``ask(core, chain, place, side, target, window, end)`` lets it be
    compared with a window's positions below `end`. ``compare(core)`` makes the comparisons of the
    batch; ``emit(chain, core)`` sends its pairs: READY, or NOT_READY where there is no room now.
    """

    keep: Callable[..., bool]
    keep_tuple: Callable[..., bool]
    ask: Callable[..., None]
    compare: Callable[..., None]
    emit: Callable[..., int]


@cache
def make_core_steps(predicate: Predicate) -> CoreSteps:
    """Return the steps of a core under a predicate."""
    enter, ask_window, compare_with, _ = make_window_steps(predicate)
    combine = predicate.combine

    @inlined
    def keep_tuple(core, target, side, rank, position, horizon, timestamp, row):
        window = window_of(core, target)
        at = place_of(window, window.words[windows.NEXT])
        needed = core.words[NEEDED + target]
        if not enter(window, (), core.tables, side, row, rank, position, needed):
            return False
        set_extra(core, target, at, EXTRA_HORIZON, horizon)
        set_extra(core, target, at, EXTRA_TIMESTAMP, timestamp)
        return True

    @inlined
    def keep(core, chain, place, side, target):
        records = chain.ways.records
        return keep_tuple(
            core, target, side, peek(records, place + RANK), peek(records, place + POSITION),
            peek(records, place + HORIZON), peek(records, place + TIMESTAMP),
            peek(records, place + ROW),
        )  # fmt: skip

    @inlined
    def ask(core, chain, place, side, target, end):
        records, words = chain.ways.records, core.words
        asking, asked = asking_of(core, target), words[ASKED + target]
        row = peek(records, place + ROW)
        ask_window(asking, asked, core.tables, side, row, window_of(core, target), ())
        asking.ranges[3 * asked + windows.END] = end
        words[COMPARISONS] += end - asking.ranges[3 * asked + windows.BEGIN]
        words[ASKED + target] = asked + 1
        at = BATCH_WORDS * words[BATCH]
        poke(core.batch, at + TARGET, target)
        poke(core.batch, at + NUMBER, asked)
        poke(core.batch, at + ITS_RANK, peek(records, place + RANK))
        poke(core.batch, at + ITS_POSITION, peek(records, place + POSITION))
        poke(core.batch, at + ITS_HORIZON, peek(records, place + HORIZON))
        poke(core.batch, at + ITS_TIMESTAMP, peek(records, place + TIMESTAMP))
        poke(core.batch, at + ITS_ROW, row)
        words[BATCH] += 1

    @inlined
    def compare(core):
        words = core.words
        if words[ASKED + WITH_S] > 0:
            compare_with(core.asking_s, words[ASKED + WITH_S], core.s, R)
        if words[ASKED + WITH_R] > 0:
            compare_with(core.asking_r, words[ASKED + WITH_R], core.r, S)
        if words[ASKED + WITH_FLYING] > 0:
            compare_with(core.asking_flying, words[ASKED + WITH_FLYING], core.flying, R)

    @inlined
    def send_pair(chain, core, at, position):
        """Send a pair, if it counts: READY, NOT_READY or TOO_FAR."""
        batch, target = core.batch, peek(core.batch, at + TARGET)
        window = window_of(core, target)
        kept = place_of(window, position)
        rank, other = peek(batch, at + ITS_RANK), peek(window.ranks, kept)
        later = max(rank, other)
        counts = (
            peek(window.stamps, kept) >= peek(batch, at + ITS_HORIZON)
            and peek(batch, at + ITS_POSITION) >= extra_of(core, target, kept, EXTRA_HORIZON)
            # Those that were filled in have met before.
            and later >= core.words[FILLED]
        )
        if not counts:
            return READY
        key = key_of(later, min(rank, other))
        if key < 0:
            return TOO_FAR
        place = claim(chain.pairs, core.number)
        if place == NO_SLOT:
            return NOT_READY
        timestamp = peek(batch, at + ITS_TIMESTAMP)
        if other == later:
            timestamp = extra_of(core, target, kept, EXTRA_TIMESTAMP)
        row, kept_row = peek(batch, at + ITS_ROW), peek(window.rows, kept)
        r_row, s_row = (kept_row, row) if target == WITH_R else (row, kept_row)
        poke(chain.pairs.records, place, key)
        combine(core.tables, timestamp, r_row, s_row, chain.pairs.records, place + 1)
        publish(chain.pairs, core.number)
        return READY

    @inlined
    def emit(chain, core):
        words = core.words
        while words[GIVEN] < words[BATCH]:
            at = BATCH_WORDS * words[GIVEN]
            asking, asked = asking_of(core, peek(core.batch, at + TARGET)), core.batch[at + NUMBER]
            if words[GIVEN_CHUNK] == asking.ranges[3 * asked + FOUND]:
                words[GIVEN] += 1
                words[GIVEN_CHUNK] = 0
                continue
            place = asked * asking.stride + 2 * words[GIVEN_CHUNK]
            mask = asking.found[place + 1]
            if mask == 0:
                words[GIVEN_CHUNK] += 1
                continue
            status = send_pair(chain, core, at, asking.found[place] + lowest_bit(mask))
            if status != READY:
                return status
            asking.found[place + 1] = without_lowest_bit(mask)
        return READY

    return CoreSteps(keep, keep_tuple, ask, compare, emit)


@inlined
def forward(chain, ring, window, extras, position):
    """Send a tuple of a window on: whether there was room."""
    place = claim(chain.ways, ring)
    if place == NO_SLOT:
        return False
    at = place_of(window, position)
    send_tuple(
        chain.ways, ring, place, peek(window.ranks, at), peek(window.stamps, at),
        peek(extras, EXTRAS * at + EXTRA_HORIZON), peek(extras, EXTRAS * at + EXTRA_TIMESTAMP),
        peek(window.rows, at),
    )  # fmt: skip
    return True


@inlined
def compared(core):
    """Return how many comparisons a core has made."""
    return core.words[COMPARISONS]


@inlined
def end_core(chain, core):
    """Say that a core's last pair is sent."""
    # RELEASE, so that who sees it finds every pair in the ring.
    store(chain.ended, core.number * LINE_WORDS, 1, RELEASE)


def check_invariants(state: State) -> None:
    """Check gate, rings and windows of a chain at rest.

    Raises
    ------
    AssertionError
        Naming the core and the invariant.
    """
    t_gate.check_invariants(state.shared.gate_in)
    spsc_ring.check_invariants(state.shared.ways)
    spsc_ring.check_invariants(state.shared.pairs)
    for core in state.threads:
        check_core(core)


def check_core(core: Core) -> None:
    """Check the windows of a core at rest.

    Raises
    ------
    AssertionError
        Naming the core and the invariant.
    """
    for name, each in (("R", core.r), ("S", core.s), ("S under way", core.flying)):
        try:
            windows.check_invariants(each)
        except AssertionError as error:
            raise AssertionError(f"core {core.number}, window of {name}: {error}") from None
