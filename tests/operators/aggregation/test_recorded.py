"""Aggregates over recorded readings and comments, with their ties, gaps and texts.

The files are not in the repository: ``MILLRACE_RECORDED_DATA`` names their folder. Where it is set
a missing file fails; where it is not set nothing runs.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from operators.aggregation.functions import TEXT
from operators.aggregation.plan import Text, make_plan
from operators.aggregation.reference import oracle
from operators.core.jit import INTERPRETED
from operators.registry import variants
from tests.drivers import Streams, in_total_order, scaled, through_aggregate

RECORDED = os.environ.get("MILLRACE_RECORDED_DATA")
ROWS = scaled(50_000)
INPUTS = 6

pytestmark = pytest.mark.skipif(RECORDED is None, reason="MILLRACE_RECORDED_DATA is not set")


def rows_of_file(name: str, delimiter: str) -> list[list[str]]:
    with gzip.open(Path(RECORDED) / name, "rt", encoding="utf-8", newline="") as file:
        quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        reader = csv.reader(file, delimiter=delimiter, quoting=quoting)
        next(reader)
        return [row for row in itertools.islice(reader, ROWS) if row[2] != ""]


def dealt(timestamp: np.ndarray, key: np.ndarray, value: np.ndarray) -> Streams:
    """Deal time-sorted rows out to inputs at random."""
    source = np.random.default_rng(1).integers(0, INPUTS, len(timestamp))
    order = np.argsort(source, kind="stable")
    offsets = np.zeros(INPUTS + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=INPUTS), out=offsets[1:])
    return Streams(offsets, timestamp[order], key[order], value[order])


def agree(streams: Streams, function: str, size: int, advance: int, text: Text | None = None):
    keys = int(streams.key.max()) + 1
    plan = make_plan(function, size, advance, keys)
    timestamp, _, key, value = in_total_order(streams)
    right = oracle(plan, timestamp, key, value, text)
    # The few rows of an interpreted run hold no mail address.
    assert len(right.digest) > 3 or INTERPRETED
    for variant in variants("aggregation"):
        _, log = through_aggregate(variant, plan, streams, 64, threads=True, text=text)
        for name in right._fields:
            np.testing.assert_array_equal(
                getattr(log, name), getattr(right, name), err_msg=f"{variant.id}: {name}"
            )


@pytest.mark.parametrize(
    ("name", "minute"), [("umass443.csv.gz", 60), ("sgsc10.csv.gz", 1800), ("lcl5.csv.gz", 1800)]
)
@pytest.mark.parametrize("function", ["first", "count", "avg"])
def test_recorded_readings(name, minute, function):
    rows = rows_of_file(name, ",")
    timestamp = np.array([int(float(row[0])) for row in rows], dtype=np.int64)
    order = np.argsort(timestamp, kind="stable")
    _, key = np.unique([row[1] for row in rows], return_inverse=True)
    value = np.array([round(float(row[2]) * 10**6) for row in rows], dtype=np.int64)
    streams = dealt(timestamp[order], key[order].astype(np.int64), value[order])
    # Window ends that fall on readings, and an advance that the size is no multiple of.
    agree(streams, function, size=10 * minute, advance=3 * minute)


@pytest.mark.parametrize("function", ["first", "count", *sorted(TEXT)])
def test_recorded_comments(function):
    rows = rows_of_file("stackexchange5.tsv.gz", "\t")
    timestamp = np.array([int(row[0]) for row in rows], dtype=np.int64)
    assert (np.diff(timestamp) >= 0).all()
    _, key = np.unique([row[2] for row in rows], return_inverse=True)
    texts = [row[3].encode() for row in rows]
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    text = Text(offsets, np.frombuffer(b"".join(texts), dtype=np.uint8))
    streams = dealt(timestamp, key.astype(np.int64), np.arange(len(rows)))
    day = 86_400_000
    agree(streams, function, size=10 * day, advance=3 * day, text=text)
