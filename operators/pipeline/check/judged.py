"""What whole pipelines must have noted and given up, besides their outputs."""

from __future__ import annotations

from collections.abc import Callable

from operators.core.histogram import COUNT as TIMES
from operators.core.histogram import CUT_OFF, SUM, Histogram
from operators.core.layout import LINE_WORDS, aligned_words
from operators.partition.partitioned import HELD
from operators.partition.shape import NO_PARTITION
from operators.pipeline import board
from operators.pipeline.blocks.state import PASSED, STATISTICS, BlocksState
from operators.pipeline.declare import Pipeline, no_flush
from operators.pipeline.state import (
    COUNT,
    INPUTS,
    LATEST_NS,
    MARKERS,
    OUTPUTS,
    PLACE,
    WORKER_WORDS,
    PipelineState,
    Sink,
)

# More than there are markers.
NEVER = 1_000
# The time between records of a source at a pace: all are due soon.
SOON_NS = 0.001
# The clock of the machine counts steps: a latency is one of the first counters of a histogram.
COUNTERS = 2_048


def sink_of(sink: Sink, timed: bool) -> Sink:
    """Return a sink that times all markers, or none: whole histograms would be copied each run."""
    words, counters = (LINE_WORDS, COUNTERS) if timed else (1, 1)
    return sink._replace(
        latencies=Histogram(aligned_words(words), aligned_words(counters)),
        due_latencies=Histogram(aligned_words(words), aligned_words(counters)),
        first=0 if timed else NEVER,
        last=NEVER,
    )


def choosing(choose: Callable[[board.Board], int]) -> Callable[[board.Board], int]:
    """Return a scheduler that fails where nothing waits at an operator that it may choose."""

    def chosen(of: board.Board) -> int:
        for place in range(of.operators):
            if board.look(of, place, board.SCHEDULABLE) != 0:
                waiting = board.look(of, place, board.WAITING)
                assert waiting > 0, f"a worker may go to operator {place}, where {waiting} wait"
        return choose(of)

    return chosen


def check_times(sink: Sink, timed: bool) -> None:
    """Check that each marker was timed, from the time when it was due and when it was sent.

    Of a source without a pace no record is late.
    """
    latest = int(sink.pace.words[LATEST_NS])
    assert (latest > 0) == timed, f"the records came at least {latest} late"
    if not timed:
        return
    markers = int(sink.words[MARKERS])
    sums = []
    for found in (sink.latencies, sink.due_latencies):
        count, counted = int(found.summary[TIMES]), int(found.counters.sum())
        assert count == counted == markers, f"{markers} markers, timed {count}, counted {counted}"
        cut_off = int(found.summary[CUT_OFF])
        assert cut_off == 0, f"{cut_off} times are below 0, or above an hour"
        sums.append(int(found.summary[SUM]))
    assert 0 < sums[0] <= sums[1], f"the latencies were {sums[0]}, and {sums[1]} from when due"


def check_left(state: PipelineState) -> None:
    """Check that no worker keeps a partition from one turn to the next."""
    for place, stage in enumerate(state.stages):
        kept = [p for p in stage.partitioned.workers[HELD::LINE_WORDS] if p != NO_PARTITION]
        assert not kept, f"workers have left operator {place}, and keep its partitions {kept}"


def check_passed(state: BlocksState) -> None:
    """Check that each segment has noted the blocks of a whole run: it has seen every one."""
    blocks = -(-state.total // state.block)
    noted = state.statistics.reshape(state.workers, -1, STATISTICS)[:, :, PASSED].sum(axis=0)
    assert (noted >= blocks).all(), f"of {blocks} blocks and more the segments noted {noted}"


def check_counts(pipeline: Pipeline, state: PipelineState) -> None:
    """Check the records and the outputs that were reported of each operator, from the beginning.

    Outputs of a flush are in no report.
    """
    entered = state.total
    for place, operator in enumerate(pipeline.operators):
        records = _reported(state, place, board.INPUTS, INPUTS)
        assert records == entered, f"operator {place}: {entered} records, reported {records}"
        if operator.flush is not no_flush:
            return
        entered = _reported(state, place, board.OUTPUTS, OUTPUTS)
    count = int(state.sink.words[COUNT])
    assert entered == count, f"{count} outputs came, and reported were {entered}"


def _reported(state: PipelineState, place: int, word: int, own: int) -> int:
    """Return a number of the board, with what workers there will report in their next turns."""
    found = int(board.look(state.board, place, word))
    for worker in range(0, len(state.workers), WORKER_WORDS):
        if state.workers[worker + PLACE] == place:
            found += int(state.workers[worker + own])
    return found
