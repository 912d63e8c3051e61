"""Files to the streams of a theta join: exact numbers, the total order, and the size of windows.

The numbers of a band are whole numbers of one unit, the last decimal that its half width or any
number in its two columns has. Physical streams lie side by side, R's first; a tuple's *number* is
its place there, and its *rank* that in the total order (timestamp, stream, position).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datasets.formats.gather import Rejected
from experiments.families.theta_join.replay.request import Request
from experiments.replay.reading import Recording, read_recording
from experiments.replay.request import Numbers, Table
from experiments.replay.windows import most_within
from operators.contract import UsageError
from operators.theta_join.family import REACH, Extent
from operators.theta_join.predicates import NumberTables, number_tables

REMEDY = (
    "the columns and the half width of a band are brought to as many decimals as any of them has:"
    " give fewer, or leave the row out"
)


class Arrivals(NamedTuple):
    """All tuples by number, and the order in which they arrive.

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


class Streams(NamedTuple):
    """What is joined.

    Attributes
    ----------
    came : Arrivals
    tables : NumberTables
        The columns of the bands, side by side for each tuple, and half widths in their units.
    capacity : int
        The most tuples of one logical stream that a thread ever keeps, one at least.
    rejected : list of Rejected
        The rows set aside, by file, then line.
    """

    came: Arrivals
    tables: NumberTables
    capacity: int
    rejected: list[Rejected]


def read_streams(request: Request) -> Streams:
    """Read the files of a request.

    Raises
    ------
    UsageError
        When a file, a column or a row is no good, or numbers or windows are too large.
    """
    r_streams, s_streams = request.r_streams, len(request.inputs) - request.r_streams
    kinds = [
        Numbers(
            columns=(band.r,) * r_streams + (band.s,) * s_streams,
            least_decimals=band.half_width.scale,
            remedy=REMEDY,
        )
        for band in request.bands
    ]
    recording = read_recording(Table.of(request), *kinds)
    half_widths = tuple(
        band.half_width.scaled(found.decimals, f"the numbers in {band.r} and {band.s}")
        for band, found in zip(request.bands, recording.numbers, strict=True)
    )
    came = _arrivals(recording, r_streams)
    tables = number_tables(
        _side_by_side(recording, slice(0, r_streams)),
        _side_by_side(recording, slice(r_streams, None)),
        half_widths,
    )
    capacity = max(most_kept(came, request.extent, request.shares), 1)
    if capacity >= REACH:
        raise UsageError(
            f"a window has up to {capacity} tuples of a stream at once, and {REACH - 1} at most can"
            " be kept; give a shorter one, or more threads"
        )
    return Streams(came, tables, capacity, recording.rejected)


def _side_by_side(recording: Recording, streams: slice) -> np.ndarray:
    """Return the numbers of some streams, those of a tuple next to each other."""
    columns = [np.concatenate(each.values[streams]) for each in recording.numbers]
    return np.ascontiguousarray(np.column_stack(columns), dtype=np.int64).ravel()


def _arrivals(recording: Recording, r_streams: int) -> Arrivals:
    streams = [one.timestamp for one in recording.streams]
    times = np.concatenate(streams).astype(np.int64)
    begins = np.cumsum([0, *map(len, streams)], dtype=np.int64)
    # Stable: ties stay as they lie, by stream and then by position.
    order = np.argsort(times, kind="stable")
    rows = None if recording.places is None else np.concatenate(recording.places)
    return Arrivals(times, begins, order, r_streams, rows)


def most_kept(came: Arrivals, extent: Extent, shares: int) -> int:
    """Return the most tuples of one logical stream that a thread has in its window at once.

    Parameters
    ----------
    came : Arrivals
    extent : Extent
    shares : int
        Every thread keeps the tuples whose rank is its own number modulo so many.
    """
    is_r = came.order < came.r_tuples
    times = came.times[came.order]
    span = extent.count - 1 if extent.count else extent.span
    most = 0
    for mine in (is_r, ~is_r):
        ranks = np.flatnonzero(mine)
        # What a window of count goes by is a tuple's number in its logical stream.
        stamps = np.arange(len(ranks)) if extent.count else times[ranks]
        for thread in range(shares):
            most = max(most, most_within(stamps[ranks % shares == thread], span))
    return most
