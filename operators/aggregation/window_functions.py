"""The effect of a tuple on a window of a W-Hive: the paper's ``processTuple``, in two forms.

*Shared*: several threads update a window (WiML), so each word changes by an atomic step.
*Owned*: one thread updates all windows of a key (TuMLMC), so plain words suffice.

As printed (Algorithm 5, L80), it runs in every window that a tuple contributes to, and so does the
predicate of a text function, the expensive part of it.

In both forms no thread reads a window's words before all threads have passed the winset, and
passing is a RELEASE store (``w_hive.turn_to_winsets``): RELAXED suffices for the steps themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.aggregation.functions import (
    AVG,
    COUNT,
    FIRST_MAIL,
    LOW_BITS,
    LOW_MASK,
    MAX,
    MIN,
    SUM,
)
from operators.aggregation.shared_winsets import A, B, N
from operators.aggregation.text_predicates import matches
from operators.aggregation.w_hive import make_update_windows
from operators.core.atomics import RELAXED, cas, fetch_add, load
from operators.core.jit import inlined
from operators.core.marks import mark


@inlined
def count_shared(hive, at, value):
    """Count a tuple."""
    fetch_add(hive.winsets.words, at + N, 1, RELAXED)


@inlined
def text_shared(hive, at, value):
    """Count a tuple if the text matches."""
    if matches(hive.function, hive.text_offsets, hive.text_bytes, value):
        count_shared(hive, at, value)


@inlined
def sum_shared(hive, at, value):
    """Add a value, in two words that cannot overflow where one could."""
    fetch_add(hive.winsets.words, at + N, 1, RELAXED)
    fetch_add(hive.winsets.words, at + A, value & LOW_MASK, RELAXED)
    if value >> LOW_BITS != 0:
        fetch_add(hive.winsets.words, at + B, value >> LOW_BITS, RELAXED)


@inlined
def extreme_shared(hive, at, value):
    """Keep the smallest or the largest value."""
    fetch_add(hive.winsets.words, at + N, 1, RELAXED)
    kept = load(hive.winsets.words, at + A, RELAXED)
    while value < kept if hive.function == MIN else value > kept:
        if cas(hive.winsets.words, at + A, kept, value, RELAXED):
            return
        mark("wiml: another value was kept meanwhile")
        kept = load(hive.winsets.words, at + A, RELAXED)


@inlined
def count_owned(hive, at, value):
    """Count a tuple."""
    hive.winsets.words[at + N] += 1


@inlined
def text_owned(hive, at, value):
    """Count a tuple if the text matches, or keep the first matching one."""
    if matches(hive.function, hive.text_offsets, hive.text_bytes, value):
        if hive.function >= FIRST_MAIL:
            first_owned(hive, at, value)
        else:
            count_owned(hive, at, value)


@inlined
def sum_owned(hive, at, value):
    """Add a value, in two words that cannot overflow where one could."""
    hive.winsets.words[at + N] += 1
    hive.winsets.words[at + A] += value & LOW_MASK
    hive.winsets.words[at + B] += value >> LOW_BITS


@inlined
def extreme_owned(hive, at, value):
    """Keep the smallest or the largest value."""
    kept = hive.winsets.words[at + A]
    if value < kept if hive.function == MIN else value > kept:
        hive.winsets.words[at + A] = value
    hive.winsets.words[at + N] += 1


@inlined
def first_owned(hive, at, value):
    """Keep the first value seen."""
    if hive.winsets.words[at + N] == 0:
        hive.winsets.words[at + A] = value
    hive.winsets.words[at + N] += 1


def make_update(
    count: Callable[..., None],
    text: Callable[..., None],
    add: Callable[..., None],
    extreme: Callable[..., None],
) -> Callable[..., int]:
    """Return ``update(hive, thread, key, value)`` for every function but ``first``.

    Parameters
    ----------
    count, text, add, extreme : callable
        The effect of a tuple on a window, all shared or all owned.

    Returns
    -------
    callable
        Answers as ``w_hive.update_windows`` does: ACCEPTED or FULL.
    """
    update_counts = make_update_windows(count)
    update_texts = make_update_windows(text)
    update_sums = make_update_windows(add)
    update_extremes = make_update_windows(extreme)

    @inlined
    def update(hive, thread, key, value):
        function = hive.function
        if function == COUNT:
            return update_counts(hive, thread, key, value)
        if function == SUM or function == AVG:
            return update_sums(hive, thread, key, value)
        if function == MIN or function == MAX:
            return update_extremes(hive, thread, key, value)
        return update_texts(hive, thread, key, value)

    return update
