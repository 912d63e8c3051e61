"""A join by several threads on one index, as an external author would add it to the family.

The thread that holds the lock processes the next tuple, and keeps the lock until the partners have
been taken. Each thread has a separate view of the index. The first of several threads retires: it
reaches END after FEW tuples, long before the others.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.contract import END, NOT_READY, READY, Parameter, Variant
from operators.core.atomics import ACQUIRE, RELEASE, cas, store
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek, poke
from operators.index import nested_loop
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
    views_of,
)
from operators.join.window import check_invariants as check_windows

FREE, TAKEN = range(2)
# Words of a thread.
HAS_LOCK, SEEN, RETIRES = range(3)
FEW = 5


class View(NamedTuple):
    """A thread's view of the shared index."""

    index: Any
    inserted: np.ndarray  # tuples that the thread has inserted


def views(index, threads):
    return tuple(View(index, aligned_words(LINE_WORDS)) for _ in range(threads))


@inlined
def insert(view, key, position):
    view.inserted[0] += 1
    return nested_loop.insert(view.index, key, position)


@inlined
def remove(view, key, position):
    nested_loop.remove(view.index, key, position)


@inlined
def find(view, low, place):
    nested_loop.find(view.index, low, place)


@inlined
def scan(view, low, high, place, out):
    return nested_loop.scan(view.index, low, high, place, out)


INDEX = nested_loop.VARIANT.operations._replace(
    views=views,
    insert=insert,
    remove=remove,
    find=find,
    scan=scan,
    places=lambda view: 1,
)


class Shared(NamedTuple):
    lock: np.ndarray
    windows: Windows  # over the index itself
    places: np.ndarray


class Thread(NamedTuple):
    windows: Windows  # over the thread's view of the index
    words: np.ndarray


def make_state(window, half_width, *, threads=2, **parameters):
    windows = make_windows(INDEX, window, half_width, **parameters)
    each = tuple(
        Thread(view, aligned_words(LINE_WORDS)) for view in views_of(INDEX, windows, threads)
    )
    each[0].words[RETIRES] = int(threads > 1)
    shared = Shared(aligned_words(LINE_WORDS), windows, aligned_words(LINE_WORDS))
    return State(shared, each, make_output(window))


@inlined
def seen(thread):
    return thread.words[SEEN]


@cache
def _step():
    process = make_process(make_steps(INDEX, whole=True))

    @inlined
    def step(shared, thread, output, feed):
        if thread.words[HAS_LOCK] != 0:
            thread.words[HAS_LOCK] = 0
            store(shared.lock, 0, FREE, RELEASE)
            return READY
        if thread.words[RETIRES] != 0 and thread.words[SEEN] >= FEW:
            return END
        if not cas(shared.lock, 0, FREE, TAKEN, ACQUIRE):
            return NOT_READY
        windows = thread.windows
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


def make_step(timing=None, on_output=None, **parameters):
    return _step()


def merge_ns(state):
    return 0


def footprint(state):
    return footprint_of(INDEX, each_window(state.shared.windows))


def inserted(state):
    return np.zeros(0, dtype=np.int64)


def cycle(state):
    return 1


def check_invariants(state):
    check_windows(INDEX, state.shared.windows)
    for thread in state.threads:
        inserted_here = sum(int(each.index.inserted[0]) for each in each_window(thread.windows))
        assert inserted_here == seen(thread), "a thread uses the view of another one"
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
