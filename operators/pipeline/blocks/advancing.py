"""Takes a block through a segment, record by record, as far as there is room for the outputs.

A record goes through all operators of its segment before the next one does, each output through the
rest of them before the next output: as in a serial run (`operators.pipeline.serial`). Outputs of
the last operator are written where they will lie, one behind the other, so that a record without
outputs is simply overwritten by the next one, and there is no branch.

The stop word is read before each record and each key, and each of them counts as an action: the
functions of a user may be slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from operators.contract import READY
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined
from operators.core.work import matrix_work
from operators.pipeline.blocks.by_columns import make_records_by_columns
from operators.pipeline.blocks.layout import SINK, Segment
from operators.pipeline.blocks.noting import STOPPED, begin_timing, end_timing, make_known
from operators.pipeline.blocks.state import (
    BEGIN,
    COUNT,
    CURSOR,
    ENTRY,
    INDEX,
    OPERATOR,
    SCRATCH,
    header_of,
)
from operators.pipeline.declare import NO_SUCH_KEY, PARTITIONED, TABLE_FULL, Pipeline, no_flush
from operators.pipeline.stage import NO_ROW, has_key, outputs_of, row_end, row_of
from operators.pipeline.state import deliver
from operators.running.control import ACTED, STOP


class Advancing(NamedTuple):
    """The functions that take a block through one segment.

    Attributes
    ----------
    records : callable
        ``records(control, its, state, worker, number, out)`` processes records of block `number`
        from the cursor on: READY, STOPPED, or a failure. `its` is the index of the first word of
        the worker's thread in `control`.
    keys : callable
        The same for the keys that a block without records flushes.
    """

    records: Callable[..., int]
    keys: Callable[..., int]


def make_apply(pipeline: Pipeline, place: int) -> Callable[..., int]:
    """Return ``apply(state, partition, key, record, outputs, out)``: one function on one record.

    It returns the number of outputs, or a failure.
    """
    process = pipeline.operators[place].process

    @inlined
    def apply(state, partition, key, record, outputs, out):
        operator = state.operators[place]
        row = row_of(operator, partition, key)
        if row == NO_ROW:
            return TABLE_FULL
        words = operator.rows[row : row_end(operator, row, key)]
        count = outputs_of(operator, process(record, words, outputs))
        if state.products > 0:
            # The result must be used, or a compiler would remove the work.
            out[SCRATCH] ^= matrix_work(out[INDEX], state.products)
        return count

    return apply


def make_enter(pipeline: Pipeline, place: int, end: int) -> Callable[..., int]:
    """Return ``enter``, by which a record enters the operators from `place` to before `end`.

    ``enter(state, own, words, begin, target, at, out)``: the record begins at ``words[begin]``; the
    outputs of the last operator are written from ``target[at]`` on. It returns their number, or a
    failure. `own` is the index of the worker's scratch.
    """
    operator, apply = pipeline.operators[place], make_apply(pipeline, place)
    key_of, partitioned = operator.key, int(operator.kind == PARTITIONED)
    outputs, last_outputs = operator.outputs, pipeline.operators[end - 1].outputs

    @inlined
    def key_in(state, record):
        # Negative: there is no such key.
        if not partitioned:
            return 0
        key = key_of(record)
        return key if has_key(state.operators[place], key) else -1

    @inlined
    def enter_last(state, own, words, begin, target, at, out):
        out[OPERATOR] = place
        record = words[begin : begin + state.operators[place].inputs]
        key = key_in(state, record)
        if key < 0:
            return NO_SUCH_KEY
        behind = at + state.operators[place].most * outputs
        return apply(state, 0, key, record, target[at:behind], out)

    if place + 1 == end:
        return enter_last
    following = make_enter(pipeline, place + 1, end)

    @inlined
    def enter(state, own, words, begin, target, at, out):
        held = own + state.operators[place].scratch
        made = enter_last(state, own, words, begin, state.scratch, held, out)
        count = made
        if made > 0:
            count = 0
            for number in range(made):
                begins = held + number * outputs
                goes = at + count * last_outputs
                found = following(state, own, state.scratch, begins, target, goes, out)
                if found < 0:
                    return found
                count += found
        return count

    return enter


def _entering(pipeline: Pipeline, segment: Segment) -> Callable[..., int]:
    """Return ``enter`` of a segment; of one without operators, it hands the record on."""
    if segment.kind != SINK:
        return make_enter(pipeline, segment.first, segment.end)
    outputs = pipeline.operators[-1].outputs

    @inlined
    def leave(state, own, words, begin, target, at, out):
        deliver(state.sink, outputs, words, begin, 0)
        return 0

    return leave


def make_advancing(pipeline: Pipeline, segments: tuple[Segment, ...], number: int) -> Advancing:
    """Return the functions of segment `number`."""
    segment, this, last = segments[number], number, number + 1 == len(segments)
    place = segment.end - 1
    outputs = pipeline.operators[place].outputs
    following = this if last else this + 1
    by_columns = segment.kind != SINK and pipeline.operators[place].process_columns is not None

    @inlined
    def target_of(state, number, worker):
        # Where the outputs go: the words, the index of the first one, and how many have room.
        if last:
            own = worker * state.scratch_words + state.operators[place].scratch
            return state.scratch, own, state.segments[this].most
        behind = state.segments[following]
        first = (number & state.ring.mask) * behind.stride
        return behind.records, first, state.segments[this].room

    @inlined
    def put_out(state, target, first, found):
        # Behind the last operator: out of the pipeline, and there is room again.
        for each in range(found):
            deliver(state.sink, outputs, target, first + each * outputs, 0)

    @inlined
    def note(state, number, at, made):
        head = header_of(state, number)
        state.headers[head + 2 * this + CURSOR] = at
        if not last:
            state.headers[head + 2 * following + CURSOR] = 0
            state.headers[head + 2 * following + COUNT] = made

    @inlined
    def records_of(state, number):
        # The first record to process and the end; where the words of the first one begin, and the
        # index at which the words begin again from 0.
        held = state.segments[this]
        head = header_of(state, number)
        at = state.headers[head + 2 * this + CURSOR]
        end = state.headers[head + 2 * this + COUNT]
        # The first segment has the source, which repeats; the others have their slots.
        begin = (number & state.ring.mask) * held.stride + at * held.inputs
        wraps = len(held.records) + 1
        if this == 0 and at < end:
            begin = (state.headers[head + BEGIN] + at) % state.rows * held.inputs
            wraps = state.rows * held.inputs
        return at, end, begin, wraps

    if by_columns:
        records = make_records_by_columns(pipeline, place, this, records_of, target_of, note)
    else:
        records = _record_by_record(
            pipeline, segment, this, last, records_of, target_of, put_out, note
        )
    return Advancing(records, _flushing(pipeline, segment, this, last, target_of, put_out, note))


def _record_by_record(
    pipeline: Pipeline,
    segment: Segment,
    this: int,
    last: bool,
    records_of: Callable,
    target_of: Callable,
    put_out: Callable,
    note: Callable,
) -> Callable[..., int]:
    """Return the function ``records`` of `Advancing` for functions over a record."""
    enter = _entering(pipeline, segment)
    outputs = pipeline.operators[segment.end - 1].outputs

    @inlined
    def records(control, its, state, worker, number, out):
        began = begin_timing(number)
        make_known(state, number, this, out)
        held = state.segments[this]
        at, end, begin, wraps = records_of(state, number)
        own = worker * state.scratch_words
        target, first, room = target_of(state, number, worker)
        acted = load(control, its + ACTED, RELAXED)
        made = 0
        while at < end and made + held.most <= room:
            if load(control, STOP, RELAXED) != 0:
                return STOPPED
            out[INDEX] = at
            found = enter(state, own, held.records, begin, target, first + made * outputs, out)
            if found < 0:
                return found
            if last:
                put_out(state, target, first, found)
            else:
                made += found
            at += 1
            begin += held.inputs
            if begin == wraps:
                begin = 0
            acted += 1
            store(control, its + ACTED, acted, RELAXED)
        note(state, number, at, made)
        end_timing(state, worker, this, began)
        return READY

    return records


def _flushing(
    pipeline: Pipeline,
    segment: Segment,
    this: int,
    last: bool,
    target_of: Callable,
    put_out: Callable,
    note: Callable,
) -> Callable[..., int]:
    """Return the function ``keys`` of `Advancing`."""
    place = segment.first
    held = pipeline.operators[segment.first : segment.end]

    @inlined
    def nothing(control, its, state, worker, number, out):
        return READY

    # Otherwise the function would be compiled for nothing.
    if all(each.flush is no_flush for each in held):
        return nothing
    flush, outputs = held[0].flush, held[0].outputs

    @inlined
    def keys(control, its, state, worker, number, out):
        make_known(state, number, this, out)
        out[OPERATOR] = place
        operator = state.operators[place]
        head = header_of(state, number)
        at = state.headers[head + 2 * this + CURSOR]
        end = state.headers[head + 2 * this + COUNT]
        target, first, room = target_of(state, number, worker)
        acted = load(control, its + ACTED, RELAXED)
        made = 0
        while at < end and made + operator.most <= room:
            if load(control, STOP, RELAXED) != 0:
                return STOPPED
            key = state.headers[head + BEGIN] + at
            out[INDEX] = key
            # Operators that flush have no table: any partition will do.
            row = row_of(operator, 0, key)
            words = operator.rows[row : row_end(operator, row, key)]
            goes = first + made * outputs
            behind = goes + operator.most * outputs
            found = outputs_of(operator, flush(key, words, target[goes:behind]))
            if found < 0:
                return found
            if last:
                put_out(state, target, first, found)
            else:
                made += found
            at += 1
            acted += 1
            store(control, its + ACTED, acted, RELAXED)
        note(state, number, at, made)
        return READY

    return keys


@inlined
def flushes_at(state, number, segment):
    """Return whether a block flushes at a segment, and has no records there."""
    return state.headers[header_of(state, number) + ENTRY] == segment
