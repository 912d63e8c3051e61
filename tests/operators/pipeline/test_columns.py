"""Functions over the columns of a block: the output of those over a record, and checked to be."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core.jit import INTERPRETED, inlined
from operators.pipeline.blocks.layout import FREE, ORDERED, SINK, segments_of
from operators.pipeline.columns import check_columns
from operators.pipeline.declare import (
    OVER_LIMIT,
    PARTITIONED,
    STATEFUL,
    STATELESS,
    Operator,
    Pipeline,
)
from operators.pipeline.loops import Functions
from operators.pipeline.reference import run_serially
from operators.pipeline.run import run_pipeline
from operators.running import run_threads
from tests.operators.pipeline.test_blocks import run_in_blocks

pytestmark = pytest.mark.xdist_group("pipeline-columns")

ROWS = 300
MOST = 3
FAILING, FULL_UP = 1_000, 1_001


@inlined
def many(record, limits, out):
    """Put out a record as often as its second word says, or fail."""
    if record[0] == FAILING:
        raise ValueError("no such record")
    if record[0] == FULL_UP:
        return OVER_LIMIT
    for number in range(record[1]):
        out[2 * number], out[2 * number + 1] = record[0] + limits[0], number
    return record[1]


@inlined
def many_by_columns(records, limits, out):
    found = 0
    for place in range(records.shape[1]):
        if records[0, place] == FAILING:
            raise ValueError("no such record")
        if records[0, place] == FULL_UP:
            return OVER_LIMIT
        for number in range(records[1, place]):
            out[0, found], out[1, found] = records[0, place] + limits[0], number
            found += 1
    return found


@inlined
def even(record, state, out):
    out[0] = record[0]
    return 1 - (record[0] & 1)


@inlined
def even_by_columns(records, state, out):
    found = 0
    numbers = records[0]
    for place in range(len(numbers)):
        out[0, found] = numbers[place]
        found += 1 - (numbers[place] & 1)
    return found


@inlined
def summed(record, state, out):
    state[0] += record[0]
    out[0] = state[0]
    return 1


@inlined
def summed_by_columns(records, state, out):
    total = state[0]
    for place in range(records.shape[1]):
        total += records[0, place]
        out[0, place] = total
    state[0] = total
    return records.shape[1]


@inlined
def low_bit(record):
    return record[0] & 1


LIMITS = np.array([7])
FAN = Operator("fan", STATELESS, many, outputs=2, most=MOST, lookup=LIMITS)
FILTER = Operator("filter", STATELESS, even, outputs=1)
SUM = Operator("sum", STATEFUL, summed, outputs=1, row_words=1)
BY_COLUMNS = (
    FAN._replace(process_columns=many_by_columns),
    FILTER._replace(process_columns=even_by_columns),
    SUM._replace(process_columns=summed_by_columns),
)
RECORDS = np.stack([np.arange(ROWS) % 23, np.arange(ROWS) * 7 % (MOST + 1)], axis=1)
PLAIN = Pipeline("plain", 2, (FAN, FILTER, SUM))
COLUMNS = Pipeline("columns", 2, BY_COLUMNS)
# As the last operator one by record, whose outputs need no room.
MIXED = Pipeline("mixed", 2, (BY_COLUMNS[0], FILTER, SUM))
WANTED = run_serially(PLAIN, RECORDS)


@pytest.mark.parametrize("pipeline", [COLUMNS, MIXED], ids=["columns", "mixed"])
def test_whole_blocks_put_out_what_single_records_do(pipeline):
    functions = Functions(pipeline)
    assert functions != Functions(PLAIN)
    for workers, block, ends, room_words in (
        (1, 1, 0, 1), (1, 64, 0, 40), (2, 7, 0, 1), (2, 64, 1, 1 << 15), (3, 1024, 0, 40),
        (3, 2, 1, 1 << 15),
    ):  # fmt: skip
        found = run_in_blocks(RECORDS, functions, outputs=len(WANTED), workers=workers,
                              block=block, ends=bool(ends), room_words=room_words)  # fmt: skip
        assert found == WANTED, (workers, block, ends, room_words)
    if not INTERPRETED:
        assert run_pipeline(pipeline, RECORDS, form="blocks", block=32).tolist() == [
            list(row) for row in WANTED
        ]


def test_added_work_changes_no_output():
    found = run_in_blocks(RECORDS, Functions(COLUMNS), outputs=len(WANTED), products=3)
    assert found == WANTED


def test_an_operator_by_columns_is_a_segment_of_its_own_and_never_the_sink():
    kinds = [(each.kind, each.end - each.first) for each in segments_of(COLUMNS)]
    assert kinds == [(FREE, 1), (FREE, 1), (ORDERED, 1), (SINK, 0)]
    assert [each.kind for each in segments_of(MIXED)] == [FREE, FREE, ORDERED]
    assert [each.kind for each in segments_of(PLAIN)] == [FREE, ORDERED]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (FAILING, "no such record \\(operator 'fan', at the tuples 32 to 47 of the input"),
        (FULL_UP, "no room for a record; .*\\(operator 'fan', at the tuples 32 to 47 of the input"),
    ],
)
def test_a_failing_block_is_named_by_its_tuples(word, told):
    wrong = RECORDS.copy()
    wrong[37, 0] = word
    with pytest.raises(run_threads.RunFailed, match=told):
        run_in_blocks(wrong, Functions(COLUMNS), block=16, outputs=len(WANTED))


def checked(place, process_columns, records=RECORDS, block=16):
    operators = list(PLAIN.operators)
    operators[place] = operators[place]._replace(process_columns=process_columns)
    check_columns(Pipeline("odd", 2, tuple(operators)), records, block)


def test_equal_functions_pass_whatever_the_block():
    for block in (1, 7, ROWS, 2 * ROWS):
        check_columns(COLUMNS, RECORDS, block)
    check_columns(COLUMNS, RECORDS[:0])
    # Up to the record at which the function over a record fails, and no further.
    wrong = RECORDS.copy()
    wrong[37, 0] = FAILING
    check_columns(COLUMNS, wrong)


def wrong_once(records, limits, out):
    found = many_by_columns(records, limits, out)
    out[0, :found][out[0, :found] == 22 + 7] = 0
    return found


def one_too_few(records, state, out):
    return even_by_columns(records, state, out) - 1


def one_too_many(records, state, out):
    return even_by_columns(records, state, out) + 1


def forgetful(records, state, out):
    found = summed_by_columns(records, state, out)
    state[0] = 0
    return found


def unbounded(records, state, out):
    return records.shape[1] + 1


def broken(records, state, out):
    raise KeyError("nothing there")


def test_a_difference_is_told_with_the_tuple_of_the_input():
    first = next(n for n, (word, count) in enumerate(RECORDS) if word == 22 and count)
    with pytest.raises(UsageError, match=rf"operator 'fan' of pipeline odd: of tuple {first} of "):
        checked(0, wrong_once)
    # Tuple 0 is not put out at all; of the next ones the first few are even.
    with pytest.raises(UsageError, match=r"'filter' .*: of tuple \d+ of .* puts out \[\], and"):
        checked(1, one_too_few)
    with pytest.raises(UsageError, match=r"of the tuples \d+ to \d+ of the input .* more than"):
        checked(1, one_too_many)
    with pytest.raises(UsageError, match=r"process_columns answers \d+ to the tuples 1 to \d+ of"):
        checked(1, unbounded)
    with pytest.raises(UsageError, match="does not: KeyError: 'nothing there'"):
        checked(1, broken)
    # Within one call it is right; what it leaves behind is not.
    with pytest.raises(UsageError, match=r"'sum' .*: of tuple \d+ of the input"):
        checked(2, forgetful)
    with pytest.raises(UsageError, match=r"leaves the state \[0\] behind tuple 297 of"):
        checked(2, forgetful, block=10 * ROWS)


def test_a_run_in_blocks_compares_the_first_records():
    odd = Pipeline("odd", 2, (FAN, FILTER._replace(process_columns=one_too_few), SUM))
    with pytest.raises(UsageError, match="operator 'filter' of pipeline odd"):
        run_pipeline(odd, RECORDS, form="blocks")


def test_functions_over_columns_that_cannot_be_are_refused():
    by_key = Operator("k", PARTITIONED, even, outputs=1, key=low_bit, keys=2)
    for operator, told in (
        (by_key._replace(process_columns=even_by_columns), "whose records would be of many keys"),
        (FILTER._replace(process_columns=7), "process_columns is an inlined function, received 7"),
        (FILTER._replace(process_columns=lambda records: 0), "takes 3 arguments, received"),
    ):
        with pytest.raises(UsageError, match=told):
            Pipeline("wrong", 2, (operator,)).check()
