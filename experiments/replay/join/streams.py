"""Files to the streams of a join: exact keys of one scale, and the size of the windows.

Keys and half width are whole numbers of one unit, the last decimal that any of them has. Where all
of them, and the ends of all bands, fit 32 bits, an index keeps 32 bits of a key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datasets.formats.gather import Rejected
from experiments.replay.join.request import Request
from experiments.replay.reading import read_recording
from experiments.replay.request import Numbers, Table
from operators.join.run import key_bits_of, most_tuples


class Streams(NamedTuple):
    """What is joined.

    Attributes
    ----------
    times, keys : list of int64 array
        Of R and S; of a self join those of S are empty.
    half_width : int
        In the unit of the keys.
    key_bits : int
        32 or 64.
    window : int
        The most tuples that a window ever has.
    places : list of int64 array or None
        Of each tuple, which row of its file it is; None where that is its number.
    rejected : list of Rejected
        The rows set aside, by file, then line.
    """

    times: list[np.ndarray]
    keys: list[np.ndarray]
    half_width: int
    key_bits: int
    window: int
    places: list[np.ndarray] | None
    rejected: list[Rejected]

    @property
    def tuples(self) -> int:
        """How many tuples are joined."""
        return sum(map(len, self.times))


def read_streams(request: Request) -> Streams:
    """Read the files of a request.

    Raises
    ------
    UsageError
        When a file, a column or a row is no good, or keys or windows are too large.
    """
    kind = Numbers(
        called="key",
        columns=request.keys,
        least_decimals=request.half_width.scale,
        remedy="keys and --half-width are brought to as many decimals as any of them has: give"
        " fewer, or leave the row out",
    )
    recording = read_recording(Table.of(request), kind)
    # The loop is compiled for one kind of array.
    times = [np.require(one.timestamp, np.int64, ["C", "W"]) for one in recording.streams]
    keys = [np.require(one.value, np.int64, ["C", "W"]) for one in recording.streams]
    half_width = request.half_width.scaled(recording.decimals, "keys")
    nothing = [np.zeros(0, dtype=np.int64)] * (2 - len(times))
    return Streams(
        times=times + nothing,
        keys=keys + nothing,
        half_width=half_width,
        key_bits=key_bits_of(keys, half_width),
        window=most_tuples(times, request.window_count or 0, request.window_ticks, "--window-time"),
        places=recording.places,
        rejected=recording.rejected,
    )
