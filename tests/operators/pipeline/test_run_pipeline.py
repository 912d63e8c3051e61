"""Running a user-defined pipeline: the outputs, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core.jit import INTERPRETED, inlined
from operators.pipeline.declare import PARTITIONED, STATEFUL, STATELESS, Operator, Pipeline
from operators.pipeline.reference import run_serially
from operators.pipeline.run import run_pipeline
from tests.operators.pipeline.test_runtime import CALLS, PIPELINE

pytestmark = [
    pytest.mark.xdist_group("pipeline-fraud"),
    pytest.mark.skipif(INTERPRETED, reason="minutes, where nothing is compiled"),
]


def rows(found):
    return [tuple(map(int, row)) for row in found]


def test_what_comes_out_is_that_of_a_serial_run():
    wanted = run_serially(PIPELINE, CALLS)
    assert rows(run_pipeline(PIPELINE, CALLS)) == wanted
    given = {"scheduler": "et", "workers": 3, "slots": 2, "partition": "shared", "split": "range"}
    assert rows(run_pipeline(PIPELINE, CALLS, reorder="lock-based", **given)) == wanted


@inlined
def added(record, state, out):
    out[0] = record[0] + 1
    return 1


@inlined
def summed(record, state, out):
    state[0] += record[0]
    out[0] = state[0] & 1023
    return 1


@inlined
def low_bits(record):
    return record[0] & 7


@pytest.mark.full
def test_a_pipeline_may_be_long():
    kinds = (
        {"kind": STATELESS, "process": added},
        {"kind": PARTITIONED, "process": summed, "key": low_bits, "keys": 8, "row_words": 1},
        {"kind": STATEFUL, "process": summed, "row_words": 1},
    )
    long = tuple(Operator(str(place), outputs=1, **kinds[place % 3]) for place in range(20))
    pipeline, records = Pipeline("long", 1, long), np.arange(300).reshape(-1, 1)
    assert rows(run_pipeline(pipeline, records)) == run_serially(pipeline, records)


def test_an_empty_stream_is_flushed():
    nothing = np.zeros((0, PIPELINE.inputs), dtype=np.int64)
    assert rows(run_pipeline(PIPELINE, nothing)) == run_serially(PIPELINE, nothing)


def test_more_outputs_than_there_is_room_for_say_how_many():
    count = len(run_serially(PIPELINE, CALLS))
    told = f"put out {count} records, and there was room for 5; give most_outputs={count}"
    with pytest.raises(UsageError, match=told):
        run_pipeline(PIPELINE, CALLS, most_outputs=5)
    assert len(run_pipeline(PIPELINE, CALLS, most_outputs=count)) == count


def test_what_is_no_good_is_refused():
    with pytest.raises(UsageError, match=r"whole numbers of shape \(rows, 3\), received float64"):
        run_pipeline(PIPELINE, CALLS.astype(float))
    with pytest.raises(UsageError, match=r"received int64 of shape \(400, 2\)"):
        run_pipeline(PIPELINE, CALLS[:, :2])
    with pytest.raises(UsageError, match="has no setting 'threads'"):
        run_pipeline(PIPELINE, CALLS, threads=2)
    with pytest.raises(UsageError, match="selectivity is a setting of queries and was given for"):
        run_pipeline(PIPELINE, CALLS, selectivity=2)
    with pytest.raises(UsageError, match="of pipeline fraud must fit into 64 bits with a sign"):
        run_pipeline(PIPELINE, np.full((1, 3), 1 << 63, dtype=np.uint64))
    with pytest.raises(UsageError, match="workers must be between 1 and 64, received 0"):
        run_pipeline(PIPELINE, CALLS, workers=0)
