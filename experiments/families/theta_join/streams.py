"""The input of a theta join's run: rows of both streams, and their arrival times.

The rows of the dataset repeat, in order. Arrival times follow a profile:

even        one stream of R and one of S, each with a constant number of tuples per second
a profile   the physical streams of a case study of the paper's figure 8, second by second; the
            study starts again after its last second. A real-time run shorter than the study takes
            the stretch in which rates change most

A tuple of an even stream has a time slot and arrives at a pseudo-random offset in it; a tuple of a
study arrives at such an offset in its second. The offset depends on the tuple's number alone.

# ASSUME: the paper's streams come from paced threads, each with a separate clock, and not at
# exact instants. Slots that begin together would make a pattern that repeats: at the rates of
# figure 8a every 70 tuples, of which a round robin over 10 threads always deals more of R to some
# threads. Their work would differ by 5.6 % with tuples at the start of their slots, and by 0.5 %
# with tuples at pseudo-random offsets; chance alone leaves 0.07 %.

Times are in ns from the start of the data. Windows are full when the clock starts: the tuples that
arrive in the first window length are *filled* in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from datasets import read
from datasets.in_memory import InMemory
from experiments.families.theta_join.phases import EVEN
from operators.running.schedule import Schedule, at_times
from operators.theta_join.capacity import most_in_window
from operators.theta_join.family import R, S, make_extent
from operators.theta_join.predicates import BenchTables

SECOND = 1_000_000_000
# char[20], in words of eight bytes.
Z_BYTES, Z_WORDS = 20, 3
SLACK = 64


class Asked(NamedTuple):
    """The arguments from which arrivals are made; see ``arrivals``."""

    folder: Path | InMemory
    profile: str
    density: int
    window_s: float
    tuples: int
    seconds: float
    streams: int = 1


@dataclass(frozen=True, eq=False)
class Arrivals:
    """All tuples of a run in the total order, those filled in before the run first.

    Attributes
    ----------
    time : int64 array
        ns from the start of the data.
    stream : int64 array
        Number of the physical stream; R's streams come first.
    side : int64 array
        R or S.
    position : int64 array
        Position in the logical stream.
    filled : int
        How many tuples arrive before the clock starts.
    begin : int
        Event time at which the clock starts, ns.
    r_streams, s_streams : int
    asked : Asked
    """

    time: np.ndarray
    stream: np.ndarray
    side: np.ndarray
    position: np.ndarray
    filled: int
    begin: int
    r_streams: int
    s_streams: int
    asked: Asked


@lru_cache(maxsize=2)
def tables_of(folder: Path | InMemory) -> BenchTables:
    """Return all attributes of the rows; raises as ``datasets.read.read_table`` does."""
    r, s = (read.read_table(folder, name) for name in "rs")
    z = np.zeros((len(r["z"]), 8 * Z_WORDS), dtype=np.uint8)
    z[:, :Z_BYTES] = r["z"].astype(f"S{Z_BYTES}").view(np.uint8).reshape(-1, Z_BYTES)
    return BenchTables(
        x=np.ascontiguousarray(r["x"], dtype=np.int32),
        y=np.ascontiguousarray(r["y"], dtype=np.float32),
        z=z.view(np.int64).ravel(),
        a=np.ascontiguousarray(s["a"], dtype=np.int32),
        b=np.ascontiguousarray(s["b"], dtype=np.float32),
        c=np.ascontiguousarray(s["c"], dtype=np.float64),
        d=np.ascontiguousarray(s["d"], dtype=np.uint8),
    )


@lru_cache(maxsize=2)
def rates_of_study(folder: Path | InMemory, profile: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the tuples of each stream in each second (streams, seconds), and the sides."""
    table = read.read_table(folder, "rates")
    mine = table["profile"] == profile
    side, stream, tuples = (table[name][mine] for name in ("side", "stream", "tuples"))
    # R's streams first; within a side by stream, then by second.
    order = np.lexsort((table["second"][mine], stream, side))
    streams = len(set(zip(side, stream.tolist(), strict=True)))
    rates = tuples[order].reshape(streams, -1)
    return rates, np.where(side[order][:: rates.shape[1]] == "r", R, S)


# Arrivals are made for at least this many tuples, then for four times as many, and so on, so that
# runs with the same window share them.
LEAST_MADE = 1 << 16


def arrivals(
    folder: Path | InMemory,
    profile: str,
    density: int,
    window_s: float,
    tuples: int,
    seconds: float,
    streams: int = 1,
) -> Arrivals:
    """Return the tuples that fill the windows, then `tuples` more, or those of `seconds`.

    Parameters
    ----------
    folder : Path or InMemory
        The dataset, which also holds the rates of the case studies.
    profile : str
    density : int
        Tuples/s of R and of S; only for `even`.
    window_s : float
    tuples : int
        How many tuples arrive after the clock starts; 0 to go by `seconds`.
    seconds : float
    streams : int
        Physical streams of R, and of S; only for `even`.
    """
    made = LEAST_MADE
    while made < tuples:
        made *= 4
    came = _made(folder, profile, density, window_s, made if tuples else 0, seconds, streams)
    end = came.filled + tuples if tuples else len(came.time)
    return replace(
        came,
        **{each: getattr(came, each)[:end] for each in ("time", "stream", "side", "position")},
        asked=Asked(folder, profile, density, window_s, tuples, seconds, streams),
    )


@lru_cache(maxsize=12)
def _made(
    folder: Path | InMemory,
    profile: str,
    density: int,
    window_s: float,
    tuples: int,
    seconds: float,
    streams: int,
) -> Arrivals:
    """Make arrivals; the first window length of them fills the windows."""
    begin = round(window_s * SECOND)
    if profile == EVEN:
        times = _even(density, begin, tuples, seconds, streams)
        sides = np.repeat([R, S], streams)
    else:
        rates, sides = rates_of_study(folder, profile)
        if seconds:
            rates = np.roll(rates, -liveliest(rates, seconds), axis=1)
        times = _profiled(rates, begin, tuples, seconds)
    stream = np.repeat(np.arange(len(times)), [len(each) for each in times])
    time = np.concatenate(times)
    # A stable sort: tie-breaking is by stream, and the sorted parts are only merged.
    order = np.argsort(time, kind="stable")
    time, stream = time[order], stream[order]
    side = sides[stream]
    filled = int(np.searchsorted(time, begin))
    end = filled + tuples if tuples else int(np.searchsorted(time, begin + seconds * SECOND))
    position = np.where(side == R, np.cumsum(side == R), np.cumsum(side == S)) - 1
    kept = (np.ascontiguousarray(each[:end]) for each in (time, stream, side, position))
    asked = Asked(folder, profile, density, window_s, tuples, seconds, streams)
    return Arrivals(*kept, filled, begin, int((sides == R).sum()), int((sides == S).sum()), asked)


def liveliest(rates: np.ndarray, seconds: float) -> int:
    """Return the second at which the stretch of a study begins whose rates change most.

    The sum over all streams counts: when one rate falls as another rises, the amount of comparing
    stays the same. Of several best starts in a row the middle one is taken, so that a peak has
    context on both sides.

    # ASSUME: a run shorter than the study should show the study's subject. From the study's first
    # second a short run would see no peak at all.
    """
    together = rates.sum(axis=0)
    length = min(math.ceil(seconds), len(together))
    around = np.concatenate([together, together[: length - 1]])
    change = np.ptp(sliding_window_view(around, length), axis=1)
    best = np.flatnonzero(change == change.max())
    in_a_row = np.flatnonzero(np.diff(best, append=best[-1] + 2) > 1)[0] + 1
    return int(best[in_a_row // 2]) if in_a_row < len(together) else 0


def _even(density: int, begin: int, tuples: int, seconds: float, streams: int) -> list[np.ndarray]:
    """Return the times of each physical stream of R and then of S, dealt to them in turn."""
    until = begin / SECOND + (tuples / (2 * density) if tuples else seconds)
    # One more tuple of each stream: which of them arrive last is not known yet.
    slots = np.arange(int(until * density) + 2)
    of_sides = (
        ((slots + _places(side, len(slots))) / density * SECOND).astype(np.int64) for side in (R, S)
    )
    return [times[stream::streams] for times in of_sides for stream in range(streams)]


def _places(stream: int, count: int) -> np.ndarray:
    """Return the offsets of a stream's tuples in their slots, or seconds, in [0, 1)."""
    words = read.splitmix64(stream + 1, np.arange(count, dtype=np.int64))
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _profiled(rates: np.ndarray, begin: int, tuples: int, seconds: float) -> list[np.ndarray]:
    """Return the times of each physical stream of a case study."""
    slowest = int(rates.sum(axis=0).min())
    last = begin / SECOND + (tuples / slowest if tuples else seconds) + 1
    rounds = int(last / rates.shape[1]) + 1
    found = []
    for number, each in enumerate(rates):
        counts = np.tile(each, rounds)[: int(last) + 1]
        starts = SECOND * np.repeat(np.arange(len(counts)), counts)
        within = (SECOND * _places(number, len(starts))).astype(np.int64)
        found.append(np.sort(starts + within))
    return found


def rates_of(came: Arrivals, begins: np.ndarray, ends: np.ndarray) -> dict[str, list[float]]:
    """Return the tuples/s of each physical stream between the given times, ns."""
    found = {}
    for stream in range(came.r_streams + came.s_streams):
        time = came.time[came.stream == stream]
        counts = np.searchsorted(time, ends) - np.searchsorted(time, begins)
        name = f"R {stream}" if stream < came.r_streams else f"S {stream - came.r_streams}"
        found[name] = (counts * SECOND / (ends - begins)).round(3).tolist()
    return found


def natural_tps(came: Arrivals) -> float:
    """Return the rate of all streams together in event time, after the clock has started."""
    time = came.time[came.filled :]
    return len(time) * SECOND / max(int(time[-1]) - came.begin, 1)


def schedule_of(came: Arrivals, offered_tps: float) -> Schedule:
    """Return the due times: event time, stretched or compressed to the offered rate.

    At the natural rate a tuple is due as long after the start as its timestamp is after `begin`.
    """
    stretched = (came.time[came.filled :] - came.begin) * (natural_tps(came) / offered_tps)
    return at_times(stretched.astype(np.int64))


@lru_cache(maxsize=512)
def most_kept(asked: Asked, threads: int) -> int:
    """Return the most tuples of one stream that one of `threads` threads keeps at once.

    A thread keeps every tuple whose rank modulo `threads` is the thread's number.
    """
    came = arrivals(*asked)
    # The first window is full when the clock starts.
    extent = make_extent(span=came.begin)
    most = max(most_in_window(came.time, came.side == R, extent, threads), 1)
    # A tuple expires when the next one of its stream arrives, which may be a little later.
    return most + SLACK
