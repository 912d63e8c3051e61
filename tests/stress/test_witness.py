"""No two workers in one operator, as the operator itself sees it: it writes, spins, and reads back.

The digest of a run need not show two workers in a stateful operator, whose lost update may be one
that makes no difference. Here each record leaves a mark in the operator's row and looks whether it
is still there a little later; more workers than cores make sure that some are preempted meanwhile.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.core.atomics import RELAXED, load, pause, store
from operators.core.jit import INTERPRETED, inlined
from operators.pipeline.declare import PARTITIONED, STATEFUL, Operator, Pipeline
from operators.pipeline.run import run_pipeline

RECORDS = 300 if INTERPRETED else 20_000
SPINS = 3 if INTERPRETED else 200
KEYS = 3
NUMBER, INTACT = 0, 1


@inlined
def witness(record, state, out):
    """Mark the row with the record's number, spin, and put out whether the mark is still there."""
    # RELAXED: atomics, so that the compiler does not take the load for the value just stored.
    store(state, 0, record[NUMBER], RELAXED)
    for _ in range(SPINS):
        pause()
    intact = 1 if load(state, 0, RELAXED) == record[NUMBER] else 0
    out[NUMBER] = record[NUMBER]
    out[INTACT] = min(record[INTACT], intact)
    return 1


@inlined
def key_of(record):
    """Return the key of a record."""
    return record[NUMBER] % KEYS


PIPELINE = Pipeline(
    "witness",
    2,
    (
        Operator("alone", STATEFUL, witness, 2, row_words=1),
        Operator("alone by key", PARTITIONED, witness, 2, key=key_of, keys=KEYS, row_words=1),
        Operator("alone again", STATEFUL, witness, 2, row_words=1),
    ),
)


@pytest.mark.parametrize(
    ("workers", "scheduler", "partition", "reorder"),
    [(4, "ct", "hybrid", "non-blocking"), (8, "lp", "shared", "lock-based"),
     (6, "qst", "partitioned", "non-blocking")],
)  # fmt: skip
def test_no_record_meets_another_in_an_operator(workers, scheduler, partition, reorder):
    records = np.column_stack([np.arange(RECORDS), np.ones(RECORDS, dtype=np.int64)])
    found = run_pipeline(
        PIPELINE, records, scheduler=scheduler, workers=workers, partition=partition,
        reorder=reorder, slots=16, partitions=KEYS, slice_us=5.0,
    )  # fmt: skip
    assert np.array_equal(found[:, NUMBER], records[:, NUMBER])
    assert found[:, INTACT].all(), "two workers were in one operator, or at one key"
