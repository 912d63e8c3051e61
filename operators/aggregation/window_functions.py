"""What a tuple does to a window of a W-Hive: the paper's ``processTuple``, in two ways.

*Shared*: threads update a window side by side (WiML), so each word changes by an atomic step.
*Owned*: one thread updates all windows of a key (TuMLMC), so plain words do.

Either way nobody reads a window's words before all threads have passed its winset, and passing is a
RELEASE store (``w_hive.turn_to``): RELAXED is enough for the steps themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from operators.aggregation.functions import AVG, COUNT, LOW_BITS, LOW_MASK, MAX, MIN, SUM
from operators.aggregation.text_predicates import matches
from operators.aggregation.w_hive import make_update_windows
from operators.core.atomics import RELAXED, cas, fetch_add, load
from operators.core.jit import inlined
from operators.core.marks import mark


@inlined
def count_shared(winsets, at, function, value, matched):
    """Count a tuple, or not where its text does not match."""
    if matched != 0:
        fetch_add(winsets.n, at, 1, RELAXED)


@inlined
def sum_shared(winsets, at, function, value, matched):
    """Add a value, in two words that cannot overflow where one could."""
    fetch_add(winsets.n, at, 1, RELAXED)
    fetch_add(winsets.a, at, value & LOW_MASK, RELAXED)
    if value >> LOW_BITS != 0:
        fetch_add(winsets.b, at, value >> LOW_BITS, RELAXED)


@inlined
def extreme_shared(winsets, at, function, value, matched):
    """Keep the smallest or the largest value."""
    fetch_add(winsets.n, at, 1, RELAXED)
    kept = load(winsets.a, at, RELAXED)
    while value < kept if function == MIN else value > kept:
        if cas(winsets.a, at, kept, value, RELAXED):
            return
        mark("wiml: another value was kept meanwhile")
        kept = load(winsets.a, at, RELAXED)


@inlined
def count_owned(winsets, at, function, value, matched):
    """Count a tuple, or not where its text does not match."""
    winsets.n[at] += matched


@inlined
def sum_owned(winsets, at, function, value, matched):
    """Add a value, in two words that cannot overflow where one could."""
    winsets.n[at] += 1
    winsets.a[at] += value & LOW_MASK
    winsets.b[at] += value >> LOW_BITS


@inlined
def extreme_owned(winsets, at, function, value, matched):
    """Keep the smallest or the largest value."""
    kept = winsets.a[at]
    if value < kept if function == MIN else value > kept:
        winsets.a[at] = value
    winsets.n[at] += 1


@inlined
def first_owned(winsets, at, function, value, matched):
    """Keep the first value seen."""
    if winsets.n[at] == 0:
        winsets.a[at] = value
    winsets.n[at] += 1


def make_update(
    count: Callable[..., None], add: Callable[..., None], extreme: Callable[..., None]
) -> Callable[..., int]:
    """Return ``update(hive, thread, own, key, value)`` for every function without an order.

    Parameters
    ----------
    count, add, extreme : callable
        What a tuple does to a window, all shared or all owned.

    Returns
    -------
    callable
        Answers as ``w_hive.update_windows`` does: ACCEPTED or FULL.
    """
    update_counts = make_update_windows(count)
    update_sums = make_update_windows(add)
    update_extremes = make_update_windows(extreme)

    @inlined
    def update(hive, thread, own, key, value):
        function = hive.function
        if function == COUNT:
            return update_counts(hive, thread, own, key, value, 1)
        if function == SUM or function == AVG:
            return update_sums(hive, thread, own, key, value, 1)
        if function == MIN or function == MAX:
            return update_extremes(hive, thread, own, key, value, 1)
        matched = matches(function, hive.text_offsets, hive.text_bytes, value)
        return update_counts(hive, thread, own, key, value, np.int64(matched))

    return update
