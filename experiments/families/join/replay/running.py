"""Runs a join over files and writes its pairs, a buffer at a time.

Pairs come in one sequence whatever the index: by the arrival of the probing tuple, then by the
partner's position. Each full buffer is a row group, so that equal pairs are equal bytes.
"""

from __future__ import annotations

import numpy as np

from experiments.families.join.replay import pairing
from experiments.families.join.replay.request import Request
from experiments.families.join.replay.streams import Streams, read_streams
from experiments.replay.command import Replayed
from experiments.replay.files import outputs_appearing
from experiments.replay.writing import GroupWriter
from experiments.timing.crew import RunFailed
from operators import registry
from operators.contract import END, ROWS_FULL
from operators.core.atomics import now
from operators.core.layout import aligned_words

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
            _run(request, streams, writer)
    return Replayed(streams.tuples, writer.rows, len(streams.rejected))


def _rows(pairs: np.ndarray, places: np.ndarray | None) -> np.ndarray:
    """Return which rows of their file some tuples are; `places` is None where they are that."""
    return pairs if places is None else places[pairs]


def _run(request: Request, streams: Streams, writer: GroupWriter) -> None:
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
    partners, spare = (aligned_words(streams.window + 1) for _ in range(2))
    digits = aligned_words(pairing.DIGITS)
    r_pairs, s_pairs = (np.empty(PAIRS_AT_ONCE, dtype=np.int64) for _ in range(2))
    status = ROWS_FULL
    while status != END:
        status = loop(
            state, session, *r, *s, partners, spare, digits, r_pairs, s_pairs, now() + TURN_NS
        )
        if status in (ROWS_FULL, END):
            pairs = session[pairing.PAIRS]
            # A self join has R's places alone.
            places = streams.places or [None]
            writer.append(_rows(r_pairs[:pairs], places[0]), _rows(s_pairs[:pairs], places[-1]))
            session[pairing.PAIRS] = 0
        elif status < END:
            why = registry.family("join").failures[status]
            raise RunFailed(f"{variant.id}: {why}", status)
