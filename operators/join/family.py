"""The family of window joins: what each provides, what a bench takes, and what all agree on.

A band join over sliding windows (section 5 of "Parallel Index-based Stream Join on a Multicore
CPU")::

    SELECT * FROM R, S WHERE ABS(R.x - S.x) <= diff

A tuple of one stream meets those of the other that are in their window when it arrives: the last
`window` of them, or those of the last so many ticks. In a self join there is one stream, and a
tuple meets the earlier ones in its window: each unordered pair once, none with itself.

Pairs are ordered by the probing tuple in its order of arrival, then by the partner's position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from operators.contract import Family, Parameter
from operators.core.layout import LINE_WORDS, aligned_words
from operators.index.family import MOST_WINDOW
from operators.index.window import make_answer

MOST_THREADS = 16
KEYS = ("uniform", "gaussian", "gamma-3-3", "gamma-1-5", "drift")
TWO_WAY, SELF = "two-way", "self"
# A tuple met no room in an index, which a window within its limits never does.
INDEX_FULL = -3
# What a step answers when the partners of the next tuple are in the output, and the word of the
# output that says how many they are.
FOUND = 3
COUNT = 0


def no_reopen(state: State) -> None:
    """Do nothing: a join that has come to its END goes on with the next feed by itself."""


def make_output(window: int) -> Output:
    """Return an output with room for the partners of a tuple."""
    return Output(make_answer(window), aligned_words(LINE_WORDS))


class JoinOperations(NamedTuple):
    """What a join of two streams provides, whatever the number of its threads.

    ``make_state(window, half_width, *, two_way, key_bits, span, **parameters)`` returns a `State`
    with empty windows, or raises UsageError. `window` is the most tuples that a window ever has;
    `two_way` False makes a self join; keys have 32 or 64 bits; `span` is 0 for count windows, else
    the ticks of a time window: a tuple of time t leaves when one arrives that is over t + span.
    `parameters` are the variant's, where it has ``threads`` their number among them.

    ``make_step(timing=None, on_output=None, **parameters)`` returns the compiled part, one function
    for all threads and the same one for equal arguments: ``step(shared, thread, output, feed)``.
    Each thread calls it again and again with its entry of ``State.threads`` and one
    `operators.join.feed.Feed`. It answers

    - FOUND: ``output.partners[0:output.words[COUNT]]`` are the positions of the partners of the
      next tuple in the order of arrival, in no order among themselves. Each tuple of the feed is
      given out once, one without partners too. The output belongs to the thread that got this
      answer until its next step, so that all tuples come out in order whichever threads do it.
      The join orders memory: that next step releases the output, and the step of another thread
      that answers FOUND acquires it. So a thread that owns the output sees all that its owners
      before have written with plain stores, in the output and elsewhere;
    - READY: it did something else, which others may wait for;
    - NOT_READY: others have to do something first;
    - END: there is nothing left to do for this thread, and each tuple that it has to give out has
      been given out;
    - INDEX_FULL, or another failure of the family.

    A step never waits, but in an index that threads share. Each feed goes on where the one before
    ended: positions are counted on.

    ``reopen(state)`` lets a join that has come to its END go on with the next feed.

    ``seen(thread)`` returns how many tuples a thread has processed so far: by it a waiting thread
    is told from one that gets on.

    ``merge_ns(state)`` is the time that merges have taken, the mean over threads that merge each
    for itself, and where others join meanwhile that in which one was under way, which is no cost;
    ``footprint(state)`` the bytes in use by component, "window" the sliding windows
    themselves; ``inserted(state)`` the tuples that each subindex of an index got, one stream after
    the other (empty where there are none); ``cycle(state)`` after how many tuples of a stream the
    work of its index repeats; ``check_invariants(state)`` raises AssertionError.

    With `on_output` a step may give out several tuples: for all but the last one it calls
    ``on_output(feed.notes, output)``, an inlined function, and answers FOUND for the last. `timing`
    asks a join whose step processes a whole tuple to read clocks between the parts of its work. A
    join may leave out either.
    """

    make_state: Callable[..., State]
    make_step: Callable[..., Callable[..., int]]
    seen: Callable[..., int]
    merge_ns: Callable[..., int]
    footprint: Callable[..., dict[str, int]]
    inserted: Callable[..., np.ndarray]
    cycle: Callable[..., int]
    check_invariants: Callable[..., None]
    reopen: Callable[..., None] = no_reopen


class Output(NamedTuple):
    """Where the partners of one tuple lie when a step answers FOUND."""

    partners: np.ndarray
    words: np.ndarray  # COUNT


class State(NamedTuple):
    """What a join has in memory.

    Attributes
    ----------
    shared : NamedTuple
        What all threads use.
    threads : tuple of NamedTuple
        What belongs to each thread: one entry a thread, all of one type.
    output : Output
        Where partners are given out.
    """

    shared: Any
    threads: tuple
    output: Output


class Timing(NamedTuple):
    """How the parts of a tuple's work are timed, as inlined functions over ``Feed.notes``.

    ``is_due(notes)`` says whether the next tuple is timed; ``note(notes, insert, delete, search,
    scan)`` takes the ns that each part of it took, merges left out.
    """

    is_due: Callable[..., bool]
    note: Callable[..., None]


def role_of(settings: Mapping[str, Any]) -> str:
    """Return the role of the data: streams of keys."""
    return "keys"


FAMILY = Family(
    id="join",
    title="pairs of two streams whose keys lie in a band, over sliding windows",
    operations=JoinOperations,
    settings=(
        Parameter("window", 1 << 16, 1, MOST_WINDOW, "tuples", "of each window"),
        Parameter("match_rate", 2.0, 0, 4096, "", "partners of a tuple, on average", decimals=6),
        Parameter("keys", "uniform", meaning="how keys are distributed", choices=KEYS),
        Parameter("kind", TWO_WAY, meaning="of two streams, or of one", choices=(TWO_WAY, SELF)),
        Parameter("drift", 0.0, 0, 1, "", "r: how far the mean of the keys moves", decimals=2),
        Parameter("sigma", 0.125, 0.001, 1, "", "of the drifting keys", decimals=4),
    ),
    failures={INDEX_FULL: "an index had no room for a tuple of its window"},
    role_of=role_of,
)
