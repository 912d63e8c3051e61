"""Takes a block through an operator whose function is over columns: many records in one call.

The records of a block lie one behind the other, so the words of column `w` are those from `w` on,
a record apart: views of two dimensions show them as columns, and nothing is copied.

# ASSUME: a call has all records of the block for whose outputs there is room, so a worker reads the
# stop word only between calls: a run that failed elsewhere ends a block later, and not a record.
"""

from __future__ import annotations

from collections.abc import Callable

from operators.contract import READY
from operators.core.atomics import RELAXED, load, store
from operators.core.jit import inlined
from operators.core.work import matrix_work
from operators.pipeline.blocks.noting import STOPPED, begin_timing, end_timing, make_known
from operators.pipeline.blocks.state import INDEX, OPERATOR, SCRATCH, TOGETHER
from operators.pipeline.declare import TOO_MANY, Pipeline
from operators.pipeline.stage import row_end, row_of
from operators.running.control import ACTED, STOP


def make_records_by_columns(
    pipeline: Pipeline,
    place: int,
    this: int,
    records_of: Callable[..., tuple[int, int, int, int]],
    target_of: Callable[..., tuple],
    note: Callable[..., None],
) -> Callable[..., int]:
    """Return the function ``records`` of `Advancing` for an operator with ``process_columns``.

    Parameters
    ----------
    pipeline : Pipeline
    place : int
        The number of the operator.
    this : int
        The number of its segment, which has no other operator and is not the last one.
    records_of, target_of, note : callable
        As in ``make_advancing``.
    """
    process_columns = pipeline.operators[place].process_columns
    inputs, outputs = pipeline.inputs_of(place), pipeline.operators[place].outputs

    @inlined
    def records(control, its, state, worker, number, out):
        began = begin_timing(number)
        make_known(state, number, this, out)
        out[OPERATOR] = place
        held, operator = state.segments[this], state.operators[place]
        at, end, begin, wraps = records_of(state, number)
        target, first, room = target_of(state, number, worker)
        acted = load(control, its + ACTED, RELAXED)
        # Neither stateless nor stateful operators have keys.
        row = row_of(operator, 0, 0)
        words = operator.rows[row : row_end(operator, row, 0)]
        made = 0
        while at < end and made + held.most <= room:
            if load(control, STOP, RELAXED) != 0:
                return STOPPED
            # As many as there are in a row, and as have room.
            count = min(end - at, (room - made) // held.most, (wraps - begin) // inputs)
            out[INDEX] = at
            out[TOGETHER] = count
            goes = first + made * outputs
            some = held.records[begin : begin + count * inputs].reshape(count, inputs)
            most = count * held.most
            behind = target[goes : goes + most * outputs].reshape(most, outputs)
            found = process_columns(some.T, words, behind.T)
            if found < 0:
                return found
            if found > most:
                return TOO_MANY
            if state.products > 0:
                for each in range(count):
                    # The result must be used, or a compiler would remove the work.
                    out[SCRATCH] ^= matrix_work(at + each, state.products)
            made += found
            at += count
            begin += count * inputs
            if begin == wraps:
                begin = 0
            acted += count
            store(control, its + ACTED, acted, RELAXED)
        note(state, number, at, made)
        end_timing(state, worker, this, began)
        return READY

    return records
