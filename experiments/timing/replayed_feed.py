"""The tuples of a run, in memory before the clock starts.

A dataset is one time-sorted set; ``datasets.read.split`` deals the rows to physical streams. This
module caches that split for the next point of the same process, and makes the cyclic stream that it
represents: after the last tuple the data begins again, with timestamps shifted by the span rounded
up to a multiple of the window advance, so that windows repeat from cycle to cycle.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from datasets import read
from datasets.read import Dataset, Streams
from operators.running.drivers import Feed


@dataclass(frozen=True)
class Cycle:
    """All streams of a run, and the total order they are merged into.

    Attributes
    ----------
    feeds : tuple of Feed
        One a stream.
    time, key, value : int64 arrays of length `rows`
        The tuples of one cycle in the total order.
    rows : int
    span : int
        How far timestamps advance a cycle.
    """

    feeds: tuple[Feed, ...]
    time: np.ndarray
    key: np.ndarray
    value: np.ndarray
    rows: int
    span: int

    def time_at(self, rank: int) -> int:
        """Return the timestamp of the tuple of this rank, in whatever cycle it lies."""
        cycle, place = divmod(rank, self.rows)
        return int(self.time[place]) + cycle * self.span

    def rank_at(self, time: int) -> int:
        """Return the rank of the first tuple at or after `time`."""
        return int(self.ranks_at(np.array([time]))[0])

    def ranks_at(self, times: np.ndarray) -> np.ndarray:
        """Return the ranks of the first tuples at or after each of `times`."""
        cycle = np.maximum(times - int(self.time[0]), 0) // self.span
        return cycle * self.rows + np.searchsorted(self.time, times - cycle * self.span)

    def slice(self, array: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return one of the arrays between two ranks, across the ends of cycles."""
        begin, end = first % self.rows, first % self.rows + last - first
        if end <= self.rows:
            return array[begin:end]
        return array[np.arange(begin, end) % self.rows]


def _words(array: np.ndarray) -> np.ndarray:
    # The very type that kernels are compiled for: int64, contiguous, writable.
    return np.require(array, dtype=np.int64, requirements=["C", "W"])


def make_cycle(streams: Streams, span: int) -> Cycle:
    """Return the cyclic stream of a split; timestamps advance by `span` a cycle."""
    columns = [_words(column) for column in streams[1:]]
    timestamp, key, value, rank = columns
    feeds = tuple(
        Feed(*(column[begin:end] for column in columns), rank.size, span)
        for begin, end in itertools.pairwise(streams.offsets.tolist())
    )
    if len(feeds) == 1:
        # One stream is the total order.
        return Cycle(feeds, timestamp, key, value, rank.size, span)
    in_order = [np.empty(rank.size, dtype=np.int64) for _ in range(3)]

    def put_in_order(part: slice) -> None:
        for target, source in zip(in_order, (timestamp, key, value), strict=True):
            target[rank[part]] = source[part]

    read.on_all_cores(put_in_order, read.parts_of(rank.size))
    return Cycle(feeds, *in_order, rank.size, span)


# Cached for one process: a group runs on one dataset at a few numbers of inputs.
@lru_cache(maxsize=2)
def load(path: Path, text: bool) -> Dataset:
    """Return a dataset, kept for the next call.

    Raises
    ------
    UsageError
        When it is no dataset, is empty, or is not sorted by time.
    """
    return read.load(path, text=text)


@lru_cache(maxsize=4)
def streams(
    path: Path, text: bool, inputs: int, advance: int, seed: int, grouped: bool = True
) -> Cycle:
    """Return a dataset split into `inputs` streams, kept for the next call.

    Parameters
    ----------
    path : Path
    text : bool
        Whether the texts are loaded, too (`load`).
    inputs : int
    advance : int
        Window advance, in the dataset's ticks.
    seed : int
        Of the split.
    grouped : bool
        Whether tuples keep their keys; without them all have the key 0.
    """
    dataset = load(path, text)
    dealt = read.split(dataset, inputs, seed)
    if not grouped:
        dealt = dealt._replace(key=np.zeros_like(dealt.key))
    return make_cycle(dealt, read.cycle_span(dataset, advance))
