"""Files to the streams of a join: exact keys of one scale, and the size of the windows.

Keys and half width are whole numbers in the unit of the last decimal that any of them has; or, if
these do not fit 64 bits, integers that give the same pairs (`experiments.replay.bands.on_a_grid`).
If all keys, and the ends of all bands, fit 32 bits, an index stores 32 bits of a key.
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
    """The streams to join.

    Attributes
    ----------
    times, keys : list of int64 array
        Of R and S; for a self join those of S are empty.
    half_width : int
        In the unit of the keys.
    key_bits : int
        32 or 64.
    window : int
        The most tuples that a window ever has.
    places : list of int64 array or None
        For each tuple, the row of the file; None if that is the tuple's number.
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
        """The number of tuples joined."""
        return sum(map(len, self.times))


def read_streams(request: Request) -> Streams:
    """Read the files of a request.

    Raises
    ------
    UsageError
        When a file, a column or a row is unusable, or keys or windows are too large.
    """
    kind = Numbers(
        called="key",
        columns=request.keys,
        half_width=request.half_width,
    )
    recording = read_recording(Table.of(request), kind)
    # The loop is compiled for one kind of array.
    times = [np.require(one.timestamp, np.int64, ["C", "W"]) for one in recording.streams]
    keys = [np.require(one.value, np.int64, ["C", "W"]) for one in recording.streams]
    half_width = recording.numbers[0].half_width
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
