"""What a benched query reads: call records, or numbers that are made up, again and again.

*Times.* What the records say of their times is kept apart from how dense they are. Each stream has
one tuple a *tick*, of which a second of event time has as many as the setting ``density``; the
query's windows are so many times longer. So the times of a stream differ, and a transparent merger
goes on with each of them. As the calls are generated a thousand share a second: then it would stand
still for a thousand tuples, and what a run shows would be that.

# ASSUME: the paper offers each query its own rates, tens of thousands of calls a second, and its
# windows of a minute hold as many seconds of them. Here a rate is millions, and a minute of it
# would not fill in a run: event time is apart from the clock, and its density a setting.

*Rank.* The tuples of all streams have one total order, by time and input; a tuple's place in it is
its rank. A run takes those of the lowest ranks, and what is sent, due and measured goes by ranks.
When a stream is at its end it begins again, later by `span` ticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from datasets.read import read_table
from operators.contract import UsageError
from operators.streamcloud.algebra import Input, Query
from operators.streamcloud.coding import Coding, encode_inputs
from operators.streamcloud.order import INPUT_WORDS
from operators.streamcloud.queries import PublishedQuery, published, query_of
from operators.streamcloud.rows import empty_batch
from operators.streamcloud.schema import TIME
from operators.streamcloud.yaml_form import read_query, to_mapping

# Rows of a stream before it begins again: more than a window holds, and a few MB.
MOST_ROWS = 1 << 18
# ASSUME: figures 7.e and 8 have integers and do not say which. Of so many numbers a pair of windows
# of 1,200 to 20,000 tuples has some in common, and comparing costs more than putting out.
NUMBERS = 1 << 16
# Columns of the calls that hold times of their own, in seconds.
IN_SECONDS = ("start",)
# The stream of suspicious numbers has times of its own; every other input is one of calls.
SUSPECTS = "suspects"


class Feed(NamedTuple):
    """A stream of one input, which begins again when it is at its end.

    Attributes
    ----------
    name : str
        Of the input.
    words : int64 array (words, rows)
        As `coding.encode_inputs` makes them.
    shifts : int64 array (words,)
        What each word is more in the next cycle.
    ranks : int64 array (rows,)
        Of its tuples in the first cycle, ascending.
    """

    name: str
    words: np.ndarray
    shifts: np.ndarray
    ranks: np.ndarray

    def batch(self, first: int, last: int) -> np.ndarray:
        """Return the tuples from one position up to another, over all cycles."""
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
        """Return the time of a tuple."""
        cycle, row = divmod(position, self.words.shape[1])
        return int(self.words[0, row] + cycle * self.shifts[0])


@dataclass(frozen=True)
class Streams:
    """The streams of a query.

    Attributes
    ----------
    query : Query
        With windows in ticks.
    coding : Coding
    feeds : tuple of Feed
        One an input, in the order of the query.
    times : int64 array (rows,)
        Of the tuples of all streams in a cycle, ascending.
    span : int
        Ticks of a cycle.
    """

    query: Query
    coding: Coding
    feeds: tuple[Feed, ...]
    times: np.ndarray
    span: int

    def before(self, feed: Feed, rank: int) -> int:
        """Return how many tuples of a stream have a lower rank."""
        cycle, rest = divmod(rank, len(self.times))
        return cycle * len(feed.ranks) + int(feed.ranks.searchsorted(rest))

    def rank(self, time: int) -> int:
        """Return the rank of the first tuple that has a time or a later one."""
        cycle, rest = divmod(time, self.span)
        return cycle * len(self.times) + int(np.searchsorted(self.times, rest))

    def empty(self) -> dict[str, list[np.ndarray]]:
        """Return streams of no tuples, as a plan's parts take them."""
        return {feed.name: [empty_batch(len(feed.words))] for feed in self.feeds}

    def first(self, total: int) -> dict[str, list[np.ndarray]]:
        """Return the tuples of the lowest `total` ranks, as words by input."""
        return {feed.name: [feed.batch(0, self.before(feed, total))] for feed in self.feeds}


@lru_cache(maxsize=4)
def streams_of(query_id: str, density: int, window: int, folder: Any = None) -> Streams:
    """Return the streams of a query; kept for the next bench.

    Parameters
    ----------
    query_id : str
    density : int
        Ticks of a second of event time.
    window : int
        Tuples of a window, of a query whose windows are told in tuples.
    folder : Path, InMemory or None
        Of the call records, where the query reads them.

    Raises
    ------
    UsageError
        When the data lacks a column that the query asks for, or has none that fits.
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
    # Inputs stand behind each other, so that of equal times the first input's comes first.
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
    """Return a published query with its windows of time in ticks.

    Where they are told in tuples, of which each stream has one a tick, they are what `window` says.
    """
    mapping = to_mapping(query_of(asked.id))
    for operator in mapping["operators"].values():
        for form in operator.values():
            told = form.get("window", {})
            if "time" not in told:
                continue
            for name in {"time", "advance"} & told.keys():
                # The tuple at the other end of a window of n is n - 1 ticks away.
                ticks = window - 1 if asked.in_tuples else told[name] * density
                told[name] = ticks
    return read_query(mapping)


def _shifts(node: Input, rows: int, span: int, density: int) -> np.ndarray:
    """Return what each word of a stream is more in the next cycle."""
    shifts = np.zeros(INPUT_WORDS + len(node.schema.columns) - 1, dtype=np.int64)
    # Time, source, position; then the columns.
    shifts[0], shifts[2] = span, rows
    for word, name in enumerate(node.schema.names[1:], start=INPUT_WORDS):
        if name in IN_SECONDS:
            shifts[word] = span // density
    return shifts


def _made(node: Input, number: int) -> dict[str, np.ndarray]:
    """Return numbers at random, one a tick."""
    random = np.random.default_rng(number)
    names = [name for name in node.schema.names if name != TIME]
    made = {name: random.integers(0, NUMBERS, MOST_ROWS) for name in names}
    return {node.time: np.arange(MOST_ROWS), **made}


def _recorded(query: Query, density: int, folder: Any) -> tuple[dict[str, dict], int]:
    """Return the columns of each input, from call records, and the ticks until they begin again."""
    table = read_table(folder, "calls")
    of_calls = [each for each in query.inputs if each.name != SUSPECTS]
    # Inputs of calls take turns.
    rows = min(len(table["emitted"]) // len(of_calls), MOST_ROWS)
    # Whole seconds, so that what is told in seconds goes on evenly.
    rows -= rows % density if rows > density else 0
    span = -(-rows // density) * density
    found = {
        each.name: _calls(each, table, slice(number, None, len(of_calls)), rows, density)
        for number, each in enumerate(of_calls)
    }
    for each in query.inputs:
        if each.name == SUSPECTS:
            own = read_table(folder, SUSPECTS)
            # An announcement comes with the call before which it was made.
            ticks = np.searchsorted(table["emitted"], own["ts"])
            kept = ticks < rows
            found[each.name] = {each.time: ticks[kept], "number": own["number"][kept]}
    return found, span


def _calls(
    node: Input, table: Mapping[str, np.ndarray], turn: slice, rows: int, density: int
) -> dict[str, np.ndarray]:
    """Return the columns that an input asks for, of some of the calls."""
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
        # A call is as long before its record as it was.
        found[name] = ticks // density + own - emitted if name in IN_SECONDS else own
    return found
