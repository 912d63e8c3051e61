"""A join by several threads on one index, as a stranger would hang it on the family.

Whoever has the lock processes the next tuple and keeps the lock until its partners were taken.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, Parameter, Variant
from operators.core.atomics import ACQUIRE, RELEASE, cas, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek, poke
from operators.index.nested_loop import VARIANT as INDEX
from operators.join.family import COUNT, FOUND, JoinOperations, State, make_output
from operators.join.feed import NEITHER, side_of_next, time_of
from operators.join.window import (
    Windows,
    behind,
    each_window,
    footprint_of,
    make_process,
    make_steps,
    make_windows,
    seen_of,
)
from operators.join.window import check_invariants as check_windows

FREE, TAKEN = range(2)
# Words of a thread.
HAS_LOCK, SEEN = range(2)


class Shared(NamedTuple):
    lock: np.ndarray
    windows: Windows
    places: np.ndarray


class Thread(NamedTuple):
    words: np.ndarray


def make_state(window, half_width, *, threads=2, **parameters):
    shared = Shared(
        aligned_words(LINE_WORDS),
        make_windows(INDEX.operations, window, half_width, **parameters),
        aligned_words(LINE_WORDS),
    )
    each = tuple(Thread(aligned_words(LINE_WORDS)) for _ in range(threads))
    return State(shared, each, make_output(window))


@inlined
def seen(thread):
    return thread.words[SEEN]


@cache
def _step():
    process = make_process(make_steps(INDEX.operations, whole=True))

    @inlined
    def step(shared, thread, output, feed):
        if thread.words[HAS_LOCK] != 0:
            thread.words[HAS_LOCK] = 0
            store(shared.lock, 0, FREE, RELEASE)
        if not cas(shared.lock, 0, FREE, TAKEN, ACQUIRE):
            return NOT_READY
        windows = shared.windows
        r, s = seen_of(windows, 0), seen_of(windows, 1)
        side = side_of_next(feed, r, s)
        if side == NEITHER:
            store(shared.lock, 0, FREE, RELEASE)
            return END
        keys = feed.r if side == 0 else feed.s
        place = peek(shared.places, side)
        poke(shared.places, side, behind(place, len(keys)))
        time = time_of(feed, side, r if side == 0 else s) if windows.span > 0 else 0
        count = process(windows, side, peek(keys, place), time, output.partners, feed.probing)
        if count < 0:
            return count
        output.words[COUNT] = count
        thread.words[HAS_LOCK] = 1
        thread.words[SEEN] += 1
        return FOUND

    return step


def make_step(timing=None, take=None, **parameters):
    return _step()


def merge_ns(state):
    return 0


def footprint(state):
    return footprint_of(INDEX.operations, each_window(state.shared.windows))


def inserted(state):
    return np.zeros(0, dtype=np.int64)


def cycle(state):
    return 1


def check_invariants(state):
    check_windows(INDEX.operations, state.shared.windows)
    seen_of_all = sum(int(seen(thread)) for thread in state.threads)
    windows = state.shared.windows
    assert seen_of_all == seen_of(windows, 0) + seen_of(windows, 1), "a tuple is missing"


VARIANT = Variant(
    id="one-lock",
    family="join",
    title="One lock",
    paper="none",
    section="a toy",
    operations=JoinOperations(
        make_state=make_state,
        make_step=make_step,
        seen=seen,
        merge_ns=merge_ns,
        footprint=footprint,
        inserted=inserted,
        cycle=cycle,
        check_invariants=check_invariants,
    ),
    order="pairs in the order of arrival of the probing tuple",
    progress="blocking",
    threads={"joiner": "1 to 16"},
    capacity="the tuples of a window",
    parameters=(Parameter("threads", 2, 1, 16, "threads", "that take tuples in turns"),),
    extended=True,
)
