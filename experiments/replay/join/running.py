"""Runs a join over files and writes its pairs, a buffer at a time.

Pairs come in one sequence whatever the index: by the arrival of the probing tuple, then by the
partner's position. Each full buffer is a row group, so that equal pairs are equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.join import chain, pairing
from experiments.replay.join.pairing import Pairs
from experiments.replay.join.request import Request
from experiments.replay.join.streams import Streams, read_streams
from experiments.replay.writing import GroupWriter
from operators.contract import END, ROWS_FULL
from operators.core.atomics import now
from operators.core.layout import aligned_words
from operators.index.window import make_answer
from operators.join.family import FAMILY
from operators.running.crew import RunFailed

# A row group: 16 MB, and some hundredths of a second to write.
PAIRS_AT_ONCE = 1 << 20
# How long the loop may keep Ctrl-C waiting.
TURN_NS = 100_000_000
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
        When an input is not what it should be. No output was touched.
    RunFailed
        When an index had no room. No output was touched.
    """
    streams = read_streams(request)
    with outputs_appearing(request, streams.rejected) as output:
        with GroupWriter(output, COLUMNS, PAIRS_AT_ONCE) as writer:
            if request.variant.operations.process is None:
                chain.run(request, streams, pairs_buffer(), _appending(streams, writer))
            else:
                _run(request, streams, pairs_buffer(), _appending(streams, writer))
    return Replayed(streams.tuples, writer.rows, len(streams.rejected))


def _appending(streams: Streams, writer: GroupWriter) -> Callable[[Pairs], None]:
    """Return what writes pairs of tuples as rows of their files."""
    # A self join has R's places alone; there are none where a tuple's number is its row.
    places = streams.places or [None]

    def append(pairs: Pairs) -> None:
        ends = zip(pairs, (places[0], places[-1]), strict=True)
        writer.append(*(each if place is None else place[each] for each, place in ends))

    return append


def pairs_buffer() -> Pairs:
    """Return room for the pairs that are written at once."""
    return np.empty(PAIRS_AT_ONCE, dtype=np.int64), np.empty(PAIRS_AT_ONCE, dtype=np.int64)


def _run(
    request: Request, streams: Streams, buffer: Pairs, append: Callable[[Pairs], None]
) -> None:
    variant = request.variant
    state = variant.operations.make_state(
        streams.window,
        streams.half_width,
        two_way=len(request.inputs) == 2,
        key_bits=streams.key_bits,
        span=request.window_ticks,
        **request.parameters,
    )
    loop = pairing.make_pairing_loop(variant.operations.process)
    session = aligned_words(pairing.SESSION_WORDS)
    r, s = (column for column in zip(streams.times, streams.keys, strict=True))
    partners, spare = (make_answer(streams.window) for _ in range(2))
    digits = aligned_words(pairing.DIGITS)
    status = ROWS_FULL
    while status != END:
        status = loop(state, session, *r, *s, partners, spare, digits, *buffer, now() + TURN_NS)
        if status in (ROWS_FULL, END):
            append(pairing.taken(session, buffer))
        elif status < END:
            raise RunFailed(f"{variant.id}: {FAMILY.failures[status]}", status)
