"""The family of theta joins: what each provides, what a bench takes, and what all agree on.

A theta join pairs tuples of two logical streams, R and S, that a predicate accepts, over sliding
windows (section II of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream
Join"). Each logical stream is delivered by any number of physical ones. They are numbered R's
first, and their tuples are joined in the total order (timestamp, physical stream, position); a
tuple's *rank* is its place there.

Which pairs are compared is said by the purge, when a tuple of timestamp t arrives:

own
    The three-step procedure: the tuple is compared with the opposite window, enters its own, and
    what is older than t - WS leaves *its own* window. Pairs may be further apart than WS.
opposite
    What is older than t - WS leaves the opposite window before the tuple is compared with it: pairs
    with r.ts and s.ts at most WS apart.

Windows of count hold the last so many tuples of each logical stream, whatever the purge.

Pairs are put out in the order (rank of the later tuple, rank of the earlier one), which is that of
their timestamps: an output has the larger one of its two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from operators.contract import Family, Parameter, UsageError

R, S = 0, 1
OWN, OPPOSITE = "own", "opposite"
MOST_STREAMS = 64
MOST_THREADS = 64
MOST_WINDOW_S = 3_600

# A window, or the buffer that puts outputs in order, had no room; a pair is too far apart.
WINDOW_FULL = -3
SORT_FULL = -4
TOO_FAR = -5
KEYS_FALL = -6

# An output's key: the rank of its later tuple, then that of its earlier one, told from the later
# one's so that both fit a word.
REACH_BITS = 26
REACH = 1 << REACH_BITS


class Extent(NamedTuple):
    """How far windows reach.

    Attributes
    ----------
    span : int
        Ticks of a window of time; 0 of a window of count.
    count : int
        Tuples of a window of count.
    opposite : int
        Whether tuples purge the opposite window before they are compared, and not their own after.
    """

    span: int
    count: int
    opposite: int


def make_extent(span: int = 0, count: int = 0, purge: str = OWN) -> Extent:
    """Return the extent of windows of time, or of windows of count.

    Raises
    ------
    UsageError
        When it is neither, or both, or the purge is unknown.
    """
    if (span > 0) == (count > 0) or span < 0 or count < 0:
        raise UsageError(
            "windows are of time (ticks above 0) or of count (tuples above 0), received"
            f" {span} ticks and {count} tuples"
        )
    if purge not in (OWN, OPPOSITE):
        raise UsageError(f"purge is {OWN} or {OPPOSITE}, received {purge!r}")
    # Stamps of windows of count are numbers of tuples: no time purges them.
    return Extent(span, count, int(purge == OPPOSITE and span > 0))


class Shape(NamedTuple):
    """How large a join is made.

    Attributes
    ----------
    r_streams, s_streams : int
        Physical streams of R and of S.
    threads : int
        Processing threads.
    capacity : int
        Tuples that a processing thread keeps of each logical stream, at most.
    """

    r_streams: int
    s_streams: int
    threads: int
    capacity: int


class ThetaOperations(NamedTuple):
    """What a theta join provides.

    ``make_state(predicate, tables, extent, shape, **parameters)`` returns a ``State``: what all
    threads share, and a NamedTuple of its own for each processing thread. `tables` are the
    attributes of all rows, as the predicate knows them.

    ``insert_tuple(shared, stream, timestamp, key, row)`` and ``close_source(shared, stream)`` are
    for the thread that delivers a physical stream: a row of the tables arrives, `key` is not used.
    They answer ACCEPTED, FULL or OUT_OF_ORDER.

    ``make_fill(predicate)`` returns ``fill(shared, own, side, timestamp, row, newer, filled)``:
    lets a tuple into the windows of a thread without a comparison, in rank order, before anything
    else runs; of the `filled` tuples of its side `newer` come behind it. ACCEPTED or WINDOW_FULL.

    ``make_step(predicate)`` returns ``step(shared, own)`` for a processing thread, which calls it
    again and again: READY when something was done, NOT_READY when others have to do something
    first, END, or a failure of the family.

    ``make_get_output(predicate)`` returns ``get_output(shared, own, out)`` for the thread that
    takes pairs: READY with ``out[0]`` the pair's key (``rank_of``, ``partner_of``) and behind it
    what the predicate's ``combine`` wrote, NOT_READY or END. `own` is ``State.output``.

    ``seen(own)`` returns how many tuples of both streams a thread has seen, those filled in among
    them: a processing thread, or the driver where there is one, or else the thread that takes
    pairs; ``compared(own)`` how many comparisons a processing thread has made, with an index those
    of a scan.

    ``comparisons(state)`` returns how many comparisons each processing thread made; ``peak(state)``
    the most pairs that waited to be put in order (0 where none wait); ``check_invariants(state)``
    raises AssertionError.

    ``ordered`` says whether pairs come out in order; else in any.

    Where a thread feeds the others, ``drive(shared, driver)`` is its step, and
    ``drive_past(driver, side, timestamp)`` lets it know of a tuple that was filled in; else None.
    """

    make_state: Callable[..., State]
    insert_tuple: Callable[..., int]
    close_source: Callable[..., int]
    make_fill: Callable[..., Callable[..., int]]
    make_step: Callable[..., Callable[..., int]]
    make_get_output: Callable[..., Callable[..., int]]
    seen: Callable[..., int]
    compared: Callable[..., int]
    comparisons: Callable[..., np.ndarray]
    peak: Callable[..., int]
    check_invariants: Callable[..., None]
    ordered: bool = True
    drive: Callable[..., int] | None = None
    drive_past: Callable[..., bool] | None = None


class State(NamedTuple):
    """What a join has in memory: for all threads, for each, and for the one that takes pairs."""

    shared: Any
    threads: tuple
    output: Any
    driver: Any = None


def role_of(settings: Mapping[str, Any]) -> str:
    """Return the role of the data: the streams of the CellJoin benchmark."""
    return "streams"


PROFILES = ("even", "constant", "sinusoid", "peaks")
BAND, EQUAL = "band", "equal"

FAMILY = Family(
    id="theta_join",
    title="pairs of two streams that a predicate accepts, over sliding windows",
    operations=ThetaOperations,
    called="join",
    settings=(
        Parameter("window_s", 300, 0.01, MOST_WINDOW_S, "s", "of each window", decimals=3),
        Parameter("density", 1_000, 1, 1_000_000, "tuples/s", "of each even stream, in event time"),
        Parameter("profile", "even", meaning="how streams arrive", choices=PROFILES),
        Parameter("purge", OWN, meaning="the window a tuple purges", choices=(OWN, OPPOSITE)),
        Parameter("predicate", BAND, meaning="what pairs must fulfil", choices=(BAND, EQUAL)),
    ),
    failures={
        WINDOW_FULL: "a window had no room for a tuple: it was made for fewer",
        SORT_FULL: "the buffer that puts pairs in order is full; give a larger sort=",
        KEYS_FALL: "pairs of a thread are not in order, so that one would be lost: a fault of ours",
        TOO_FAR: f"a pair is {REACH} tuples apart or more, one stream is far too slow",
    },
    role_of=role_of,
)
