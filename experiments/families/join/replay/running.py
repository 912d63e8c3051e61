"""Runs a join over files and writes its pairs, a buffer at a time.

Pairs come in one sequence whatever the index: by the arrival of the probing tuple, then by the
partner's position. Each full buffer is a row group, so that equal pairs are equal bytes.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.families.join.replay import pairing
from experiments.families.join.replay.request import Request
from experiments.families.join.replay.streams import Streams, read_streams
from experiments.replay.files import appearing, write_rejected
from experiments.timing.crew import RunFailed
from operators import registry
from operators.contract import END, ROWS_FULL
from operators.core.atomics import now
from operators.core.layout import aligned_words

# A row group: 16 MB, and some hundredths of a second to write.
PAIRS_AT_ONCE = 1 << 20
# How long the loop may keep Ctrl-C waiting.
TURN_NS = 100_000_000
SCHEMA = pa.schema(
    [pa.field(name, pa.int64(), nullable=False) for name in ("r_position", "s_position")]
)


class Replayed(NamedTuple):
    """What a replay did: tuples joined, pairs written and rows set aside, in files."""

    tuples: int
    rows: int
    rejected: int


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
    with ExitStack() as files:
        # Left last, so that the pairs appear when the rows set aside are in place.
        output = files.enter_context(appearing(request.output))
        if request.rejected is not None:
            aside = files.enter_context(appearing(request.rejected))
            write_rejected(
                aside,
                ((one.reason, str(request.inputs[one.file]), one.line, one.content)
                 for one in streams.rejected),
            )  # fmt: skip
        with PairWriter(output, streams.places) as writer:
            _run(request, streams, writer)
    return Replayed(streams.tuples, writer.rows, len(streams.rejected))


class PairWriter:
    """Writes pairs of positions to a Parquet file, a row group a call.

    Parameters
    ----------
    path : Path
    places : list of int64 array or None
        Of each tuple of R, and of S, which row of its file it is; None where that is its number.
        A self join has R's alone.
    """

    def __init__(self, path: Path, places: list[np.ndarray] | None) -> None:
        self._places = places
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="snappy")
        self.rows = 0

    def append(self, r: np.ndarray, s: np.ndarray) -> None:
        """Write pairs of tuples, numbers of R's and of S's."""
        if not len(r):
            return
        if self._places is not None:
            r, s = self._places[0][r], self._places[-1][s]
        table = pa.Table.from_arrays([pa.array(r), pa.array(s)], schema=SCHEMA)
        self._writer.write_table(table, row_group_size=len(r))
        self.rows += len(r)

    def __enter__(self) -> PairWriter:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the file, which has its columns without pairs, too."""
        self._writer.close()


def _run(request: Request, streams: Streams, writer: PairWriter) -> None:
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
            writer.append(r_pairs[:pairs], s_pairs[:pairs])
            session[pairing.PAIRS] = 0
        elif status < END:
            why = registry.family("join").failures[status]
            raise RunFailed(f"{variant.id}: {why}", status)
