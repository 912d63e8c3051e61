"""The state of a pipeline in a run: its stages, the board, the workers, the source and the sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from operators.core import histogram
from operators.core.atomics import RELAXED, load, now
from operators.core.integers import fold
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.spin_lock import make_spin_locks
from operators.pipeline.board import NOBODY, Board, make_board
from operators.pipeline.declare import Pipeline
from operators.pipeline.stage import END_AT, make_stage

# Words of a worker, its own: what it reports when it asks again.
PLACE = 0  # where it was, NOBODY before the first turn
INPUTS = 1  # records
OUTPUTS = 2
SPENT_NS = 3
TAKEN = 4  # records and bare markers
WORKER_WORDS = LINE_WORDS

# Words of the sink, by who sends from the last operator.
COUNT = 0
DIGEST = 1
MARKERS = 2
SCRATCH = 3  # of a serial run: what comes of added work, so that it is done
SINK_WORDS = LINE_WORDS

# Words of the pace.
GO = 0  # when the run began; each worker writes the same number before its first turn
LATEST_NS = 1  # the largest lateness with which records entered; by who feeds
PACE_WORDS = LINE_WORDS


class Setting(NamedTuple):
    """The choices that are numbers: worklist, reorder buffer, ranges of keys or hashes.

    ``products`` are matrix products that each operator does beside each tuple, so that a query can
    be made to cost what it does elsewhere.
    """

    worklist: int
    buffer: int
    ranged: int
    products: int = 0


class Pace(NamedTuple):
    """When records are due: the one of rank `i`, from 0, at ``GO + i * period_ns``.

    A source whose period is 0 is saturated: all its records are there from the beginning.
    """

    # (PACE_WORDS)
    words: np.ndarray
    period_ns: float


class Sink(NamedTuple):
    """Where outputs come out."""

    # (SINK_WORDS)
    words: np.ndarray
    # Outputs one behind the other, as far as there is room: none where only the digest is wanted.
    kept: np.ndarray
    # Time from a marker's first operator to here, of the markers from `first` to before `last`.
    latencies: np.ndarray
    first: int
    last: int
    # Of the same markers, from the moment at which their tuples were due; where there is a pace.
    due_latencies: np.ndarray
    marker_every: int
    pace: Pace


class PipelineState(NamedTuple):
    """A pipeline in a run."""

    stages: tuple
    board: Board
    # One spin lock: the board's.
    lock: np.ndarray
    # workers * WORKER_WORDS
    workers: np.ndarray
    # One word on a line: 1 while a worker feeds the first operator.
    feeding: np.ndarray
    # One word on a line: 1 when everything came out.
    done: np.ndarray
    sink: Sink
    # Records that enter, one behind the other, again and again until `total` have.
    source: np.ndarray
    rows: int
    total: int
    # How many wait at the first operator, at most, as the scheduler sees it.
    source_most: int
    marker_every: int
    pace: Pace
    scheduler: int
    setting: Setting


def make_state(
    pipeline: Pipeline,
    source: np.ndarray,
    total: int,
    *,
    workers: int,
    slots: int,
    partitions: int,
    setting: Setting,
    scheduler: int,
    slice_ns: int,
    window_ns: int,
    capacity: int,
    source_most: int,
    marker_every: int,
    period_ns: float = 0.0,
    kept_words: int = 0,
) -> PipelineState:
    """Return a pipeline that nothing has entered.

    Parameters
    ----------
    pipeline : Pipeline
    source : int64 array (rows, pipeline.inputs)
    total : int
        Records that shall enter; the source is gone through again and again.
    workers, slots, partitions : int
    setting : Setting
    scheduler : int
        Which of the ``choose`` functions that the runtime was made with.
    slice_ns, window_ns, capacity, source_most : int
        Of the schedulers.
    marker_every : int
        A marker on each so many tuples.
    period_ns : float
        Between the moments at which records are due; 0 for a saturated source.
    kept_words : int
        Room for outputs that shall be kept.

    Raises
    ------
    UsageError
        When the pipeline or a number is no good.
    """
    pipeline.check()
    places = range(len(pipeline.operators))
    own = aligned_words(workers * WORKER_WORDS)
    own[PLACE::WORKER_WORDS] = NOBODY
    markers = total // marker_every
    pace = Pace(aligned_words(PACE_WORDS), float(period_ns))
    stages = tuple(
        make_stage(pipeline, place, workers, slots, partitions, setting.worklist)
        for place in places
    )
    if total == 0:
        # Nobody is sent to feed a first operator that nothing will arrive at.
        stages[0].words[END_AT] = 1
    return PipelineState(
        stages=stages,
        board=make_board(len(places), slice_ns, window_ns, capacity),
        lock=make_spin_locks(1),
        workers=own,
        feeding=aligned_words(LINE_WORDS),
        done=aligned_words(LINE_WORDS),
        sink=Sink(
            aligned_words(SINK_WORDS),
            aligned_words(max(kept_words, 1)),
            histogram.make_histogram(),
            markers // 5,
            markers * 4 // 5,
            histogram.make_histogram(),
            marker_every,
            pace,
        ),
        source=np.ascontiguousarray(source, dtype=np.int64).reshape(-1),
        rows=len(source),
        total=total,
        source_most=source_most,
        marker_every=marker_every,
        pace=pace,
        scheduler=scheduler,
        setting=setting,
    )


@inlined
def due_at(pace, rank):
    """Return when the record of a rank is due."""
    # RELAXED: a number that every worker has written itself.
    return load(pace.words, GO, RELAXED) + int(rank * pace.period_ns)


@inlined
def records_due(state):
    """Return how many records are due: all there will be, where the source is saturated."""
    period_ns = state.pace.period_ns
    if period_ns == 0.0:
        return state.total
    passed = now() - load(state.pace.words, GO, RELAXED)
    return min(int(passed / period_ns) + 1, state.total)


@inlined
def deliver(sink, outputs, words, begin, marker):
    """Take an output, or a bare marker, at the end of the pipeline; for who sends."""
    if marker >= 0:
        count = sink.words[COUNT]
        for word in range(outputs):
            sink.words[DIGEST] = fold(sink.words[DIGEST], words[begin + word])
            if (count + 1) * outputs <= len(sink.kept):
                sink.kept[count * outputs + word] = words[begin + word]
        sink.words[COUNT] = count + 1
    if marker != 0:
        number = sink.words[MARKERS]
        if sink.first <= number and number < sink.last:
            clock = now()
            histogram.record(sink.latencies, clock - abs(marker), 1)
            if sink.pace.period_ns > 0.0:
                # Markers come in the order of their tuples, all of them: see process.
                rank = (number + 1) * sink.marker_every - 1
                histogram.record(sink.due_latencies, clock - due_at(sink.pace, rank), 1)
        sink.words[MARKERS] = number + 1


def chain(functions: Sequence[Callable]) -> Callable:
    """Return ``call(place, ...)``, which calls the function of that place with the rest.

    By halves, and not one after the other: so deep do the compiler's own calls nest, which many
    operators in a row would bring to their limit.
    """
    if len(functions) == 1:
        only = functions[0]

        @inlined
        def call(place, *arguments):
            return only(*arguments)

        return call
    half = len(functions) // 2
    before, behind = chain(functions[:half]), chain(functions[half:])

    @inlined
    def call(place, *arguments):
        if place < half:
            return before(place, *arguments)
        return behind(place - half, *arguments)

    return call
