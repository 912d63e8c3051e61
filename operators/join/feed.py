"""The input of a join: the tuples of both streams in memory, and their order of arrival.

A tuple has a *position* in its stream and a *rank* in the order of arrival of both streams. Keys
repeat from the first after the last, so that a run may be longer than its data; positions continue
from pass to pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from operators.core.jit import inlined
from operators.core.vectors import peek


class Feed(NamedTuple):
    """The tuples of both streams, up to a position of each."""

    r: np.ndarray  # keys, which repeat after the last one
    s: np.ndarray  # in a self join any array of the same type
    ranks_r: np.ndarray  # by position; empty if R and S arrive in turns
    ranks_s: np.ndarray
    times_r: np.ndarray  # by position; read in time windows alone
    times_s: np.ndarray
    end_r: int
    end_s: int  # in a self join 0
    probing: int  # 0 while windows are filled: no tuple searches for partners
    notes: np.ndarray  # the records of a `Timing`; empty without one


NOTHING = np.zeros(0, dtype=np.int64)
# Both streams have come to their ends.
NEITHER = -1


def in_turns(
    r: np.ndarray,
    s: np.ndarray,
    end: int,
    *,
    two_way: bool = True,
    probing: bool = True,
    notes: np.ndarray = NOTHING,
) -> Feed:
    """Return the tuples up to position `end`, one of R before one of S."""
    end_s = end if two_way else 0
    return Feed(r, s, NOTHING, NOTHING, NOTHING, NOTHING, end, end_s, int(probing), notes)


def by_time(r_times: np.ndarray, r: np.ndarray, s_times: np.ndarray, s: np.ndarray) -> Feed:
    """Return tuples that arrive by time, at equal times those of R first.

    In a self join `s` and `s_times` are empty.
    """
    ranks_r = np.arange(len(r)) + np.searchsorted(s_times, r_times, side="left")
    ranks_s = np.arange(len(s)) + np.searchsorted(r_times, s_times, side="right")
    return Feed(r, s, ranks_r, ranks_s, r_times, s_times, len(r), len(s), 1, NOTHING)


@inlined
def is_in_turns(feed):
    """Whether tuples of R and S arrive in turns, if R has tuples."""
    return len(feed.ranks_r) == 0


@inlined
def end_of(feed, side):
    """Return the number of tuples of a stream."""
    return feed.end_r if side == 0 else feed.end_s


@inlined
def rank_of(feed, side, position):
    """Return the rank of a tuple."""
    if is_in_turns(feed):
        return 2 * position + side
    return peek(feed.ranks_r if side == 0 else feed.ranks_s, position)


@inlined
def time_of(feed, side, position):
    """Return the time of a tuple."""
    return peek(feed.times_r if side == 0 else feed.times_s, position)


@inlined
def side_of_next(feed, r, s):
    """Return the side of the earlier of tuple `r` of R and tuple `s` of S: 0, 1, or NEITHER."""
    if s < feed.end_s and (r >= feed.end_r or rank_of(feed, 1, s) < rank_of(feed, 0, r)):
        return 1
    return 0 if r < feed.end_r else NEITHER
