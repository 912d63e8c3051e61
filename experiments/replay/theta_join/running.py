"""A replay: files are read, joined (`operators.theta_join.run`), pairs written.

Each pair is a row, in the order of the pairs' keys, so that no byte of the output depends on the
threads. If a buffer of the join was too small, the join is run again with a larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.replay import stages
from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.remarks import say
from experiments.replay.theta_join import COLUMNS
from experiments.replay.theta_join.request import Request
from experiments.replay.theta_join.streams import Streams, read_streams
from experiments.replay.writing import GroupWriter
from operators.running.run_threads import RunFailed
from operators.theta_join.family import SORT_FULL
from operators.theta_join.number_predicates import bands
from operators.theta_join.ordering import Runs
from operators.theta_join.pairs_out import Sink
from operators.theta_join.run import Arrivals, Joining, run

# A row group: 40 MB, and about a tenth of a second to write.
PAIRS_AT_ONCE = 1 << 20
# If a failure says that this parameter was too small, the join is run again with a larger one.
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
        When an input is faulty. No output was touched.
    RunFailed
        When a thread failed. No output was touched.
    """
    streams = read_streams(request)
    stages.current().enter(stages.RUN)
    with outputs_appearing(request, streams.rejected) as output:
        parameters = dict(request.parameters)
        rows = None
        while rows is None:
            with GroupWriter(output, COLUMNS, PAIRS_AT_ONCE) as writer:
                try:
                    pairs = PairWriter(writer, streams.came, request.extent.span)
                    _run(request, streams, parameters, pairs)
                    rows = writer.rows
                except RunFailed as error:
                    _give_more(request, parameters, error)
    if pairs.far_apart and not request.extent.opposite:
        say(
            f"{pairs.far_apart} of {rows} pairs lie further apart than the window: --purge own, as"
            " the paper's procedure, compares a tuple before it purges; --purge opposite keeps"
            " pairs that are a window apart at most"
        )
    return Replayed(len(streams.came.times), rows, len(streams.rejected))


def _give_more(request: Request, parameters: dict[str, Any], error: RunFailed) -> None:
    """Raise a parameter that was too small.

    Raises
    ------
    RunFailed
        The given one, if it has another cause, or the parameter is at its maximum.
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
    span : int
        Length of time windows; 0 for windows of tuples.

    Attributes
    ----------
    far_apart : int
        Pairs so far whose tuples lie further apart than `span`.
    """

    def __init__(self, writer: GroupWriter, came: Arrivals, span: int = 0) -> None:
        self._writer, self._came, self._span = writer, came, span
        self.far_apart = 0

    def write(self, keys: np.ndarray) -> None:
        """Write some pairs, in the given order."""
        came = self._came
        later, *sides = came.pairs(keys)
        if self._span:
            apart = np.abs(came.times[sides[0]] - came.times[sides[1]])
            self.far_apart += int(np.count_nonzero(apart > self._span))
        columns = [came.times[later]]
        for first, numbers in zip((0, came.r_streams), sides, strict=True):
            stream = np.searchsorted(came.begins, numbers, side="right") - 1
            rows = numbers - came.begins[stream] if came.rows is None else came.rows[numbers]
            columns += [stream - first, rows]
        self._writer.append(*columns)


def _sink(request: Request, writer: PairWriter) -> Sink:
    """Return the sink of the pairs: the file at once, or, to be sorted first, a buffer of all."""
    if request.variant.operations.ordered:
        return Sink(writer.write, tuple, writer.write)
    runs = Runs(PAIRS_AT_ONCE)
    return Sink(runs.append, runs.merged, writer.write)


def _run(
    request: Request, streams: Streams, parameters: dict[str, Any], writer: PairWriter
) -> None:
    predicate = bands(len(request.bands))
    asked = Joining(
        request.variant, predicate, streams.tables, streams.came, request.extent, request.threads,
        streams.capacity, parameters,
    )  # fmt: skip
    run(asked, _sink(request, writer), PAIRS_AT_ONCE)
