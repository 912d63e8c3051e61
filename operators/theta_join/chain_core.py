"""The windows of one core of a chain, the comparison of a batch, and the sending of pairs.

A core takes some messages, notes for each tuple the windows to compare with and their current
extent (`ask`), and makes all comparisons in one pass a window. A pair counts when each tuple is at
or after the other's horizon (`operators.theta_join.chain`), unless both were filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import NOT_READY, READY
from operators.core import spsc_ring
from operators.core.atomics import RELEASE, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spsc_ring import NO_SLOT, claim, publish
from operators.core.vectors import peek, poke
from operators.gate import t_gate
from operators.theta_join import window as windows
from operators.theta_join.chain import HORIZON, POSITION, RANK, ROW, TIMESTAMP, send_tuple
from operators.theta_join.family import TOO_FAR, R, S, State
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import key_of
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

# A core's words: comparisons; tuples of the batch, tuples and chunks given out; filled-in tuples.
COMPARISONS, BATCH, GIVEN, GIVEN_CHUNK, FILLED = range(5)
# By target: the number of tuples of the batch that are compared with it.
ASKED = 5
NEEDED = 8  # and the oldest position that has to stay
OWN_WORDS = 2 * LINE_WORDS  # those of a variant follow
CORE_WORDS = 6 * LINE_WORDS
# The targets: windows that a tuple of the batch is compared with.
WITH_S, WITH_R, WITH_FLYING = range(3)
# Words of a tuple of the batch.
TARGET, NUMBER, ITS_RANK, ITS_POSITION, ITS_HORIZON, ITS_TIMESTAMP, ITS_ROW = range(7)
BATCH_WORDS = 7
# A window's tuple has these in addition to row and rank; the stamp is the position.
EXTRA_HORIZON, EXTRA_TIMESTAMP = 0, 1
EXTRAS = 2


class Core(NamedTuple):
    """The data of one core."""

    r: Window
    s: Window
    flying: Window  # tuples of S in flight: handed on and not acknowledged yet
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


@inlined
def asking_of(core, target):
    """Return the comparing tuples of a target."""
    if target == WITH_S:
        return core.asking_s
    return core.asking_r if target == WITH_R else core.asking_flying


@inlined
def window_of(core, target):
    """Return the window of a target."""
    if target == WITH_S:
        return core.s
    return core.r if target == WITH_R else core.flying


@inlined
def extra_of(core, target, place, word):
    """Return an extra word of the tuple in a slot of a target."""
    at = EXTRAS * place + word
    if target == WITH_S:
        return peek(core.extras_s, at)
    return peek(core.extras_r, at) if target == WITH_R else peek(core.extras_flying, at)


@inlined
def set_extra(core, target, place, word, value):
    """Set an extra word of the tuple in a slot of a target."""
    at = EXTRAS * place + word
    if target == WITH_S:
        poke(core.extras_s, at, value)
    elif target == WITH_R:
        poke(core.extras_r, at, value)
    else:
        poke(core.extras_flying, at, value)


@inlined
def has_room(core, target):
    """Whether a window has room for a tuple in addition to those that this batch needs."""
    window = window_of(core, target)
    return window.words[windows.NEXT] - core.words[NEEDED + target] < window.capacity


@inlined
def begin_batch(core):
    """Begin another batch: all pairs of the last one were given out.

    The tuples that the batch is compared with stay until the next one, even if purged.
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
    there is no room; ``keep_tuple(core, target, side, ...)`` does so without a message.
    ``ask(core, chain, place, side, target, end)`` adds it to the batch, to be compared with the
    target's positions below `end`. ``compare(core)`` makes the comparisons of the batch;
    ``emit(chain, core)`` sends the pairs: READY, or NOT_READY when there is no room now.
    """

    keep: Callable[..., bool]
    keep_tuple: Callable[..., bool]
    ask: Callable[..., None]
    compare: Callable[..., None]
    emit: Callable[..., int]


@cache
def make_emit(predicate: Predicate) -> Callable[..., int]:
    """Return ``emit`` of a core, see ``CoreSteps``."""
    combine = predicate.combine

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
            # Two filled-in tuples do not form a pair.
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

    return emit


@cache
def make_core_steps(predicate: Predicate) -> CoreSteps:
    """Return the steps of a core under a predicate."""
    enter, ask_window, compare_with, _ = make_window_steps(predicate)

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

    return CoreSteps(keep, keep_tuple, ask, compare, make_emit(predicate))


@inlined
def compared(core):
    """Return the number of comparisons that a core has made."""
    return core.words[COMPARISONS]


@inlined
def end_core(chain, core):
    """Publish that a core's last pair is sent."""
    # RELEASE: a thread that sees it finds every pair in the ring.
    store(chain.ended, core.number * LINE_WORDS, 1, RELEASE)


def check_core(core: Core) -> None:
    """Check the windows of a core in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it and the core.
    """
    for name, each in (("R", core.r), ("S", core.s), ("S in flight", core.flying)):
        try:
            windows.check_invariants(each)
        except AssertionError as error:
            raise AssertionError(f"core {core.number}, window of {name}: {error}") from None


@inlined
def forward(chain, ring, window, extras, position):
    """Send a tuple of a window on; return whether there was room."""
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


def check_chain(state: State) -> None:
    """Check gate, rings and windows of a chain in a quiescent state.

    Raises
    ------
    AssertionError
        When an invariant does not hold; the message names it and the core.
    """
    t_gate.check_invariants(state.shared.gate_in)
    spsc_ring.check_invariants(state.shared.ways)
    spsc_ring.check_invariants(state.shared.pairs)
    for core in state.threads:
        check_core(core)
