"""Blocks of records that come when they are due, from one in a second to more than can be taken."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.core import histogram
from operators.pipeline.block_ring import OPENED
from operators.pipeline.blocks.state import BY_THE_WALK, FLUSH_WORDS, PEAK, RECORDS
from operators.pipeline.reference import run_serially
from operators.pipeline.state import LATEST_NS
from tests.operators.pipeline import running
from tests.operators.pipeline.test_blocks import CALLS, FUNCTIONS, PIPELINE, ROWS, state_in_blocks
from tests.operators.pipeline.test_scheduled_blocks import schedule_of

pytestmark = pytest.mark.xdist_group("pipeline-fraud")

BLOCK = 16
SECOND_NS = 1e9


def flushes_of(state):
    return len(state.flushes) // FLUSH_WORDS


def opened(records, rate, **given):
    """Run records at a rate; return the state, whose outputs are those of a serial run."""
    state = state_in_blocks(
        records, block=BLOCK, period_ns=SECOND_NS / rate, marker_every=1, **given
    )
    running.run_state(FUNCTIONS, state, 2)
    assert running.kept(state, 1) == run_serially(PIPELINE, records)
    return state


@pytest.mark.parametrize(
    ("rate", "count", "walk"), [(1, 2, "completion"), (4, 4, "completion"), (4, 4, "ends")]
)
def test_a_lone_record_is_out_before_the_next_one_is_due(rate, count, walk):
    state = opened(CALLS[:count], rate, ends=walk == "ends", in_flight=16)
    assert state.ring.entrance[OPENED] == count + flushes_of(state)
    # No more than one block is in flight, and each is out in less than half of the time until the
    # next one: a block that waited for a second record would be a whole period late.
    assert state.words[PEAK] <= 1 + flushes_of(state)
    assert 0 < histogram.largest(state.sink.due_latencies) < SECOND_NS / rate / 2
    assert 0 <= state.pace.words[LATEST_NS] < SECOND_NS / rate / 2


@pytest.mark.parametrize("scheduler", [each.id for each in registry.variants("pipeline")])
def test_so_it_is_under_a_scheduler(scheduler):
    state = opened(CALLS[:3], 4, schedule=schedule_of(scheduler))
    assert state.ring.entrance[OPENED] == 3 + flushes_of(state)
    assert 0 < histogram.largest(state.sink.due_latencies) < SECOND_NS / 8


@pytest.mark.parametrize("rate", [1e3, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("parts", [1, 3])
def test_any_rate_puts_out_what_a_serial_run_does(rate, parts):
    state = opened(CALLS, rate, parts=parts)
    blocks = int(state.ring.entrance[OPENED]) - flushes_of(state)
    assert -(-ROWS // BLOCK) <= blocks <= ROWS
    if rate == 1e9:
        # All are due before the first block is opened: they are full, but for the last one.
        assert blocks <= -(-ROWS // BLOCK) + 1


def test_a_saturated_source_fills_every_block_but_the_last():
    state = state_in_blocks(CALLS, block=BLOCK)
    running.run_state(FUNCTIONS, state, 2)
    full, rest = divmod(ROWS, BLOCK)
    assert state.ring.entrance[OPENED] == full + (rest > 0) + flushes_of(state)
    assert state.sending.scheduler == BY_THE_WALK.scheduler
    assert np.all(state.headers[RECORDS :: state.header_words] <= BLOCK)
