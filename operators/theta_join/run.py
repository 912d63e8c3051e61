"""A theta join over arrays: the threads that deliver, compare and take, and an entry for libraries.

::

    R --> [stream 0 ..] --+                                          keys of pairs
                          +--> [processing 0 ..], [driver] --> [output] ----> sink
    S --> [stream  ..n] --+

What comes out is a key a pair: the ranks of its tuples, the later one's first. They come in that
order, or are put into it, so that nothing of the output depends on the threads.

``run_join`` joins by any condition (`operators.theta_join.number_predicates`), here by division::

    def divides(r, s):
        return s != 0 and r % s == 0

    tables = number_tables(r_numbers, s_numbers)
    pairs = run_join("scale-join", condition(divides, 1), tables, r_times, s_times, span=300)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from operators import registry
from operators.contract import UsageError, Variant
from operators.core.layout import aligned_words
from operators.running.crew import Role
from operators.running.drivers import Feed, make_steps_loop
from operators.running.library import checked_times, discard, input_roles, make_feed, run_to_the_end
from operators.theta_join.capacity import most_in_window
from operators.theta_join.family import OWN, Extent, Shape, State, make_extent
from operators.theta_join.number_predicates import NumberTables
from operators.theta_join.ordering import Runs
from operators.theta_join.pairs_out import Sink, make_take_loop, take_pairs
from operators.theta_join.predicates import Predicate
from operators.theta_join.processing import partner_of, rank_of

# Pairs that are handed over at a time.
PAIRS_AT_ONCE = 1 << 20


class Arrivals(NamedTuple):
    """All tuples by number, and the order in which they arrive.

    Physical streams lie side by side, R's first; a tuple's *number* is its place there, and its
    *rank* that in the total order (timestamp, stream, position).

    Attributes
    ----------
    times : int64 array
        By number.
    begins : int64 array (streams + 1)
        The number of each stream's first tuple; the last entry is how many tuples there are.
    order : int64 array
        By rank, the number.
    r_streams : int
    rows : int64 array or None
        By number, which row of its file a tuple is; None where that is its position.
    """

    times: np.ndarray
    begins: np.ndarray
    order: np.ndarray
    r_streams: int
    rows: np.ndarray | None

    @property
    def r_tuples(self) -> int:
        """How many tuples are R's: the numbers below."""
        return int(self.begins[self.r_streams])

    @property
    def streams(self) -> int:
        """How many physical streams there are."""
        return len(self.begins) - 1

    def pairs(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return of the pairs with these keys the number of the later tuple, R's and S's."""
        later, earlier = self.order[rank_of(keys)], self.order[partner_of(keys)]
        # Numbers of R's tuples are below those of S's.
        return later, np.minimum(later, earlier), np.maximum(later, earlier)


def arrivals_of(
    streams: Sequence[np.ndarray], r_streams: int, rows: np.ndarray | None = None
) -> Arrivals:
    """Return how the tuples of physical streams arrive, R's streams first."""
    times = np.concatenate(streams).astype(np.int64)
    begins = np.cumsum([0, *map(len, streams)], dtype=np.int64)
    # Stable: ties stay as they lie, by stream and then by position.
    return Arrivals(times, begins, np.argsort(times, kind="stable"), r_streams, rows)


def most_kept(came: Arrivals, extent: Extent, shares: int) -> int:
    """Return the most tuples of one logical stream that a thread has in its window at once.

    Parameters
    ----------
    came : Arrivals
    extent : Extent
    shares : int
        Every thread keeps the tuples whose rank is its own number modulo so many.
    """
    return most_in_window(came.times[came.order], came.order < came.r_tuples, extent, shares)


class Joining(NamedTuple):
    """What is joined, and how.

    Attributes
    ----------
    variant : Variant
    predicate : Predicate
    tables : NamedTuple
        As the predicate knows them.
    came : Arrivals
    extent : Extent
    threads, capacity : int
        As in `Shape`.
    parameters : mapping
        The variant's own, but for how many threads it has.
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
        """Return the join's state, its windows empty."""
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
    **parameters: Any,
) -> np.ndarray:
    """Join a stream R with a stream S and return the pairs, whatever the threads do when.

    Parameters
    ----------
    variant : str
        Id of a theta join.
    predicate : Predicate
        Bands, or any condition.
    tables : NamedTuple
        Numbers of the tuples in the order of their times, as the predicate knows them.
    r_times, s_times : array_like of int
        When tuples arrive, in any unit.
    span : int
        Of windows of time; 0 where they are of `count` tuples.
    purge : str
        own or opposite: the window a tuple purges. Handshake joins take the latter alone.
    threads : int, optional
        That compare: as many as the variant has by default, where none are given; a variant of one
        thread accepts 1.
    **parameters
        The variant's own, such as ``sort``.

    Returns
    -------
    int64 array (pairs, 2)
        Positions of the tuples of R and of S, by the later tuple's rank, then the earlier one's.

    Raises
    ------
    UsageError
        When an argument is no good, or the variant does not take it.
    crew.RunFailed
        When a thread failed.

    Examples
    --------
    >>> from operators.theta_join.number_predicates import bands, number_tables
    >>> tables = number_tables([10, 20, 30], [11, 29, 9], half_widths=(1,))
    >>> run_join("scale-join", bands(1), tables, [0, 5, 10], [2, 6, 12], span=60).tolist()
    [[0, 0], [2, 1], [0, 2]]
    """
    chosen = registry.variant("theta_join", variant)
    own = registry.settings_for_threads(chosen, parameters, threads)
    comparing = own.pop(registry.THREADS, 1)
    # Any core of a chain may come to have any of the tuples.
    shares = comparing if chosen.operations.drive is None else 1
    streams = [checked_times("r_times", r_times), checked_times("s_times", s_times)]
    if isinstance(tables, NumberTables):
        for name, times, numbers in zip("rs", streams, tables[:2], strict=True):
            if len(numbers) != predicate.columns * len(times):
                raise UsageError(
                    f"{len(times)} tuples of {name} have {predicate.columns} numbers each, received"
                    f" {len(numbers)} in all"
                )
    came, extent = arrivals_of(streams, 1), make_extent(span, count, purge)
    capacity = max(most_kept(came, extent, shares), 1)
    found = Runs(PAIRS_AT_ONCE)
    sink = Sink(found.append, tuple, discard)
    run(Joining(chosen, predicate, tables, came, extent, comparing, capacity, own), sink)
    keys = np.concatenate([np.zeros(0, np.int64), *found.merged()])
    _, r, s = came.pairs(keys)
    return np.column_stack([r, s - came.r_tuples])


# --- threads --------------------------------------------------------------------------------------


def run(joining: Joining, sink: Sink, at_once: int = PAIRS_AT_ONCE) -> None:
    """Run a join to its end; its pairs' keys go to a sink, so many at a time.

    Raises
    ------
    crew.RunFailed
        When a thread failed.
    """
    nothing = joining._replace(came=_nothing(joining.came), capacity=1)
    run_to_the_end(
        _roles(joining, sink, at_once),
        _roles(nothing, Sink(discard, tuple, discard), at_once),
        len(joining.came.times),
        registry.family(joining.variant.family).failures,
    )


def _nothing(came: Arrivals) -> Arrivals:
    """Return the same streams without a tuple."""
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
    roles = [Role("output", take_pairs, (take_loop, arguments, keys, sink), output=True)]
    if state.threads:
        steps_loop = make_steps_loop(operations.make_step(predicate))
        roles += [
            Role(f"processing {number}", steps_loop, (state.shared, own))
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
    """Return the tuples of a stream; what is delivered is their row in its side's table."""
    begin, end = (int(came.begins[place]) for place in (stream, stream + 1))
    first = 0 if stream < came.r_streams else came.r_tuples
    rows = np.arange(end - begin)
    return make_feed(came.times[begin:end], np.zeros_like(rows), rows + (begin - first))
