"""The data by which `operators.pipeline.blocks.scheduled` sends workers to segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from operators.core.layout import aligned_words
from operators.core.spin_lock import make_spin_locks
from operators.pipeline.blocks.layout import SCATTERED, Segment
from operators.pipeline.board import NOBODY, ONE, SELECTIVITY, Board, make_board, note
from operators.pipeline.state import PLACE, WORKER_WORDS

# The number of the scheduler of a run whose workers go by a walk.
BY_WALK = -1


class Schedule(NamedTuple):
    """What a scheduler is asked with.

    Attributes
    ----------
    scheduler : int
        Index into the ``choose`` functions, BY_WALK for none.
    slice_ns, window_ns : int
        As for ``make_board``.
    capacity : int
        QST's capacity of the system, in blocks.
    """

    scheduler: int = BY_WALK
    slice_ns: int = 1
    window_ns: int = 1
    capacity: int = 1


class Sending(NamedTuple):
    """The board of the segments, and the words of the workers."""

    board: Board
    # One spin lock: that of the board.
    lock: np.ndarray
    # (workers * WORKER_WORDS): of each worker, private to it; the report of its last turn.
    words: np.ndarray
    scheduler: int


def visits_of(segment: Segment, parts: int) -> int:
    """Return the visits of a block at a segment."""
    return 1 + parts if segment.kind == SCATTERED else 1


def make_sending(
    segments: Sequence[Segment], parts: int, workers: int, schedule: Schedule
) -> Sending:
    """Return the board of segments that no worker has been sent to yet.

    Parameters
    ----------
    segments : sequence of Segment
    parts : int
        Of a block in a scattered segment.
    workers : int
    schedule : Schedule
    """
    board = make_board(len(segments), *schedule[1:])
    visits = [visits_of(segment, parts) for segment in segments]
    for number, (here, behind) in enumerate(zip(visits, [*visits[1:], 1], strict=True)):
        note(board, number, SELECTIVITY, ONE * behind // here)
    words = aligned_words(workers * WORKER_WORDS)
    words[PLACE::WORKER_WORDS] = NOBODY
    return Sending(board, make_spin_locks(1), words, schedule.scheduler)
