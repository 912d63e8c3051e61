"""The threads of a replay: one a file, those that compare, a driver where there is one, and output.

::

    R files --> [stream 0 ..] --+                                          keys of pairs
                                +--> [processing 0 ..], [driver] --> [output] ----> rows --> file
    S files --> [stream  ..n] --+

What comes out is a key a pair: the ranks of its tuples, the later one's first. They come in that
order, or are put into it, so that no byte of the output depends on the threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.families.theta_join.loops import make_step_loop, nothing_noted
from experiments.families.theta_join.replay import COLUMNS
from experiments.families.theta_join.replay.ordering import Runs
from experiments.families.theta_join.replay.pairing import Sink, make_take_loop, take_pairs
from experiments.families.theta_join.replay.request import Request
from experiments.families.theta_join.replay.streams import Arrivals, Streams, read_streams
from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.handing import compile_roles
from experiments.replay.writing import GroupWriter
from experiments.timing import crew
from experiments.timing.crew import Role, RunFailed
from experiments.timing.offer import Feed, make_input_loop
from operators import registry
from operators.core.layout import aligned_words
from operators.theta_join.family import SORT_FULL, State
from operators.theta_join.predicates import Predicate, bands, number_tables
from operators.theta_join.processing import partner_of, rank_of

# A row group: 40 MB, and about a tenth of a second to write.
PAIRS_AT_ONCE = 1 << 20
TUPLES_A_SECOND = 100_000
# Where a failure says that this parameter was too small, the join is run again with more of it.
TOO_SMALL = {SORT_FULL: "sort"}
MORE = 16


def replay(request: Request) -> Replayed:
    """Join the files of a request and write the pairs.

    Parameters
    ----------
    request : Request

    Returns
    -------
    Replayed

    Raises
    ------
    UsageError
        When an input is not what it should be. No output was touched.
    RunFailed
        When a thread failed. No output was touched.
    """
    streams = read_streams(request)
    with outputs_appearing(request, streams.rejected) as output:
        parameters = dict(request.parameters)
        rows = None
        while rows is None:
            with GroupWriter(output, COLUMNS, PAIRS_AT_ONCE) as writer:
                try:
                    _run(request, streams, parameters, writer)
                    rows = writer.rows
                except RunFailed as error:
                    _give_more(request, parameters, error)
    return Replayed(len(streams.came.times), rows, len(streams.rejected))


def _give_more(request: Request, parameters: dict[str, Any], error: RunFailed) -> None:
    """Raise a parameter that was too small.

    Raises
    ------
    RunFailed
        The one given, where it was something else, or there is no more.
    """
    name = TOO_SMALL.get(error.status)
    known = {each.name: each for each in request.variant.parameters}
    if name not in known:
        raise error
    most = int(known[name].maximum)
    if parameters[name] == most:
        raise RunFailed(
            f"{request.variant.id}: more than {most} pairs wait to be put in order; take"
            " scale-join, whose pairs come in order",
            error.status,
        ) from error
    parameters[name] = min(MORE * parameters[name], most)


class PairWriter:
    """Writes pairs, which are given by their keys.

    Parameters
    ----------
    writer : GroupWriter
    came : Arrivals
    """

    def __init__(self, writer: GroupWriter, came: Arrivals) -> None:
        self._writer, self._came = writer, came

    def write(self, keys: np.ndarray) -> None:
        """Write some pairs, in the order in which they are given."""
        came = self._came
        later, earlier = came.order[rank_of(keys)], came.order[partner_of(keys)]
        # Numbers of R's tuples are below those of S's.
        columns = [came.times[later]]
        for first, numbers in (
            (0, np.minimum(later, earlier)),
            (came.r_streams, np.maximum(later, earlier)),
        ):
            stream = np.searchsorted(came.begins, numbers, side="right") - 1
            rows = numbers - came.begins[stream] if came.rows is None else came.rows[numbers]
            columns += [stream - first, rows]
        self._writer.append(*columns)


def _sink(request: Request, writer: PairWriter) -> Sink:
    """Return where pairs go: to the file at once, or when all of them are there to be ordered."""
    if request.variant.operations.ordered:
        return Sink(writer.write, tuple, writer.write)
    runs = Runs(PAIRS_AT_ONCE)
    return Sink(runs.append, runs.merged, writer.write)


# --- threads --------------------------------------------------------------------------------------


def _run(
    request: Request, streams: Streams, parameters: dict[str, Any], writer: GroupWriter
) -> None:
    predicate = bands(len(request.bands))
    make_state = request.variant.operations.make_state
    nobody = number_tables((), (), streams.tables.half_widths)
    small = make_state(predicate, nobody, request.extent, request.shape(1), **request.parameters)
    compile_roles(_roles(request, predicate, small, _nothing(request), Sink(_drop, tuple, _drop)))
    shape = request.shape(streams.capacity)
    state = make_state(predicate, streams.tables, request.extent, shape, **parameters)
    sink = _sink(request, PairWriter(writer, streams.came))
    crew.run(
        _roles(request, predicate, state, streams.came, sink),
        pin=False,
        expected_seconds=len(streams.came.times) / TUPLES_A_SECOND,
        limit_seconds=float("inf"),
        failures=registry.family(request.variant.family).failures,
    )


def _drop(keys: np.ndarray) -> None:
    """Take pairs that nobody wants."""


def _nothing(request: Request) -> Arrivals:
    """Return the streams of a request without a tuple."""
    times = np.zeros(0, dtype=np.int64)
    begins = np.zeros(len(request.inputs) + 1, dtype=np.int64)
    return Arrivals(times, begins, times, request.r_streams, None)


def _roles(
    request: Request, predicate: Predicate, state: State, came: Arrivals, sink: Sink
) -> list[Role]:
    """Return the threads of a run."""
    operations = request.variant.operations
    take_loop = make_take_loop(
        operations.make_get_output(predicate), operations.seen, not state.threads
    )
    arguments = (state.shared, state.output, aligned_words(1 + predicate.record))
    keys = np.zeros(PAIRS_AT_ONCE, dtype=np.int64)
    roles = [Role("output", take_pairs, (take_loop, arguments, keys, sink), output=True)]
    if state.threads:
        step_loop = _step_loop(operations, operations.make_step(predicate), operations.compared)
        roles += [
            Role(f"processing {number}", step_loop, (state.shared, own, 0, 0, nothing_noted()))
            for number, own in enumerate(state.threads)
        ]
    if state.driver is not None:
        drive_loop = _step_loop(operations, operations.drive, operations.seen)
        arguments = (state.shared, state.driver, 0, 0, nothing_noted())
        roles.append(Role("driver", drive_loop, arguments))
    enter = make_input_loop(operations.insert_tuple, operations.close_source)
    for stream in range(len(request.inputs)):
        feed = _feed(came, stream, request.r_streams)
        roles.append(Role(f"stream {stream}", enter, (state.shared, stream, feed, feed.rows, 0.0)))
    return roles


def _step_loop(operations: Any, step: Any, compared: Any) -> Any:
    return make_step_loop(step, operations.seen, compared, False)


def _feed(came: Arrivals, stream: int, r_streams: int) -> Feed:
    """Return the tuples of a stream; what is delivered is their row in its side's table."""
    begin, end = (int(came.begins[place]) for place in (stream, stream + 1))
    first = 0 if stream < r_streams else came.r_tuples
    rows = end - begin
    times = np.require(came.times[begin:end], np.int64, ["C", "W"])
    # The ranks say only that the stream is gone through once: nothing here has a due time.
    place = np.arange(rows)
    return Feed(times, np.zeros(rows, np.int64), place + (begin - first), place, rows, 0)
