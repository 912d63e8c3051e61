"""The family of theta joins: the operations, the settings, and the conventions of every join.

A theta join pairs tuples of two logical streams, R and S, that a predicate accepts, over sliding
windows (section II of "ScaleJoin: a Deterministic, Disjoint-Parallel and Skew-Resilient Stream
Join"). Each logical stream is delivered by any number of physical ones. They are numbered, R's
first, and their tuples are joined in the total order (timestamp, physical stream, position); the
*rank* of a tuple is its number in that order.

The purge decides which pairs are compared when a tuple of timestamp t arrives:

own
    The three-step procedure: the tuple is compared with the opposite window and enters the window
    of its stream, which tuples older than t - WS then leave. Pairs may be further apart than WS.
opposite
    Tuples older than t - WS leave the opposite window before the tuple is compared with it: pairs
    with r.ts and s.ts at most WS apart.

Count windows hold the last `count` tuples of each logical stream, whatever the purge.

Pairs are put out in the order (rank of the later tuple, rank of the earlier one), which is that of
their timestamps: an output has the larger timestamp of the two.
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

# A window, or the buffer that sorts outputs, had no room; a pair is too far apart; keys descend.
WINDOW_FULL = -3
SORT_FULL = -4
TOO_FAR = -5
KEYS_FALL = -6

# An output's key: the rank of the later tuple, then that of the earlier one, encoded as a distance
# so that both fit a word.
REACH_BITS = 26
REACH = 1 << REACH_BITS


class Extent(NamedTuple):
    """The extent of windows.

    Attributes
    ----------
    span : int
        Ticks of a time window; 0 for a count window.
    count : int
        Tuples of a count window; 0 for a time window.
    opposite : int
        Whether tuples purge the opposite window before the comparison, instead of their window
        after it.
    """

    span: int
    count: int
    opposite: int


def make_extent(span: int = 0, count: int = 0, purge: str = OWN) -> Extent:
    """Return the extent of time windows or of count windows.

    Raises
    ------
    UsageError
        When neither or both are given, or the purge is unknown.
    """
    if (span > 0) == (count > 0) or span < 0 or count < 0:
        raise UsageError(
            "windows are of time (ticks above 0) or of count (tuples above 0), received"
            f" {span} ticks and {count} tuples"
        )
    if purge not in (OWN, OPPOSITE):
        raise UsageError(f"purge is {OWN} or {OPPOSITE}, received {purge!r}")
    # Stamps of count windows are numbers of tuples: no time purges them.
    return Extent(span, count, int(purge == OPPOSITE and span > 0))


class Shape(NamedTuple):
    """The size of a join.

    Attributes
    ----------
    r_streams, s_streams : int
        Physical streams of R and of S.
    threads : int
        Processing threads.
    capacity : int
        The most tuples of each logical stream that a processing thread keeps.
    """

    r_streams: int
    s_streams: int
    threads: int
    capacity: int


class ThetaOperations(NamedTuple):
    """The operations of a theta join.

    ``make_state(predicate, tables, extent, shape, **parameters)`` returns a ``State``: the data
    that all threads share, and a NamedTuple for each processing thread. `tables` are the attributes
    of all rows, in the predicate's format.

    ``insert_tuple(shared, stream, timestamp, key, row)`` and ``close_source(shared, stream)`` are
    for the thread that delivers a physical stream: a row of the tables arrives, `key` is not used.
    They answer ACCEPTED, FULL (backpressure) or OUT_OF_ORDER.

    ``make_fill(predicate)`` returns ``fill(shared, own, side, timestamp, row, newer, filled)``:
    puts a tuple into the windows of a thread without a comparison, in rank order, before anything
    else runs; of the `filled` tuples of its side `newer` are later. ACCEPTED or WINDOW_FULL.

    ``make_step(predicate)`` returns ``step(shared, own)`` for a processing thread, which calls it
    repeatedly: READY when it did some work, NOT_READY when other threads have to work first, END,
    or a failure of the family.

    ``make_get_output(predicate)`` returns ``get_output(shared, own, out)`` for the thread that
    takes pairs: READY with the pair's key (``rank_of``, ``partner_of``) in ``out[0]``, followed by
    the record of the predicate's ``combine``, NOT_READY or END. `own` is ``State.output``.

    ``seen(own)`` returns how many tuples of both streams a thread has seen, including filled-in
    ones: a processing thread, the driver if there is one, or else the thread that takes pairs;
    ``compared(own)`` how many comparisons a processing thread has made, with an index those of a
    scan.

    ``comparisons(state)`` returns how many comparisons each processing thread made; ``peak(state)``
    the most pairs that waited to be sorted (0 if none wait); ``check_invariants(state)`` raises
    AssertionError.

    ``ordered`` says whether pairs come out in order; otherwise the order is arbitrary.

    If a thread feeds the others, ``drive(shared, driver)`` is the step of that thread, and
    ``drive_past(driver, side, timestamp)`` informs it of a filled-in tuple; otherwise None.
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
    """The memory of a join: shared, of each thread, and of the thread that takes pairs."""

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
        Parameter(
            "streams", 1, 1, 16, meaning="even physical streams of R, as many of S", later=True
        ),
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
