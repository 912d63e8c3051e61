"""The input of a benched query: call records, or random numbers, repeated.

*Times.* The density of event time is a setting, separate from the times in the records. Each stream
has one tuple per *tick*; a second of event time has `density` ticks, and the query's windows scale
with it. The times of a stream therefore differ, and every tuple advances the watermark of a
transparent merger. In the calls as generated a thousand share each second: the merger would stand
still for a thousand tuples, and a run would measure that.

# ASSUME: the paper offers each query at a different rate, tens of thousands of calls a second, and
# the windows of a minute hold a minute of that. Here a rate is millions, and a minute of it would
# not fill in a run: event time is separate from the clock, and the density is a setting.

*Rank.* The tuples of all streams have one total order, by time and input; a tuple's position in
this order is its rank. A run takes the tuples of the lowest ranks, and the sent, due and measured
tuples are counted by rank. A stream starts again after its end, later by `span` ticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from datasets.read import read_table
from operators.contract import Family, UsageError
from operators.streamcloud.algebra import Input, Query
from operators.streamcloud.coding import Coding, encode_inputs
from operators.streamcloud.order import INPUT_WORDS
from operators.streamcloud.queries import PublishedQuery, published, query_of
from operators.streamcloud.rows import empty_batch
from operators.streamcloud.schema import TIME
from operators.streamcloud.yaml_form import read_query, to_mapping

# Rows of a stream before it repeats: more than a window holds, and a few MB.
MOST_ROWS = 1 << 18
# ASSUME: figures 7.e and 8 have integers and do not say which. With this many distinct numbers a
# pair of windows of 1,200 to 20,000 tuples has some in common, and comparing costs more than
# output.
NUMBERS = 1 << 16
# Distinct values of a column by name: as many keys as there are meters and districts.
KEYS = {"key": 243}
# Columns of the calls that contain a time, in seconds.
IN_SECONDS = ("start",)
# The stream of suspicious numbers has separate timestamps; every other input is one of calls.
SUSPECTS = "suspects"


class Feed(NamedTuple):
    """A stream of one input, which repeats after its end.

    Attributes
    ----------
    name : str
        Name of the input.
    words : int64 array (words, rows)
        As made by `coding.encode_inputs`.
    shifts : int64 array (words,)
        Increment of each word per cycle.
    ranks : int64 array (rows,)
        Ranks of the stream's tuples in the first cycle, ascending.
    """

    name: str
    words: np.ndarray
    shifts: np.ndarray
    ranks: np.ndarray

    def batch(self, first: int, last: int) -> np.ndarray:
        """Return the tuples of the positions from `first` to below `last`, over all cycles."""
        rows = self.words.shape[1]
        found = np.empty((len(self.words), last - first), dtype=np.int64)
        at = first
        while at < last:
            cycle, row = divmod(at, rows)
            until = min(at + rows - row, last)
            piece = found[:, at - first : until - first]
            piece[:] = self.words[:, row : row + until - at]
            for word in np.flatnonzero(self.shifts) if cycle else ():
                piece[word] += cycle * self.shifts[word]
            at = until
        return found

    def time(self, position: int) -> int:
        """Return the time of the tuple at a position."""
        cycle, row = divmod(position, self.words.shape[1])
        return int(self.words[0, row] + cycle * self.shifts[0])


@dataclass(frozen=True)
class Streams:
    """The streams of a query.

    Attributes
    ----------
    query : Query
        The query, with windows in ticks.
    coding : Coding
    feeds : tuple of Feed
        One per input, in the order of the query.
    times : int64 array (rows,)
        Times of the tuples of all streams in a cycle, ascending.
    span : int
        Ticks of a cycle.
    """

    query: Query
    coding: Coding
    feeds: tuple[Feed, ...]
    times: np.ndarray
    span: int

    def before(self, feed: Feed, rank: int) -> int:
        """Return how many tuples of a stream have a rank below `rank`."""
        cycle, rest = divmod(rank, len(self.times))
        return cycle * len(feed.ranks) + int(feed.ranks.searchsorted(rest))

    def rank(self, time: int) -> int:
        """Return the rank of the first tuple at `time` or later."""
        cycle, rest = divmod(time, self.span)
        return cycle * len(self.times) + int(np.searchsorted(self.times, rest))

    def empty(self) -> dict[str, list[np.ndarray]]:
        """Return streams without tuples, in the form that a plan's parts take."""
        return {feed.name: [empty_batch(len(feed.words))] for feed in self.feeds}

    def first(self, total: int) -> dict[str, list[np.ndarray]]:
        """Return the tuples of the lowest `total` ranks, as words by input."""
        return {feed.name: [feed.batch(0, self.before(feed, total))] for feed in self.feeds}


@lru_cache(maxsize=4)
def streams_of(query_id: str, density: int, window: int, folder: Any = None) -> Streams:
    """Return the streams of a query, cached for the next bench.

    Parameters
    ----------
    query_id : str
    density : int
        Ticks per second of event time.
    window : int
        Tuples of a window, for a query whose windows are given in tuples.
    folder : Path, InMemory or None
        The call records, if the query reads them.

    Raises
    ------
    UsageError
        When the data lacks a column that the query needs, or has none that fits.
    """
    asked = published(query_id)
    query = bench_query(asked, density, window)
    if asked.role is None:
        columns = {each.name: _made(each, number) for number, each in enumerate(query.inputs)}
        span = MOST_ROWS
    else:
        columns, span = _recorded(query, density, folder)
    streams, coding = encode_inputs(query, {name: [each] for name, each in columns.items()})
    words = {name: found for name, (found,) in streams.items()}
    times = np.concatenate([words[each.name][0] for each in query.inputs])
    # Inputs are concatenated in order and the sort is stable: tie-breaking is by input.
    order = np.argsort(times, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    feeds, at = [], 0
    for node in query.inputs:
        own = words[node.name]
        count = own.shape[1]
        shifts = _shifts(node, count, span, density)
        feeds.append(Feed(node.name, own, shifts, ranks[at : at + count]))
        at += count
    return Streams(query, coding, tuple(feeds), times[order], span)


def bench_query(asked: PublishedQuery, density: int, window: int) -> Query:
    """Return a published query with time windows in ticks.

    Windows given in tuples have `window` tuples, of which each stream has one per tick.
    """
    mapping = to_mapping(query_of(asked.id))
    for operator in mapping["operators"].values():
        for form in operator.values():
            told = form.get("window", {})
            if "time" not in told:
                continue
            for name in {"time", "advance"} & told.keys():
                # In a window of n tuples the first and the last are n - 1 ticks apart.
                ticks = window - 1 if asked.in_tuples else told[name] * density
                told[name] = ticks
    return read_query(mapping)


def refuse_other_settings(
    family: Family, query: PublishedQuery, settings: Mapping[str, Any]
) -> None:
    """Refuse the event-time setting, density or window, that a query does not have.

    Raises
    ------
    UsageError
    """
    usual = {each.name: each.default for each in family.settings}
    other, own = ("density", "window") if query.in_tuples else ("window", "density")
    if settings[other] != usual[other]:
        raise UsageError(
            f"{other} is no setting of query {query.id}, which has {own}; leave it out"
        )


def _shifts(node: Input, rows: int, span: int, density: int) -> np.ndarray:
    """Return the increment of each word of a stream per cycle."""
    shifts = np.zeros(INPUT_WORDS + len(node.schema.columns) - 1, dtype=np.int64)
    # Time, source, position; the columns follow.
    shifts[0], shifts[2] = span, rows
    for word, name in enumerate(node.schema.names[1:], start=INPUT_WORDS):
        if name in IN_SECONDS:
            shifts[word] = span // density
    return shifts


def _made(node: Input, number: int) -> dict[str, np.ndarray]:
    """Return random numbers, one row per tick."""
    random = np.random.default_rng(number)
    names = [name for name in node.schema.names if name != TIME]
    made = {name: random.integers(0, KEYS.get(name, NUMBERS), MOST_ROWS) for name in names}
    return {node.time: np.arange(MOST_ROWS), **made}


def _recorded(query: Query, density: int, folder: Any) -> tuple[dict[str, dict], int]:
    """Return each input's columns from call records, and the ticks of a cycle."""
    table = read_table(folder, "calls")
    of_calls = [each for each in query.inputs if each.name != SUSPECTS]
    # Calls are dealt to the inputs in turn.
    rows = min(len(table["emitted"]) // len(of_calls), MOST_ROWS)
    # Whole seconds, so that times in seconds continue evenly in the next cycle.
    rows -= rows % density if rows > density else 0
    span = -(-rows // density) * density
    found = {
        each.name: _calls(each, table, slice(number, None, len(of_calls)), rows, density)
        for number, each in enumerate(of_calls)
    }
    for each in query.inputs:
        if each.name == SUSPECTS:
            own = read_table(folder, SUSPECTS)
            # An announcement has the tick of the first call after it.
            ticks = np.searchsorted(table["emitted"], own["ts"])
            kept = ticks < rows
            found[each.name] = {each.time: ticks[kept], "number": own["number"][kept]}
    return found, span


def _calls(
    node: Input, table: Mapping[str, np.ndarray], turn: slice, rows: int, density: int
) -> dict[str, np.ndarray]:
    """Return the columns that an input needs, for its share of the calls."""
    ticks = np.arange(rows)
    found = {node.time: ticks}
    emitted = table["emitted"][turn][:rows]
    for name in node.schema.names:
        if name == TIME:
            continue
        if name not in table:
            raise UsageError(
                f"input {node.name}: these call records have no column {name!r}; they have:"
                f" {', '.join(table)}"
            )
        own = table[name][turn][:rows]
        # A call keeps the recorded distance between its start and its record.
        found[name] = ticks // density + own - emitted if name in IN_SECONDS else own
    return found
