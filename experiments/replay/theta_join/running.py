"""A replay: files are read, joined (`operators.theta_join.run`), pairs written.

A row a pair comes out, in the order of its key, so that no byte of the output depends on the
threads. Where a join's own buffer was too small, it is run again with a larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.theta_join import COLUMNS
from experiments.replay.theta_join.request import Request
from experiments.replay.theta_join.streams import Streams, read_streams
from experiments.replay.writing import GroupWriter
from operators.running.crew import RunFailed
from operators.theta_join.family import SORT_FULL
from operators.theta_join.number_predicates import bands
from operators.theta_join.ordering import Runs
from operators.theta_join.pairs_out import Sink
from operators.theta_join.run import Arrivals, Joining, run

# A row group: 40 MB, and about a tenth of a second to write.
PAIRS_AT_ONCE = 1 << 20
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
        later, *sides = came.pairs(keys)
        columns = [came.times[later]]
        for first, numbers in zip((0, came.r_streams), sides, strict=True):
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


def _run(
    request: Request, streams: Streams, parameters: dict[str, Any], writer: GroupWriter
) -> None:
    predicate = bands(len(request.bands))
    asked = Joining(
        request.variant, predicate, streams.tables, streams.came, request.extent, request.threads,
        streams.capacity, parameters,
    )  # fmt: skip
    run(asked, _sink(request, PairWriter(writer, streams.came)), PAIRS_AT_ONCE)
