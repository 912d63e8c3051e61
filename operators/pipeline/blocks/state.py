"""The words of a run in blocks: the ring, the records of each block, the state of operators.

::

    source --> records of segment 0       (the source itself: nothing is copied)
               records of segment 1       slot 0 [ ... ] slot 1 [ ... ] ...
               records of segment 2       slot 0 [ ... ] slot 1 [ ... ] ...

The outputs of a segment are the records of the next one, in the slot of the block. A slot has room
for a limited number of them. A segment stops before a record for whose outputs there may be no
room; the block goes on with those that there are, and comes back to the segment from the end of the
pipeline: so room is bounded however many outputs a record has, and no worker waits.

A block has a *cursor* for each segment, and the count of its records there. It comes back to the
last segment whose cursor is below the count, and is finished when there is none.

*The end of the stream.* The keys of each operator with a flush are divided into blocks, too: as
many keys as a block has records. Such a block has no records, enters at that operator, and its
cursor counts keys. Behind all blocks of the source, in the order of the operators, these come at
each operator behind all that is still to be processed there. Blocks of keys have nothing in common,
so that several workers flush a scattered operator at once.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.core.jit import inlined
from operators.core.layout import LINE_WORDS, aligned_words, whole_lines
from operators.pipeline.block_ring import NONE, BlockRing, make_ring
from operators.pipeline.blocks.layout import (
    SCATTERED,
    Segment,
    flushing,
    most_of,
    segments_of,
)
from operators.pipeline.blocks.sending import Schedule, Sending, make_sending
from operators.pipeline.declare import Pipeline
from operators.pipeline.stage import rows_of
from operators.pipeline.state import PACE_WORDS, Pace, Sink, make_sink

# Words of a run, each on a cache line.
FED = 0 * LINE_WORDS  # records that are in a block; by the opener
PEAK = FED + 1  # the most blocks that were in flight when one was opened; by the opener
OVER = 1 * LINE_WORDS  # number of all blocks, NONE before it is known; by the opener
LEFT = 2 * LINE_WORDS  # records whose block is finished; by the holder of the last segment
RUN_WORDS = 3 * LINE_WORDS

# Words of a block.
BEGIN = 0  # rank of its first record of the source, or its first key if it flushes
RECORDS = 1  # of the source; 0 if it flushes
STARTED = 2  # when it was opened, if a marker is on one of its records
ENTRY = 3  # the segment that it flushes, NONE if it has records
FINAL = 4  # of the last scattering: 1 if the block then leaves that segment for good
CURSOR = LINE_WORDS  # two words a segment: records processed, and
COUNT = CURSOR + 1  # records that there are

# Words of a block that flushes, before it is opened.
FLUSHED = 0  # the segment
FIRST_KEY = 1
KEYS = 2
FLUSH_WORDS = 3

# Words of a worker and a segment, for statistics.
SPENT_NS = 0  # time in the blocks that were timed
TIMED = 1
PASSED = 2  # blocks
STATISTICS = LINE_WORDS

# Words of `out`, private to a worker: the record in progress, for messages.
OPERATOR = 0
INDEX = 1  # of the record among those of the block at the segment
OF_BLOCK = 2  # begin of the block
IN_BLOCK = 3  # records of the block; NONE if they are outputs of a flush
SEGMENT = 4
SCRATCH = 5  # the result of added work, so that it is not optimised away
TOGETHER = 6  # records from INDEX on that are processed together: 1, unless by columns
OUT_WORDS = LINE_WORDS

# Words of a slot behind a segment, at most, unless one record has more outputs.
ROOM_WORDS = 1 << 15
BY_THE_WALK = Schedule()


class OperatorState(NamedTuple):
    """The data of one operator: the fields of `Stage` with these names, and its scratch."""

    inputs: int
    most: int
    row_words: int
    table_rows: int
    keys: int
    partitions: int
    in_parts: int  # 1 if it takes blocks in parts
    # Accessed by the holder of the operator's token, or of the token of the key's part. Of a
    # stateless operator the lookup table, which nobody writes.
    rows: np.ndarray
    row_starts: np.ndarray
    table: np.ndarray
    scratch: int  # where a worker's scratch has room for the outputs of one record


class SegmentState(NamedTuple):
    """The data of one segment."""

    inputs: int  # words of a record
    takes: int  # records of a slot
    stride: int  # words from one slot to the next
    most: int  # outputs of a record
    room: int  # outputs of a slot
    # (slots * stride): by slot, of the thread that has the block (invariant 2 of the ring).
    # Of segment 0 the source, which nobody writes.
    records: np.ndarray
    # Of a scattered segment, by slot: written by the scattering worker, read by those of the parts.
    # (slots * takes): the key of each record.
    key_of: np.ndarray
    # (slots * parts * takes): the numbers of the records of each part.
    members: np.ndarray
    # (slots * takes): the outputs of each record; by the worker of the record's part.
    made: np.ndarray


class BlocksState(NamedTuple):
    """The state of a run in blocks."""

    ring: BlockRing
    operators: tuple
    segments: tuple
    # (RUN_WORDS)
    words: np.ndarray
    # (slots * header_words): by slot, of the thread that has the block.
    headers: np.ndarray
    header_words: int
    # (workers * segments * STATISTICS): plain words of each worker.
    statistics: np.ndarray
    # (workers * scratch_words): of each worker.
    scratch: np.ndarray
    scratch_words: int
    # (blocks that flush * FLUSH_WORDS): in order.
    flushes: np.ndarray
    sink: Sink
    pace: Pace
    # How a scheduler sends workers to segments, if one does.
    sending: Sending
    rows: int  # records of the source, which repeats until `total` have entered
    total: int
    block: int  # records of a block, at most
    marker_every: int
    workers: int
    ends: int  # 1 if every other worker begins at the last segment
    ranged: int  # 1 if the parts are ranges of keys
    products: int  # matrix products of each operator per record


def _operator_state(
    pipeline: Pipeline, number: int, parts: int, tables: int, scratch: int
) -> OperatorState:
    operator = pipeline.operators[number]
    partitions = max(parts, 1)
    # A table has rows for a partition of the tuple-wise form: as many together.
    operator = operator._replace(table_rows=operator.table_rows * -(-tables // partitions))
    rows, starts, table = rows_of(operator, partitions)
    return OperatorState(
        inputs=pipeline.inputs_of(number),
        most=operator.most,
        row_words=operator.row_words if operator.lookup is None else len(rows),
        table_rows=operator.table_rows,
        keys=operator.keys,
        partitions=partitions,
        in_parts=int(parts > 0),
        rows=rows,
        row_starts=starts,
        table=table,
        scratch=scratch,
    )


def _segment_states(
    pipeline: Pipeline,
    segments: tuple[Segment, ...],
    source: np.ndarray,
    ring: BlockRing,
    block: int,
    room_words: int,
) -> tuple[SegmentState, ...]:
    slots = ring.mask + 1
    found: list[SegmentState] = []
    # Writable like the others, so that all segments have one type.
    takes, stride, records = block, 0, np.require(source, np.int64, ["C", "W"]).reshape(-1)
    for number, segment in enumerate(segments):
        held = pipeline.operators[segment.first : segment.end]
        inputs, most = pipeline.inputs_of(segment.first), most_of(pipeline, segment)
        outputs = held[-1].outputs if held else inputs
        room = min(takes * most, max(most, room_words // outputs))
        divided = slots * takes if segment.kind == SCATTERED else 1
        found.append(
            SegmentState(
                inputs=inputs,
                takes=takes,
                stride=stride,
                most=most,
                room=room,
                records=records,
                key_of=aligned_words(divided),
                members=aligned_words(divided * ring.parts),
                made=aligned_words(divided),
            )
        )
        if number + 1 < len(segments):
            # A line more than it takes: slots a power of two apart would share the few lines that a
            # cache has for such addresses.
            takes, stride = room, whole_lines(room * outputs) + LINE_WORDS
            records = aligned_words(slots * stride)
    return tuple(found)


def _flushes(pipeline: Pipeline, segments: tuple[Segment, ...], block: int) -> np.ndarray:
    found = [np.empty((0, FLUSH_WORDS), dtype=np.int64)]
    for number, keys in flushing(pipeline, segments):
        first = np.arange(0, keys, block)
        count = np.minimum(block, keys - first)
        found.append(np.stack([np.full_like(first, number), first, count], axis=1))
    return np.concatenate(found).reshape(-1)


def make_blocks_state(
    pipeline: Pipeline,
    source: np.ndarray,
    total: int,
    *,
    workers: int,
    block: int,
    in_flight: int,
    parts: int = 1,
    scattered: Collection[int] = (),
    tables: int = 1,
    ends: bool = False,
    schedule: Schedule = BY_THE_WALK,
    ranged: bool = False,
    products: int = 0,
    marker_every: int,
    period_ns: float = 0.0,
    kept_words: int = 0,
    room_words: int = ROOM_WORDS,
) -> BlocksState:
    """Return the state of a run in blocks before the first record enters.

    Parameters
    ----------
    pipeline : Pipeline
    source : int64 array (rows, pipeline.inputs)
    total : int
        Number of records that enter; the source is repeated as needed.
    workers : int
    block : int
        Records of a block, at most.
    in_flight : int
        Blocks in flight, at most.
    parts : int
        Of a block in each scattered operator.
    scattered : collection of int
        Numbers of the operators that take blocks in parts.
    tables : int
        Number of the tables for whose size the operators' ``table_rows`` are meant: together they
        have the rows here, too.
    ends : bool
        Whether every other worker begins at the last segment; one alone has no other end.
    schedule : Schedule
        What sends workers to segments, unless they go by a walk.
    ranged : bool
        Whether the parts are ranges of keys.
    products : int
        Matrix products that each operator computes per record.
    marker_every, period_ns, kept_words
        As for `operators.pipeline.state.make_state`.
    room_words : int
        Words of a slot behind a segment, at most.

    Raises
    ------
    UsageError
        When the pipeline or a number is invalid.
    """
    pipeline.check()
    if block < 1:
        raise UsageError(f"a block must have at least 1 record, received {block}")
    segments = segments_of(pipeline, scattered)
    ring = make_ring(in_flight, len(segments), parts)
    operators, scratch = [], 0
    for number, operator in enumerate(pipeline.operators):
        in_parts = parts if number in scattered else 0
        operators.append(_operator_state(pipeline, number, in_parts, tables, scratch))
        scratch += operator.most * operator.outputs
    flushes = _flushes(pipeline, segments, block)
    words = aligned_words(RUN_WORDS)
    words[OVER] = len(flushes) // FLUSH_WORDS if total == 0 else NONE
    header_words = whole_lines(CURSOR + 2 * len(segments) + parts)
    pace = Pace(aligned_words(PACE_WORDS), float(period_ns))
    return BlocksState(
        ring=ring,
        operators=tuple(operators),
        segments=_segment_states(pipeline, segments, source, ring, block, room_words),
        words=words,
        headers=aligned_words((ring.mask + 1) * header_words),
        header_words=header_words,
        statistics=aligned_words(workers * len(segments) * STATISTICS),
        scratch=aligned_words(workers * whole_lines(scratch)),
        scratch_words=whole_lines(scratch),
        flushes=flushes,
        sink=make_sink(pace, total, marker_every, kept_words),
        pace=pace,
        sending=make_sending(segments, parts, workers, schedule),
        rows=len(source),
        total=total,
        block=block,
        marker_every=marker_every,
        workers=workers,
        ends=int(ends and workers > 1),
        ranged=int(ranged),
        products=products,
    )


@inlined
def header_of(state, number):
    """Return the index of the first word of a block."""
    return (number & state.ring.mask) * state.header_words


@inlined
def to_do(state, number, segment):
    """Return the last segment, up to `segment`, where a block has records left, or NONE."""
    head = header_of(state, number)
    for back in range(segment + 1):
        at = head + 2 * (segment - back)
        if state.headers[at + CURSOR] < state.headers[at + COUNT]:
            return segment - back
    return NONE


def scattered_in(state: BlocksState) -> tuple[int, ...]:
    """Return the numbers of the operators that take blocks in parts."""
    return tuple(number for number, each in enumerate(state.operators) if each.in_parts)
