"""Files to the streams of a theta join: exact numbers, the total order, and the size of windows.

The numbers of a band are whole numbers in the unit of the last decimal that the half width or any
number in the two columns has; or, if these do not fit 64 bits, integers that give the same pairs
(`experiments.replay.bands.on_a_grid`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datasets.formats.gather import Rejected
from experiments.replay.reading import Recording, read_recording
from experiments.replay.request import Numbers, Table
from experiments.replay.theta_join.request import Request
from operators.contract import UsageError
from operators.theta_join.family import REACH
from operators.theta_join.number_predicates import NumberTables, number_tables
from operators.theta_join.run import Arrivals, arrivals_of, most_kept


class Streams(NamedTuple):
    """The streams to join.

    Attributes
    ----------
    came : Arrivals
    tables : NumberTables
        The columns of the bands, side by side for each tuple, and half widths in their units.
    capacity : int
        The most tuples of one logical stream that a thread ever keeps, at least one.
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
        When a file, a column or a row is unusable, or numbers or windows are too large.
    """
    r_streams, s_streams = request.r_streams, len(request.inputs) - request.r_streams
    kinds = [
        Numbers(
            columns=(band.r,) * r_streams + (band.s,) * s_streams,
            half_width=band.half_width,
        )
        for band in request.bands
    ]
    recording = read_recording(Table.of(request), *kinds)
    half_widths = tuple(found.half_width for found in recording.numbers)
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
    rows = None if recording.places is None else np.concatenate(recording.places)
    return arrivals_of([one.timestamp for one in recording.streams], r_streams, rows)
