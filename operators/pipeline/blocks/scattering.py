"""Takes a block through a partitioned operator in parts, each of which has some of the keys.

::

    divide:  the keys of the records, and the numbers of the records of each part   (one worker)
    process: the records of a part, in order; outputs where the record's room is    (one a part)
    gather:  the outputs one behind the other, in the order of the records          (the last one)

A record's outputs have room at the record's own index, so that parts do not know of each other. As
that takes more room than the outputs need in the end, a block with many outputs a record is divided
again and again, some of its records at a time.

Where a partitioned operator dominates, parts let several workers into it. Elsewhere whole blocks in
order cost less: dividing reads each record once more, and gathering each output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from operators.contract import READY
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined
from operators.pipeline.blocks.advancing import make_apply
from operators.pipeline.blocks.layout import Segment
from operators.pipeline.blocks.noting import STOPPED, begin_timing, end_timing, make_known
from operators.pipeline.blocks.state import (
    BEGIN,
    COUNT,
    CURSOR,
    FINAL,
    INDEX,
    OPERATOR,
    header_of,
    to_do,
)
from operators.pipeline.declare import NO_SUCH_KEY, Pipeline
from operators.pipeline.stage import has_key, partition_of
from operators.running.control import ACTED, STOP


class Scattering(NamedTuple):
    """The functions of one scattered segment, each of which returns READY, STOPPED or a failure.

    Attributes
    ----------
    divide : callable
        ``divide(control, its, state, worker, number, out)``, by the worker that claimed the block.
    process : callable
        ``process(control, its, state, worker, number, part, out)``, by the holder of the part.
    gather : callable
        ``gather(state, number)``, by the worker that ended the last part; returns nothing.
    """

    divide: Callable[..., int]
    process: Callable[..., int]
    gather: Callable[..., None]


@inlined
def part_count(state, number, part):
    """Return the index of the word with the number of records of a part."""
    return header_of(state, number) + CURSOR + 2 * state.ring.segments + part


@inlined
def divided_end(state, number, segment):
    """Return the record before which the current division of a block ends."""
    held = state.segments[segment]
    at = header_of(state, number) + 2 * segment
    some = held.room // held.most
    return min(state.headers[at + COUNT], state.headers[at + CURSOR] + some)


def make_scattering(pipeline: Pipeline, segments: tuple[Segment, ...], number: int) -> Scattering:
    """Return the functions of segment `number`."""
    place = segments[number].first
    first_word = _make_first_word(number)
    return Scattering(
        _make_divide(number, place, pipeline.operators[place].key, first_word),
        _make_process(number, place, pipeline, first_word),
        _make_gather(number, pipeline.operators[place].outputs),
    )


def _make_first_word(this: int) -> Callable[..., int]:
    @inlined
    def first_word(state, number, index):
        # Where a record begins: the first segment has the source, the others have their slots.
        held = state.segments[this]
        if this == 0:
            rank = state.headers[header_of(state, number) + BEGIN] + index
            return rank % state.rows * held.inputs
        return (number & state.ring.mask) * held.stride + index * held.inputs

    return first_word


def _make_divide(
    this: int, place: int, key_of: Callable[..., int], first_word: Callable[..., int]
) -> Callable[..., int]:
    @inlined
    def divide(control, its, state, worker, number, out):
        began = begin_timing(number)
        make_known(state, number, this, out)
        out[OPERATOR] = place
        held, stage = state.segments[this], state.operators[place]
        slot = number & state.ring.mask
        at = state.headers[header_of(state, number) + 2 * this + CURSOR]
        end = divided_end(state, number, this)
        for part in range(state.ring.parts):
            state.headers[part_count(state, number, part)] = 0
        acted = load(control, its + ACTED, RELAXED)
        for index in range(at, end):
            if load(control, STOP, RELAXED) != 0:
                return STOPPED
            out[INDEX] = index
            begin = first_word(state, number, index)
            key = key_of(held.records[begin : begin + held.inputs])
            if not has_key(stage, key):
                return NO_SUCH_KEY
            held.key_of[slot * held.takes + index] = key
            part = partition_of(stage, key, state.ranged)
            word = part_count(state, number, part)
            members = state.headers[word]
            held.members[(slot * state.ring.parts + part) * held.takes + members] = index
            state.headers[word] = members + 1
            acted += 1
            store(control, its + ACTED, acted, RELAXED)
        # Whether the parts leave the segment with these records: none are left here or before.
        at_end = end == state.headers[header_of(state, number) + 2 * this + COUNT]
        before = this > 0 and to_do(state, number, this - 1) >= 0
        state.headers[header_of(state, number) + FINAL] = 1 if at_end and not before else 0
        end_timing(state, worker, this, began)
        return READY

    return divide


def _make_process(
    this: int, place: int, pipeline: Pipeline, first_word: Callable[..., int]
) -> Callable[..., int]:
    apply, outputs = make_apply(pipeline, place), pipeline.operators[place].outputs

    @inlined
    def process(control, its, state, worker, number, part, out):
        began = begin_timing(number)
        make_known(state, number, this, out)
        out[OPERATOR] = place
        held = state.segments[this]
        slot = number & state.ring.mask
        at = state.headers[header_of(state, number) + 2 * this + CURSOR]
        behind = state.segments[this + 1]
        acted = load(control, its + ACTED, RELAXED)
        for member in range(state.headers[part_count(state, number, part)]):
            if load(control, STOP, RELAXED) != 0:
                return STOPPED
            index = held.members[(slot * state.ring.parts + part) * held.takes + member]
            out[INDEX] = index
            begin = first_word(state, number, index)
            record = held.records[begin : begin + held.inputs]
            goes = slot * behind.stride + (index - at) * held.most * outputs
            outputs_of_record = behind.records[goes : goes + held.most * outputs]
            key = held.key_of[slot * held.takes + index]
            count = apply(state, part, key, record, outputs_of_record, out)
            if count < 0:
                return count
            held.made[slot * held.takes + index] = count
            acted += 1
            store(control, its + ACTED, acted, RELAXED)
        end_timing(state, worker, this, began)
        return READY

    return process


def _make_gather(this: int, outputs: int) -> Callable[..., None]:
    @inlined
    def gather(state, number):
        held = state.segments[this]
        slot = number & state.ring.mask
        head = header_of(state, number)
        at = state.headers[head + 2 * this + CURSOR]
        end = divided_end(state, number, this)
        behind = state.segments[this + 1]
        first = slot * behind.stride
        goes = first
        for index in range(at, end):
            begin = first + (index - at) * held.most * outputs
            words = held.made[slot * held.takes + index] * outputs
            # Outputs move to the front, or stay.
            if begin != goes:
                for word in range(words):
                    behind.records[goes + word] = behind.records[begin + word]
            goes += words
        state.headers[head + 2 * this + CURSOR] = end
        state.headers[head + 2 * this + 2 + CURSOR] = 0
        state.headers[head + 2 * this + 2 + COUNT] = (goes - first) // outputs

    return gather


@inlined
def divide_nothing(state, number):
    """Give a block without records empty parts, by which it leaves the segment."""
    for part in range(state.ring.parts):
        state.headers[part_count(state, number, part)] = 0
    state.headers[header_of(state, number) + FINAL] = 1
