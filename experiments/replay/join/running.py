"""Runs a join over files and writes the pairs, a buffer at a time.

The order of pairs does not depend on the index: by the arrival of the probing tuple, then by the
partner's position. Each full buffer is a row group, so that equal pairs are equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.replay import stages
from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.join.request import Request
from experiments.replay.join.streams import Streams, read_streams
from experiments.replay.writing import GroupWriter
from operators.join import run as join
from operators.join.feed import by_time
from operators.join.pairs_out import Pairs
from operators.join.run import Joining

# A row group: 16 MB, and some hundredths of a second to write.
PAIRS_AT_ONCE = join.PAIRS_AT_ONCE
COLUMNS = ("r_position", "s_position")


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
        When an index had no room. No output was touched.
    """
    streams = read_streams(request)
    stages.current().enter(stages.RUN)
    with outputs_appearing(request, streams.rejected) as output:
        with GroupWriter(output, COLUMNS, PAIRS_AT_ONCE) as writer:
            join.run(_joining(request, streams), _appending(streams, writer), PAIRS_AT_ONCE)
    return Replayed(streams.tuples, writer.rows, len(streams.rejected))


def _appending(streams: Streams, writer: GroupWriter) -> Callable[[Pairs], None]:
    """Return a function that writes pairs of tuples as rows of their files."""
    # For a self join this is R's list alone; None where a tuple's number is its row.
    places = streams.places or [None]

    def append(pairs: Pairs) -> None:
        ends = zip(pairs, (places[0], places[-1]), strict=True)
        writer.append(*(each if place is None else place[each] for each, place in ends))

    return append


def _joining(request: Request, streams: Streams) -> Joining:
    """Return the join to run."""
    columns = [each for stream in zip(streams.times, streams.keys, strict=True) for each in stream]
    return Joining(
        variant=request.variant,
        feed=by_time(*columns),
        window=streams.window,
        half_width=streams.half_width,
        two_way=len(request.inputs) == 2,
        key_bits=streams.key_bits,
        span=request.window_ticks,
        parameters=request.parameters,
    )
