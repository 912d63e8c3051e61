"""The memory of a run: a peak of its time alone, and the arrays of a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from experiments import families
from experiments.timing import memory, run_row
from experiments.timing.bench import Request
from experiments.timing.memory import begin, bytes_of, since

MIB = 1 << 20
# The system counts resident pages by thread, and adds them up now and then.
SLACK = 8 * MIB


def touch(mib):
    """Write to each page of so many MiB, and give them back."""
    assert np.ones(mib * MIB, dtype=np.int8).sum() == mib * MIB


@pytest.fixture
def _linux():
    if begin() is None:
        pytest.skip("the system does not let a process begin its peak anew")


@pytest.mark.usefixtures("_linux")
def test_the_peak_is_that_of_the_run_alone():
    touch(256)
    before = begin()
    found = since(before)
    assert found.rss_before_bytes == before
    assert before - SLACK <= found.peak_rss_bytes < before + 64 * MIB
    before = begin()
    touch(256)
    assert since(before).peak_rss_bytes > before + 200 * MIB


def test_where_the_system_does_not_tell_there_is_no_peak(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "CLEAR", tmp_path / "none" / "clear_refs")
    assert since(begin()) == (None, None)


class State(NamedTuple):
    words: np.ndarray
    rings: tuple
    size: int


def test_each_array_of_a_state_counts_once():
    words, log = np.zeros(10, dtype=np.int64), np.zeros(100, dtype=np.int8)
    state = State(words, (words, np.zeros(4, dtype=np.int64), log), 7)
    assert bytes_of(state) == 80 + 32 + 100
    assert bytes_of(state, without=(log, None)) == 80 + 32
    assert bytes_of(()) == 0


def state_bytes(family, variant, **settings):
    row = run_row.row(families.ready(family, variant, settings), Request(0.02))
    assert row["valid"], row["invalid_reason"]
    assert row["peak_rss_bytes"] >= row["rss_before_bytes"] - SLACK > 0
    return row["state_bytes"]


@pytest.mark.usefixtures("_linux")
def test_the_state_of_a_gate_grows_with_what_it_holds():
    small, large = (state_bytes("gate", "t-gate", sources=2, ahead=n) for n in (64, 4_096))
    assert 0 < small and 8 * small < large < 200 * small


def test_the_state_of_an_aggregate_has_no_log_of_outputs(meters):
    given = {"dataset": meters, "inputs": 2, "query": "k-OS"}
    # The length of a run, which sizes the log, does not matter.
    short, long = (
        run_row.row(families.ready("aggregation", "tumlsc", given), Request(0.1, tuples=tuples))
        for tuples in (50_000, 200_000)
    )
    # Of four times as many tuples a log of outputs has four times the bytes.
    assert (short["tuples"], long["tuples"]) == (50_000, 200_000)
    assert long["state_bytes"] == short["state_bytes"] > 0


def test_a_failed_run_has_no_memory():
    bench = families.ready("gate", "t-gate", {"sources": 2})
    row = run_row.failed(bench, "it broke", 5, 6)
    assert (row["peak_rss_bytes"], row["rss_before_bytes"], row["state_bytes"]) == (None,) * 3
