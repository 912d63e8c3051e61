"""A theta join over arrays: threads that deliver, compare and take, and a library entry point.

::

    R --> [stream 0 ..] --+                                          keys of pairs
                          +--> [processing 0 ..], [driver] --> [output] ----> sink
    S --> [stream  ..n] --+

The output is a key a pair: the ranks of both tuples, the later one's first. The keys come in that
order, or are sorted, so that the output does not depend on the threads.

``run_join`` joins by any condition (`operators.theta_join.number_predicates`), here by division::

    def divides(r, s):
        return s != 0 and r % s == 0

    tables = number_tables(r_numbers, s_numbers)
    pairs = run_join("scale-join", condition(divides, 1), tables, r_times, s_times, span=300)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import TIMESTAMP_LIMIT, UsageError, Variant, whole
from operators.core.layout import aligned_words
from operators.running.drivers import Feed, make_steps_loop
from operators.running.library import (
    checked_seconds,
    checked_times,
    discard,
    input_roles,
    make_feed,
    run_to_the_end,
)
from operators.running.run_threads import STALL_SECONDS, Role
from operators.theta_join.capacity import most_in_window
from operators.theta_join.family import OWN, Extent, Shape, State, make_extent
from operators.theta_join.ordering import Runs
from operators.theta_join.pairs_out import Sink, make_take_loop, take_pairs
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import partner_of, rank_of

# Pairs that are handed over at a time.
PAIRS_AT_ONCE = 1 << 20


class Arrivals(NamedTuple):
    """All tuples by number, and their order of arrival.

    Physical streams are concatenated, R's first; a tuple's *number* is its index there, and its
    *rank* the index in the total order (timestamp, stream, position).

    Attributes
    ----------
    times : int64 array
        By number.
    begins : int64 array (streams + 1)
        The number of each stream's first tuple; the last entry is the number of tuples.
    order : int64 array
        By rank, the number.
    r_streams : int
    rows : int64 array or None
        By number, the tuple's row in its file; None if that is the position.
    """

    times: np.ndarray
    begins: np.ndarray
    order: np.ndarray
    r_streams: int
    rows: np.ndarray | None

    @property
    def r_tuples(self) -> int:
        """The number of R's tuples, which have the lowest numbers."""
        return int(self.begins[self.r_streams])

    @property
    def streams(self) -> int:
        """The number of physical streams."""
        return len(self.begins) - 1

    def pairs(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for each pair the numbers of the later tuple, of R's tuple and of S's."""
        later, earlier = self.order[rank_of(keys)], self.order[partner_of(keys)]
        # Numbers of R's tuples are below those of S's.
        return later, np.minimum(later, earlier), np.maximum(later, earlier)


def arrivals_of(
    streams: Sequence[np.ndarray], r_streams: int, rows: np.ndarray | None = None
) -> Arrivals:
    """Return the arrivals of the tuples of physical streams, R's streams first."""
    times = np.concatenate(streams).astype(np.int64)
    begins = np.cumsum([0, *map(len, streams)], dtype=np.int64)
    # A stable sort keeps ties in the order of streams, then of positions.
    return Arrivals(times, begins, np.argsort(times, kind="stable"), r_streams, rows)


def most_kept(came: Arrivals, extent: Extent, shares: int) -> int:
    """Return the most tuples of one logical stream that a thread has in its window at once.

    Parameters
    ----------
    came : Arrivals
    extent : Extent
    shares : int
        Each thread keeps the tuples whose rank modulo `shares` is the thread's number.
    """
    return most_in_window(came.times[came.order], came.order < came.r_tuples, extent, shares)


class Joining(NamedTuple):
    """The input and the settings of a join.

    Attributes
    ----------
    variant : Variant
    predicate : Predicate
    tables : NamedTuple
        In the predicate's format.
    came : Arrivals
    extent : Extent
    threads, capacity : int
        As in `Shape`.
    parameters : mapping
        Those of the variant, except the number of threads.
    """

    variant: Variant
    predicate: Predicate
    tables: Any
    came: Arrivals
    extent: Extent
    threads: int
    capacity: int
    parameters: Mapping[str, Any]

    def make_state(self) -> State:
        """Return the join's state, with empty windows."""
        came = self.came
        r_streams, s_streams = came.r_streams, came.streams - came.r_streams
        shape = Shape(r_streams, s_streams, self.threads, self.capacity)
        make_state = self.variant.operations.make_state
        return make_state(self.predicate, self.tables, self.extent, shape, **self.parameters)


def run_join(
    variant: str,
    predicate: Predicate,
    tables: Any,
    r_times: ArrayLike,
    s_times: ArrayLike,
    *,
    span: int = 0,
    count: int = 0,
    purge: str = OWN,
    threads: int | None = None,
    stall_seconds: float = STALL_SECONDS,
    **parameters: Any,
) -> np.ndarray:
    """Join a stream R with a stream S and return the pairs, independent of thread timing.

    Parameters
    ----------
    variant : str
        Id of a theta join.
    predicate : Predicate
        Bands, or any condition.
    tables : NamedTuple
        Numbers of the tuples in the order of their times, in the predicate's format.
    r_times, s_times : array_like of int
        Arrival times, in any unit.
    span : int
        Ticks of time windows; 0 for windows of `count` tuples.
    purge : str
        own or opposite: the window a tuple purges. Handshake joins take the latter alone.
    threads : int, optional
        Comparing threads; the variant's default if not given. A variant of one thread accepts 1.
    stall_seconds : float
        The run is given up after so long without progress of any thread: longer than a condition
        may take for a tuple's comparisons.
    **parameters
        Those of the variant, such as ``sort``.

    Returns
    -------
    int64 array (pairs, 2)
        Positions of the tuples of R and of S, by the later tuple's rank, then the earlier one's.

    Raises
    ------
    UsageError
        When an argument is invalid, or the variant does not take it.
    run_threads.RunFailed
        When a thread failed, or none made progress.

    Examples
    --------
    >>> from operators.theta_join.number_predicates import bands, number_tables
    >>> tables = number_tables([10, 20, 30], [11, 29, 9], half_widths=(1,))
    >>> run_join("scale-join", bands(1), tables, [0, 5, 10], [2, 6, 12], span=60).tolist()
    [[0, 0], [2, 1], [0, 2]]
    """
    chosen = registry.variant("theta_join", variant)
    stall_seconds = checked_seconds("stall_seconds", stall_seconds)
    own = registry.settings_for_threads(chosen, parameters, threads)
    comparing = own.pop(registry.THREADS, 1)
    # Any core of a chain may have to keep any tuple.
    shares = comparing if chosen.operations.drive is None else 1
    streams = [checked_times("r_times", r_times), checked_times("s_times", s_times)]
    if not isinstance(predicate, Predicate):
        raise UsageError(
            "a predicate is what bands or condition returns, received"
            f" {getattr(predicate, '__name__', type(predicate).__name__)}"
        )
    predicate.check(tables, tuple(map(len, streams)))
    span, count = whole("span", span), whole("count", count)
    if max(span, count) >= TIMESTAMP_LIMIT:
        raise UsageError(f"span and count must be below 2**62, received {max(span, count)}")
    came, extent = arrivals_of(streams, 1), make_extent(span, count, purge)
    capacity = max(most_kept(came, extent, shares), 1)
    found = Runs(PAIRS_AT_ONCE)
    sink = Sink(found.append, tuple, discard)
    joining = Joining(chosen, predicate, tables, came, extent, comparing, capacity, own)
    run(joining, sink, stall_seconds=stall_seconds)
    keys = np.concatenate([np.zeros(0, np.int64), *found.merged()])
    _, r, s = came.pairs(keys)
    return np.column_stack([r, s - came.r_tuples])


# --- threads --------------------------------------------------------------------------------------


def run(
    joining: Joining,
    sink: Sink,
    at_once: int = PAIRS_AT_ONCE,
    stall_seconds: float | None = None,
) -> None:
    """Run a join to its end, passing the keys of `at_once` pairs at a time to a sink.

    `stall_seconds` is that of ``run_join``.

    Raises
    ------
    run_threads.RunFailed
        When a thread failed, or none made progress.
    """
    nothing = joining._replace(came=_nothing(joining.came), capacity=1)
    run_to_the_end(
        _roles(joining, sink, at_once),
        _roles(nothing, Sink(discard, tuple, discard), at_once),
        len(joining.came.times),
        registry.family(joining.variant.family).failures,
        stall_seconds,
    )


def _nothing(came: Arrivals) -> Arrivals:
    """Return the same streams without tuples."""
    times = np.zeros(0, dtype=np.int64)
    return Arrivals(times, np.zeros_like(came.begins), times, came.r_streams, None)


def _roles(joining: Joining, sink: Sink, at_once: int) -> list[Role]:
    """Return the threads of a run."""
    operations, predicate = joining.variant.operations, joining.predicate
    state, came = joining.make_state(), joining.came
    take_loop = make_take_loop(
        operations.make_get_output(predicate), operations.seen, not state.threads
    )
    arguments = (state.shared, state.output, aligned_words(1 + predicate.record))
    keys = np.zeros(at_once, dtype=np.int64)

    def compared(own: Any) -> Callable[[], str]:
        return lambda: f"after {operations.compared(own)} comparisons"

    roles = [Role("output", take_pairs, (take_loop, arguments, keys, sink), output=True)]
    if state.threads:
        steps_loop = make_steps_loop(operations.make_step(predicate))
        roles += [
            Role(f"processing {number}", steps_loop, (state.shared, own), doing=compared(own))
            for number, own in enumerate(state.threads)
        ]
    if state.driver is not None:
        drive_loop = make_steps_loop(operations.drive)
        roles.append(Role("driver", drive_loop, (state.shared, state.driver)))
    feeds = [_feed(came, stream) for stream in range(came.streams)]
    return roles + input_roles(
        "stream", operations.insert_tuple, operations.close_source, state.shared, feeds
    )


def _feed(came: Arrivals, stream: int) -> Feed:
    """Return the tuples of a stream; their payload is the row in the table of their side."""
    begin, end = (int(came.begins[place]) for place in (stream, stream + 1))
    first = 0 if stream < came.r_streams else came.r_tuples
    rows = np.arange(end - begin)
    return make_feed(came.times[begin:end], np.zeros_like(rows), rows + (begin - first))
