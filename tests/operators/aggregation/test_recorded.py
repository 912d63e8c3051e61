"""Aggregates over recorded readings and comments, with their ties, gaps and texts.

The files are not in the repository: ``MILLRACE_RECORDED_DATA`` names their folder. If it is set, a
missing file fails; otherwise nothing runs. Messages contain no data.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from operators.aggregation.functions import COUNT_MAIL, COUNT_MAIL_IP, NAMES, TEXT
from operators.aggregation.plan import Text, make_plan
from operators.aggregation.queries import QUERIES
from operators.aggregation.reference import Oracle, text_matches
from operators.core.jit import INTERPRETED
from operators.registry import variants
from tests.comparing import agree, oracle_of
from tests.drivers import SCALE, Streams, scaled
from tests.operators.aggregation.test_text_predicates import matches_of_all

FOLDER = os.environ.get("MILLRACE_RECORDED_DATA")
SLICE = scaled(25_000)
WHOLE = 10**6
INPUTS = 6

pytestmark = pytest.mark.skipif(FOLDER is None, reason="MILLRACE_RECORDED_DATA is not set")

# File, and the length of a time unit: readings each minute, each half hour; comments by day.
READINGS = {"umass443.csv.gz": 60, "sgsc10.csv.gz": 1800, "lcl5.csv.gz": 1800}
COMMENTS = {"stackexchange5.tsv.gz": 86_400_000}
UNITS = READINGS | COMMENTS


class Recorded(NamedTuple):
    """Rows of a file, sorted by time; a value is a reading in millionths or a text's number."""

    timestamp: np.ndarray
    key: np.ndarray
    value: np.ndarray
    text: Text | None


def rows_of_file(name: str, limit: int) -> list[list[str]]:
    tabs = ".tsv" in name
    with gzip.open(Path(FOLDER) / name, "rt", encoding="utf-8", newline="") as file:
        quoting = csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
        reader = csv.reader(file, delimiter="\t" if tabs else ",", quoting=quoting)
        next(reader)
        return [row for row in itertools.islice(reader, limit) if row[2] != ""]


@cache
def recorded(name: str, limit: int) -> Recorded:
    rows = rows_of_file(name, limit)
    timestamp = np.array([int(float(row[0])) for row in rows], dtype=np.int64)
    order = np.argsort(timestamp, kind="stable")
    _, key = np.unique([row[2 if name in COMMENTS else 1] for row in rows], return_inverse=True)
    key = key.astype(np.int64)
    if name in READINGS:
        value = np.array([round(float(row[2]) * 10**6) for row in rows], dtype=np.int64)
        return Recorded(timestamp[order], key[order], value[order], None)
    assert (np.diff(timestamp) >= 0).all()
    texts = [row[3].encode() for row in rows]
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    text = Text(offsets, np.frombuffer(b"".join(texts), dtype=np.uint8))
    return Recorded(timestamp, key, np.arange(len(rows)), text)


def functions_for(name: str) -> list[str]:
    return ["first", "count", *sorted(TEXT)] if name in COMMENTS else ["first", "count", "avg"]


@cache
def dealt(name: str, limit: int, inputs: int) -> Streams:
    """Distribute the rows of a file over inputs at random."""
    rows = recorded(name, limit)
    source = np.random.default_rng(1).integers(0, inputs, len(rows.timestamp))
    order = np.argsort(source, kind="stable")
    offsets = np.zeros(inputs + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=inputs), out=offsets[1:])
    return Streams(offsets, rows.timestamp[order], rows.key[order], rows.value[order])


@cache
def plan_and_answer(name: str, limit: int, inputs: int, function: str, size: int, advance: int):
    streams = dealt(name, limit, inputs)
    unit = UNITS[name]
    keys = int(streams.key.max()) + 1
    plan = make_plan(function, size * unit, advance * unit, keys, winsets_capacity=1 << 18)
    return plan, oracle_of(plan, streams, recorded(name, limit).text)


# All tests of a variant run on one worker: two would compile the same kernels.
EVERY_VARIANT = pytest.mark.parametrize(
    "variant",
    [
        pytest.param(v, id=v.id, marks=pytest.mark.xdist_group(v.id))
        for v in variants("aggregation")
    ],
)


@EVERY_VARIANT
@pytest.mark.parametrize("name", UNITS)
def test_a_slice_of_recorded_data(name, variant):
    for function in set(functions_for(name)) & set(variant.operations.functions):
        # Window ends that coincide with readings, and a size that is no multiple of the advance.
        plan, right = plan_and_answer(name, SLICE, INPUTS, function, 10, 3)
        # The few rows of an interpreted run contain no mail address.
        assert len(right.digest) > 3 or INTERPRETED
        run(variant, plan, right, name, SLICE, INPUTS)


@pytest.mark.full
@pytest.mark.timeout(3600)
@EVERY_VARIANT
@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("inputs", [1, 2, 24])
def test_all_of_recorded_data_with_the_papers_windows(name, inputs, variant):
    role = "comments" if name in COMMENTS else "meters"
    for query in QUERIES.values():
        if query.role == role and query.function in variant.operations.functions:
            size, advance = query.window_size, query.window_advance
            plan, right = plan_and_answer(name, WHOLE, inputs, query.function, size, advance)
            run(variant, plan, right, name, WHOLE, inputs)


def run(variant, plan, right: Oracle, name: str, limit: int, inputs: int) -> None:
    streams, text = dealt(name, limit, inputs), recorded(name, limit).text
    given = {"update_threads": 3} if variant.operations.update else {}
    agree(variant, plan, streams, 64, right, threads=True, text=text, **given)


@pytest.mark.parametrize("code", [COUNT_MAIL, COUNT_MAIL_IP])
def test_the_scanners_are_the_regular_expressions_on_every_recorded_text(code):
    text = recorded("stackexchange5.tsv.gz", WHOLE // SCALE).text
    whole, limits = text.text_bytes.tobytes(), text.offsets.tolist()
    texts = [whole[begin:end] for begin, end in itertools.pairwise(limits)]
    right = [text_matches(NAMES[code], each) for each in texts]
    found = matches_of_all(code, text.offsets, text.text_bytes)
    # By number, because messages contain no text.
    wrong = np.flatnonzero(found != np.array(right)).tolist()
    assert wrong == []
    # At least five comments contain an address.
    assert INTERPRETED or 5 <= sum(right) < len(texts) / 2
