"""The output of a variant against the oracle: rows, digest, and the order of winsets."""

from __future__ import annotations

import hashlib

import numpy as np

from operators.aggregation.plan import AggregationPlan
from operators.aggregation.reference import Oracle, oracle
from operators.aggregation.sink import NOT_COUNTED, WinsetLog, fold_rows
from operators.contract import Variant
from tests.drivers import Streams, in_total_order, through_aggregate

# A dozen variants are asked about the same streams, one after the other; an oracle's answer has
# some thousand numbers, so the cache is cleared now and then.
_ANSWERS: dict[tuple[AggregationPlan, bytes], Oracle] = {}
MOST_ANSWERS = 500


def oracle_of(plan: AggregationPlan, streams: Streams, text=None) -> Oracle:
    """Return the oracle's answer for streams that are merged in the total order."""
    timestamp, _, key, value = in_total_order(streams)
    told = hashlib.blake2b()
    for column in (timestamp, key, value, *(text or ())):
        told.update(f"{column.dtype} {len(column)}".encode())
        told.update(np.ascontiguousarray(column))
    asked = plan, told.digest()
    if asked not in _ANSWERS:
        if len(_ANSWERS) >= MOST_ANSWERS:
            _ANSWERS.clear()
        _ANSWERS[asked] = oracle(plan, timestamp, key, value, text)
    return _ANSWERS[asked]


def assert_equal_logs(variant: Variant, log: WinsetLog, right: Oracle) -> None:
    """Compare every column; the releasing tuple only where the variant has counted it."""
    counted = log.processed != NOT_COUNTED
    assert counted.all() or variant.operations.counts_tuples != "output", "it counts its tuples"
    for name in ("window_start", "rows", "digest"):
        np.testing.assert_array_equal(
            getattr(log, name), getattr(right, name), err_msg=f"{variant.id}: {name}"
        )
    np.testing.assert_array_equal(
        log.processed[counted], right.processed[counted], err_msg=f"{variant.id}: processed"
    )
    assert (np.diff(log.emitted_ns) >= 0).all()


def agree(
    variant: Variant,
    plan: AggregationPlan,
    streams: Streams,
    ahead: int,
    right: Oracle | None = None,
    **how,
) -> np.ndarray:
    """Run the variant, compare rows, digest and log with the oracle's, and return the rows.

    `right` is the oracle's answer if already known; `how` is passed to `through_aggregate`.
    """
    rows, log = through_aggregate(variant, plan, streams, ahead, **how)
    if right is None:
        right = oracle_of(plan, streams, how.get("text"))
    assert_equal_logs(variant, log, right)
    if plan.rows_capacity:
        assert fold_rows(0, rows) == (right.digest[-1] if len(right.digest) else 0)
        assert len(rows) == right.rows.sum()
    return rows
