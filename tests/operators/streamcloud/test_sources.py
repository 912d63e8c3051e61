"""The two ends of a plan: the order in which streams are sent, and the data kept of them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from operators.streamcloud import reference
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.rows import END
from operators.streamcloud.sources import Source
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud.carrying import (
    all_rows,
    inputs_of,
    on_one_thread,
    on_threads,
    parts_of,
    plan_of,
)
from tests.operators.streamcloud.test_carriers import calls_and_suspects, query_named

BLOB = 4


def source_of(streams, instances=2, **more):
    query = query_named("figure-1")
    words, _ = encode_inputs(query, inputs_of(query, streams))
    return Source(plan_of(query, streams, instances=instances), words, BLOB, **more)


def all_sent(source):
    found = []
    while (taken := source.take()) is not None:
        found.append(taken)
    return found


@interpreted_is_enough
def test_the_stream_that_is_furthest_behind_goes_next():
    late = [(ts, 1, 0, 60) for ts in range(100, 108)]
    early = [(ts, 2, 0, 60) for ts in range(8)]
    sent = all_sent(source_of({"calls": [late, early], "suspects": [[(3, 1), (50, 2)]]}))
    told = [(name, rows[0][0].sender, rows[0][0].progress) for name, rows in sent]
    assert told == [
        ("calls", 1, 4), ("suspects", 0, END), ("calls", 1, END), ("calls", 0, 104),
        ("calls", 0, END),
    ]  # fmt: skip


@interpreted_is_enough
def test_a_stream_without_tuples_ends_before_others_begin():
    sent = all_sent(source_of({"calls": [[(5, 1, 0, 60)], []], "suspects": [[]]}))
    assert [(name, rows[0][0].progress) for name, rows in sent] == [("calls", END),
            ("suspects", END), ("calls", END)]  # fmt: skip
    assert [rows[0][0].batch.shape[1] + rows[0][1].batch.shape[1] for _, rows in sent] == [0, 0, 1]


@interpreted_is_enough
def test_each_blob_brings_a_row_to_every_destination():
    streams = calls_and_suspects(Random(1), tuples=11)
    for name, rows in all_sent(source_of(streams, instances=3)):
        (of_one_channel,) = rows
        assert [row.dest for row in of_one_channel] == [0, 1, 2]
        assert {row.side for row in of_one_channel} == {0 if name == "calls" else 1}
        assert len({row.progress for row in of_one_channel}) == 1
        assert sum(row.batch.shape[1] for row in of_one_channel) <= BLOB


@interpreted_is_enough
@pytest.mark.parametrize("until", [0, 1, 4, 5, 33, 99])
def test_a_source_pauses_behind_the_blob_that_has_the_last_tuple(until):
    streams = calls_and_suspects(Random(2), tuples=11)
    source = source_of(streams, until=until)
    all_sent(source)
    assert source.total == 33
    assert min(until, 33) <= source.tuples < until + BLOB or source.tuples == 33
    again = source_of(streams)
    again.load(source.save())
    assert again.tuples == source.tuples and again.save() == source.save()
    whole, rest = all_sent(source_of(streams)), all_sent(again)
    assert len(rest) < len(whole) or until == 0
    behind = whole[len(whole) - len(rest) :]
    for (name, rows), (other, other_rows) in zip(behind, rest, strict=True):
        assert name == other
        for row, other_row in zip(rows[0], other_rows[0], strict=True):
            assert row[:5] == other_row[:5] and np.array_equal(row.batch, other_row.batch)


@pytest.mark.parametrize("carrier", ["threads", "one thread"])
def test_an_instance_steps_no_more_often_than_the_source_names_a_time(carrier):
    streams = calls_and_suspects(Random(3), tuples=60)
    blobs = sum(-(-len(each) // BLOB) for found in streams.values() for each in found)
    query = query_named("figure-1")
    parts = parts_of(plan_of(query, streams, instances=5), streams, BLOB)
    (on_threads() if carrier == "threads" else on_one_thread())(parts)
    assert all_rows(query, parts.outputs()) == reference.run(query, streams)
    # The carrier of one thread sweeps once more when everything has been sent.
    assert max(work.steps for work in parts.work().values()) <= blobs + 1
