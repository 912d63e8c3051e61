"""What arrives in a run of a theta join: rows of both streams, and when.

The rows of the dataset come again and again, in their order; when they come is another matter:

even        one stream of R and one of S, each with so many tuples a second, half a step apart
a profile   the physical streams of a case study of the paper's figure 8, by the second; it begins
            again after its last second

Times are in ns from the begin of the data. Windows are full when the clock starts: what arrives in
the first window's length is *filled* in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from datasets import read
from experiments.families.theta_join.columns import EVEN
from operators.theta_join.family import R, S
from operators.theta_join.predicates import BenchTables

SECOND = 1_000_000_000
# char[20], in words of eight bytes.
Z_BYTES, Z_WORDS = 20, 3
SLACK = 64


@dataclass(frozen=True, eq=False)
class Arrivals:
    """All tuples of a run in the total order, those that are filled in first.

    Attributes
    ----------
    time : int64 array
        ns from the begin of the data.
    stream : int64 array
        Physical streams, R's first.
    side : int64 array
        R or S.
    position : int64 array
        In the logical stream.
    filled : int
        How many arrive before the clock starts.
    begin : int
        The time at which it does, ns.
    r_streams, s_streams : int
    """

    time: np.ndarray
    stream: np.ndarray
    side: np.ndarray
    position: np.ndarray
    filled: int
    begin: int
    r_streams: int
    s_streams: int


@lru_cache(maxsize=2)
def tables_of(folder: Path) -> BenchTables:
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
def rates_of_study(folder: Path, profile: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the tuples of each stream in each second (streams, seconds), and the sides."""
    table = read.read_table(folder, "rates")
    mine = table["profile"] == profile
    side, stream, tuples = (table[name][mine] for name in ("side", "stream", "tuples"))
    # R's streams first, each side's in their order, and then by second.
    order = np.lexsort((table["second"][mine], stream, side))
    streams = len(set(zip(side, stream.tolist(), strict=True)))
    rates = tuples[order].reshape(streams, -1)
    return rates, np.where(side[order][:: rates.shape[1]] == "r", R, S)


@lru_cache(maxsize=8)
def arrivals(
    folder: Path, profile: str, density: int, window_s: float, tuples: int, seconds: float
) -> Arrivals:
    """Return what arrives while windows fill, and then so many tuples, or for so many seconds.

    Parameters
    ----------
    folder : Path
        Of the dataset, whose rates the case studies have.
    profile : str
    density : int
        Tuples/s of R and of S; of `even` alone.
    window_s : float
    tuples : int
        How many arrive after the clock starts; 0 to go by `seconds`.
    seconds : float
    """
    begin = round(window_s * SECOND)
    if profile == EVEN:
        return _even(density, begin, tuples, seconds)
    rates, sides = rates_of_study(folder, profile)
    times = _profiled(rates, begin, tuples, seconds)
    stream = np.repeat(np.arange(len(times)), [len(each) for each in times])
    time = np.concatenate(times)
    order = np.lexsort((stream, time))
    time, stream = time[order], stream[order]
    side = sides[stream]
    filled = int(np.searchsorted(time, begin))
    end = filled + tuples if tuples else int(np.searchsorted(time, begin + seconds * SECOND))
    position = np.where(side == R, np.cumsum(side == R), np.cumsum(side == S)) - 1
    kept = (np.ascontiguousarray(each[:end]) for each in (time, stream, side, position))
    return Arrivals(*kept, filled, begin, int((sides == R).sum()), int((sides == S).sum()))


def _even(density: int, begin: int, tuples: int, seconds: float) -> Arrivals:
    """Return R and S in turn; there may be millions, which are not sorted."""
    step = SECOND / (2 * density)
    filled = round(begin / step)
    count = filled + (tuples or round(seconds * SECOND / step))
    rank = np.arange(count)
    side = rank & 1
    time = ((rank + 0.5) * step).astype(np.int64)
    return Arrivals(time, side, side, rank >> 1, filled, begin, 1, 1)


def _profiled(rates: np.ndarray, begin: int, tuples: int, seconds: float) -> list[np.ndarray]:
    """Return the times of each physical stream of a case study."""
    slowest = int(rates.sum(axis=0).min())
    last = begin / SECOND + (tuples / slowest if tuples else seconds) + 1
    rounds = int(last / rates.shape[1]) + 1
    found = []
    for number, each in enumerate(rates):
        counts = np.tile(each, rounds)[: int(last) + 1]
        starts = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        part = (number + 0.5) / len(rates)
        each_time = starts + (within + part) / np.repeat(counts, counts)
        found.append((each_time * SECOND).astype(np.int64))
    return found


def rates_of(came: Arrivals, begins: np.ndarray, ends: np.ndarray) -> dict[str, list[float]]:
    """Return the tuples/s of each physical stream between some times, ns."""
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


@lru_cache(maxsize=16)
def most_kept(came: Arrivals, threads: int, span: int) -> int:
    """Return the tuples of one stream that one of so many threads keeps at once, at most.

    A thread keeps every tuple whose rank is its own number modulo the threads; `span` is the length
    of a window, ns.
    """
    most = 0
    for side in (R, S):
        for thread in range(threads):
            mine = np.flatnonzero(came.side[thread::threads] == side) * threads + thread
            time = came.time[mine]
            inside = np.arange(len(time)) - np.searchsorted(time, time - span)
            most = max(most, int(inside.max(initial=0)) + 1)
    # A tuple leaves when the next one of its stream arrives, which may be a little later.
    return most + SLACK
