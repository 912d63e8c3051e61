"""The state of a pipeline run: stages, board, workers, source and sink."""

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

# Words of a worker, private to it: the report of the last turn.
PLACE = 0  # operator of the last turn, NOBODY before the first one
INPUTS = 1  # records
OUTPUTS = 2
SPENT_NS = 3
TAKEN = 4  # records and bare markers
# And sums over the run, on a cache line that no other worker touches: see ``count_turn``.
INGRESS_NS = LINE_WORDS  # time spent feeding the first operator
TURNS = LINE_WORDS + 1  # turns in which it was sent to an operator
CHOICES = LINE_WORDS + 2  # of these, turns with a choice between several operators
HELD_BACK = LINE_WORDS + 3  # turns in which an operator was left out: its outputs had no room
PASSED_OVER = LINE_WORDS + 4  # turns in which it was not sent to the earliest schedulable operator
WORKER_WORDS = 2 * LINE_WORDS

# Words of the sink, written by the sender of the last operator.
COUNT = 0
DIGEST = 1
MARKERS = 2
SCRATCH = 3  # of a serial run: the result of added work, so that it is not optimised away
SINK_WORDS = LINE_WORDS

# Words of the pace.
GO = 0  # start of the run; each worker writes the same number before its first turn
LATEST_NS = 1  # the largest lateness with which records entered; by the feeder
PACE_WORDS = LINE_WORDS


class Setting(NamedTuple):
    """The choices made by number: worklist, reorder buffer, key ranges or hashes.

    ``products`` is a number of matrix products that each operator computes per tuple, so that a
    query can be given the cost that it has elsewhere.
    """

    worklist: int
    buffer: int
    ranged: int
    products: int = 0


class Pace(NamedTuple):
    """The due times of records: that of rank `i`, from 0, at ``GO + i * period_ns``.

    A source with period 0 is saturated: all records are due from the beginning.
    """

    # (PACE_WORDS)
    words: np.ndarray
    period_ns: float


class Sink(NamedTuple):
    """The end of the pipeline, which receives the outputs."""

    # (SINK_WORDS)
    words: np.ndarray
    # Consecutive outputs, as far as there is room: empty if only the digest is wanted.
    kept: np.ndarray
    # Latency from the first operator to the sink, of the markers from `first` to before `last`.
    latencies: np.ndarray
    first: int
    last: int
    # Of the same markers, the latency from the due time of their tuples; with a pace.
    due_latencies: np.ndarray
    marker_every: int
    pace: Pace


def make_sink(pace: Pace, total: int, marker_every: int, kept_words: int) -> Sink:
    """Return an empty sink for the outputs of `total` records; it keeps at most `kept_words`."""
    markers = total // marker_every
    return Sink(
        aligned_words(SINK_WORDS),
        aligned_words(max(kept_words, 1)),
        histogram.make_histogram(),
        markers // 5,
        markers * 4 // 5,
        histogram.make_histogram(),
        marker_every,
        pace,
    )


class PipelineState(NamedTuple):
    """The state of a pipeline run."""

    stages: tuple
    board: Board
    # One spin lock: that of the board.
    lock: np.ndarray
    # workers * WORKER_WORDS
    workers: np.ndarray
    # One word on a cache line: 1 while a worker feeds the first operator.
    feeding: np.ndarray
    # One word on a cache line: 1 when all outputs have left the pipeline.
    done: np.ndarray
    sink: Sink
    # Consecutive input records, repeated until `total` have entered.
    source: np.ndarray
    rows: int
    total: int
    # The most tuples that wait at the first operator from the scheduler's point of view.
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
    """Return the state of a pipeline before the first record enters.

    Parameters
    ----------
    pipeline : Pipeline
    source : int64 array (rows, pipeline.inputs)
    total : int
        Number of records that enter; the source is repeated as needed.
    workers, slots, partitions : int
    setting : Setting
    scheduler : int
        Index into the ``choose`` functions of the runtime.
    slice_ns, window_ns, capacity, source_most : int
        Parameters of the schedulers.
    marker_every : int
        Number of tuples from one marker to the next.
    period_ns : float
        Time between the due times of consecutive records; 0 for a saturated source.
    kept_words : int
        Words of room for kept outputs.

    Raises
    ------
    UsageError
        When the pipeline or a number is invalid.
    """
    pipeline.check()
    places = range(len(pipeline.operators))
    own = aligned_words(workers * WORKER_WORDS)
    own[PLACE::WORKER_WORDS] = NOBODY
    pace = Pace(aligned_words(PACE_WORDS), float(period_ns))
    stages = tuple(
        make_stage(pipeline, place, workers, slots, partitions, setting.worklist)
        for place in places
    )
    if total == 0:
        # No worker is sent to a first operator that nothing will arrive at.
        stages[0].words[END_AT] = 1
    return PipelineState(
        stages=stages,
        board=make_board(len(places), slice_ns, window_ns, capacity),
        lock=make_spin_locks(1),
        workers=own,
        feeding=aligned_words(LINE_WORDS),
        done=aligned_words(LINE_WORDS),
        sink=make_sink(pace, total, marker_every, kept_words),
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
def count_turn(state, worker, place, earliest, able, held_back):
    """Count, for a worker that is sent to `place`, the circumstances of that choice.

    `earliest` is the first of the `able` operators to which it could have been sent; `held_back` is
    the number of those left out since their outputs had no room. Plain words: they are private to
    the worker, and are read after all workers have ended.
    """
    own = worker * WORKER_WORDS
    words = state.workers
    words[own + TURNS] += 1
    words[own + CHOICES] += 1 if able > 1 else 0
    words[own + HELD_BACK] += 1 if held_back > 0 else 0
    words[own + PASSED_OVER] += 1 if place != earliest else 0


def total_of(state: PipelineState, word: int) -> int:
    """Return the sum of one word over all workers."""
    return int(state.workers[word::WORKER_WORDS].sum())


@inlined
def due_at(pace, rank):
    """Return the due time of the record of a rank."""
    # RELAXED: a number that each worker has written itself.
    return load(pace.words, GO, RELAXED) + int(rank * pace.period_ns)


@inlined
def records_due(state):
    """Return the number of due records: all records if the source is saturated."""
    period_ns = state.pace.period_ns
    if period_ns == 0.0:
        return state.total
    passed = now() - load(state.pace.words, GO, RELAXED)
    return min(int(passed / period_ns) + 1, state.total)


@inlined
def deliver(sink, outputs, words, begin, marker):
    """Accept an output, or a bare marker, at the end of the pipeline; for the sender."""
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
                # All markers arrive, in the order of their tuples: see process.
                rank = (number + 1) * sink.marker_every - 1
                histogram.record(sink.due_latencies, clock - due_at(sink.pace, rank), 1)
        sink.words[MARKERS] = number + 1


def chain(functions: Sequence[Callable]) -> Callable:
    """Return ``call(place, ...)``, which calls function number `place` with the other arguments.

    The dispatch is a binary tree, not a linear chain: the compiler's recursion is as deep as the
    nesting, and a chain of many operators would reach its limit.
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
