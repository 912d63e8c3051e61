"""The index-based window join (IBWJ): an index for each window, one thread.

Source: section 2.2 of "Parallel Index-based Stream Join on a Multicore CPU", figure 1;
`operators.join.window` has the steps of a tuple. The nested-loop join is the same over an index
that compares every key. A variant is a line of the table at the end: the join over one index.

A step takes the next tuple of the feed, processes it and gives the partners out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators import registry
from operators.contract import END, Variant
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.vectors import peek, poke
from operators.index.family import IndexOperations
from operators.join import window
from operators.join.family import (
    COUNT,
    FOUND,
    JoinOperations,
    State,
    Timing,
    make_output,
)
from operators.join.feed import NEITHER, side_of_next, time_of
from operators.join.window import (
    Windows,
    behind,
    each_window,
    footprint_of,
    make_process,
    make_steps,
    make_timed_process,
    make_windows,
    seen_of,
    seen_of_both,
    views_of,
)


class Joiner(NamedTuple):
    """The one thread."""

    windows: Windows
    places: np.ndarray  # by side: index of the next tuple in the array of keys


class NoSharedState(NamedTuple):
    """The shared part of a join of one thread, unused."""

    words: np.ndarray


def state_of(windows: Windows) -> State:
    """Return the state of a join of one thread over `windows`."""
    joiner = Joiner(windows, aligned_words(LINE_WORDS))
    return State(NoSharedState(aligned_words(1)), (joiner,), make_output(windows.length))


@inlined
def seen(joiner):
    """Return the number of processed tuples of both streams."""
    return seen_of_both(joiner.windows)


# --- steps ----------------------------------------------------------------------------------------


@inlined
def prepare_nothing(joiner, feed, r, s):
    """Do nothing: the default of `prepare`."""


def make_step_of(
    process: Callable[..., int],
    timed: Callable[..., int] | None = None,
    timing: Timing | None = None,
    on_output: Callable[..., None] | None = None,
    prepare: Callable[..., None] = prepare_nothing,
) -> Callable[..., int]:
    """Return the step of a join.

    Parameters
    ----------
    process, timed : callable
        Made by `operators.join.window`; `timed` is needed with `timing`.
    timing, on_output
        As for ``JoinOperations.make_step``.
    prepare : callable
        ``prepare(joiner, feed, r, s)``: called before tuple `r` of R is processed, when the next
        one of S is `s`.
    """
    is_due = timing.is_due if timing else None

    @inlined
    def process_next(joiner, output, feed, side, position):
        windows, out = joiner.windows, output.partners
        keys = feed.r if side == 0 else feed.s
        place = peek(joiner.places, side)
        key = peek(keys, place)
        poke(joiner.places, side, behind(place, len(keys)))
        time = time_of(feed, side, position) if windows.span > 0 else 0
        if is_due is not None and is_due(feed.notes):
            count = timed(windows, side, key, time, out, feed.notes)
        else:
            count = process(windows, side, key, time, out, feed.probing)
        if count < 0:
            return count
        output.words[COUNT] = count
        return FOUND

    @inlined
    def step(shared, joiner, output, feed):
        """Process the next tuple; with `on_output` also a tuple of S that follows one of R.

        This matches a loop over rows. Compared with that loop, a bench of the join over a PIM-Tree
        made, with two tuples a step, 1.020, 1.014 and 1.027 times as many tuples at windows of
        2**10, 2**16 and 2**20; with one tuple a step, 0.968 at 2**16 (processor time, geometric
        means of 20, 48, 24 and 90 pairs of runs in turns). On two busy cores the difference between
        one and two is within the noise: medians of three pairs are 1.01, 1.00 and 1.01, and pairs
        range from 0.87 to 1.28.
        """
        r, s = seen_of(joiner.windows, 0), seen_of(joiner.windows, 1)
        side = side_of_next(feed, r, s)
        if side == NEITHER:
            return END
        if side == 0:
            prepare(joiner, feed, r, s)
            status = process_next(joiner, output, feed, 0, r)
            if on_output is None or status != FOUND or side_of_next(feed, r + 1, s) != 1:
                return status
            on_output(feed.notes, output)
        return process_next(joiner, output, feed, 1, s)

    return step


def make_operations(index: IndexOperations) -> JoinOperations:
    """Return the operations of a join over an index."""
    steps = make_steps(index, whole=True)

    def make_state(window: int, half_width: int, **parameters: Any) -> State:
        """Return an empty join; parameters and errors are those of ``make_windows``."""
        (windows,) = views_of(index, make_windows(index, window, half_width, **parameters), 1)
        return state_of(windows)

    @cache
    def step_with(
        timing: Timing | None, on_output: Callable[..., None] | None
    ) -> Callable[..., int]:
        timed = make_timed_process(steps, index.merge_ns, timing.note) if timing else None
        return make_step_of(make_process(steps), timed, timing, on_output)

    def make_step(
        timing: Timing | None = None,
        on_output: Callable[..., None] | None = None,
        **parameters: Any,
    ) -> Callable[..., int]:
        """Return the step, which does not depend on parameters."""
        return step_with(timing, on_output)

    def merge_ns(state: State) -> int:
        return sum(int(index.merge_ns(each.index)) for each in each_window(windows_of(state)))

    def footprint(state: State) -> dict[str, int]:
        return footprint_of(index, each_window(windows_of(state)))

    def inserted(state: State) -> np.ndarray:
        return np.concatenate([index.inserted(one.index) for one in each_window(windows_of(state))])

    def cycle(state: State) -> int:
        return index.cycle(windows_of(state).r.index)

    def check_invariants(state: State) -> None:
        window.check_invariants(index, windows_of(state))

    return JoinOperations(
        make_state=make_state,
        make_step=make_step,
        seen=seen,
        merge_ns=merge_ns,
        footprint=footprint,
        inserted=inserted,
        cycle=cycle,
        check_invariants=check_invariants,
    )


def windows_of(state: State) -> Windows:
    """Return the windows of the one thread."""
    return state.threads[0].windows


def _variant(index: Variant) -> Variant:
    return Variant(
        id=index.id,
        family="join",
        title=index.title,
        paper="pim_tree",
        section=index.section,
        operations=make_operations(index.operations),
        order="pairs in the order of arrival of the probing tuple",
        progress="blocking",
        threads={"joiner": "one"},
        capacity="the tuples of a window",
        parameters=index.parameters,
        look=index.look,
        extended=index.extended,
        extends=index.extends,
        shown=index.shown,
        threaded=index.threaded,
    )


# An index that several threads share has the join of section 4 (`operators.join.shared_join`).
VARIANTS = tuple(
    _variant(index) for index in registry.declared_in("index") if index.operations.shared is None
)
