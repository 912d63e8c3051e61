"""``run_gate`` over arrays: the total order from every gate, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.contract import UsageError
from operators.gate.reference import merged
from operators.gate.run import run_gate
from tests.covering import compiled_few
from tests.sorted_streams import KINDS, sorted_streams

GATES = [variant.id for variant in registry.variants("gate")]


@pytest.mark.parametrize("gate", compiled_few(GATES, ["multi-queue"]))
def test_tuples_come_out_in_the_total_order(gate):
    for kind in KINDS:
        streams = sorted_streams(kind)
        wanted = merged([[(int(time), 0, 0) for time in stream] for stream in streams])
        found = run_gate(gate, streams)
        assert found.shape == (len(wanted), 2) and found.dtype == np.int64
        assert found.tolist() == [[each.source, each.position] for each in wanted], kind


@pytest.mark.parametrize("gate", compiled_few(GATES, ["multi-queue"]))
def test_a_gate_with_little_room_loses_nothing(gate):
    streams = sorted_streams("skewed", seed=2)
    parameters = registry.variant("gate", gate).parameters
    little = {each.name: each.minimum for each in parameters if each.name in ("ahead", "batch")}
    assert run_gate(gate, streams, **little).tolist() == run_gate(gate, streams).tolist()


@pytest.mark.parametrize(
    ("gate", "streams", "parameters", "says"),
    [
        ("no-gate", [[1]], {}, "unknown variant 'no-gate'"),
        ("multi-queue", [], {}, "sources must be between 1 and 4096, received 0"),
        ("multi-queue", [[1], [3, 2]], {}, "timestamps of stream 1 must not fall, received 2 at p"),
        ("multi-queue", [[-1]], {}, "stream 0 must be at least 0 and below 2..62, received -1"),
        ("multi-queue", [[1 << 62]], {}, "must be at least 0 and below 2..62, received 46"),
        ("multi-queue", [[0.5]], {}, "stream 0 are whole numbers in a row, received float64"),
        ("multi-queue", [[[1, 2]]], {}, "whole numbers in a row, received int64 of shape .1, 2."),
        ("multi-queue", [np.array([1 << 63])], {}, "fit into 64 bits with a sign, received 9"),
        ("multi-queue", [[1]], {"ahead": 0}, "ahead must be between 1 and 16777216"),
        ("multi-queue", [[1]], {"batch": 2}, "gate multi-queue has no parameter 'batch'"),
    ],
)
def test_what_is_no_merge_is_refused(gate, streams, parameters, says):
    with pytest.raises(UsageError, match=says):
        run_gate(gate, streams, **parameters)
