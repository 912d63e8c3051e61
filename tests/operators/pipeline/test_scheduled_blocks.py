"""Blocks under the schedulers of the paper: the output of a serial run, and where workers go."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from operators import registry
from operators.contract import END, NOT_READY, READY
from operators.core.jit import INTERPRETED
from operators.pipeline import block_ring
from operators.pipeline.blocks.deciding import partitioned_in
from operators.pipeline.blocks.layout import segments_of
from operators.pipeline.blocks.scheduled import make_work_by_scheduler, to_open
from operators.pipeline.blocks.sending import Schedule, visits_of
from operators.pipeline.blocks.state import OUT_WORDS
from operators.pipeline.blocks.turns import make_work_in_blocks
from operators.pipeline.board import (
    COST,
    NOBODY,
    ONE,
    SCHEDULABLE,
    SELECTIVITY,
    VISITS,
    WAITING,
    WORKERS,
    look,
)
from operators.pipeline.reference import run_serially
from operators.pipeline.run import run_pipeline, state_of
from operators.running.control import block as control_words_of
from operators.running.control import make_control
from tests.operators.pipeline.test_blocks import (
    CALLS,
    PIPELINE,
    ROWS,
    WANTED,
    resolved,
    run_in_blocks,
    state_in_blocks,
)

pytestmark = pytest.mark.xdist_group("pipeline-fraud-scheduled")

SCHEDULERS = [each.id for each in registry.variants("pipeline")]
CHOOSE = tuple(each.operations.choose for each in registry.variants("pipeline"))
# Workers, records of a block, blocks in flight, parts, words of room, slice.
COMBINATIONS = list(
    product((1, 2, 3, 8), (1, 7, 64, 1024), (1, 2, 16), (1, 3), (1, 1 << 15), (1, 100_000))
)


def schedule_of(scheduler, slice_ns=20_000):
    return Schedule(SCHEDULERS.index(scheduler), slice_ns, 1_000_000, 4)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_sample_of_all_combinations_is_a_serial_run(scheduler):
    chance = random.Random(SCHEDULERS.index(scheduler))
    for combination in chance.sample(COMBINATIONS, 4 if INTERPRETED else 30):
        workers, block, in_flight, parts, room_words, slice_ns = combination
        found = run_in_blocks(
            CALLS, workers=workers, block=block, in_flight=in_flight, parts=parts,
            room_words=room_words, schedule=schedule_of(scheduler, slice_ns),
        )  # fmt: skip
        assert found == WANTED, (scheduler, combination)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_an_empty_stream_is_flushed_and_a_slow_one_enters_when_it_is_due(scheduler):
    schedule = schedule_of(scheduler)
    assert run_in_blocks(CALLS[:0], schedule=schedule) == run_serially(PIPELINE, CALLS[:0])
    some = CALLS[:5]
    found = run_in_blocks(some, schedule=schedule, period_ns=5e6, marker_every=1)
    assert found == run_serially(PIPELINE, some)


def test_a_user_s_pipeline_is_scheduled_by_a_setting():
    if not INTERPRETED:
        for scheduler in ("lp", "ct"):
            given = {"form": "blocks", "walk": "scheduler", "block": 32, "parts": 1}
            found = run_pipeline(PIPELINE, CALLS, scheduler=scheduler, **given)
            assert [tuple(map(int, row)) for row in found] == WANTED
    settings = resolved(form="blocks", walk="scheduler", parts=1, block=64, capacity=200)
    sending = state_of(PIPELINE, CALLS, ROWS, "et", settings, marker_every=7).sending
    assert SCHEDULERS[sending.scheduler] == "et"
    assert (sending.board.slice_ns, sending.board.window_ns) == (100_000, 10_000_000)
    # As many blocks as there are tuples in QST's capacity; a quarter of those in flight by default.
    assert sending.board.capacity == 3
    settings = resolved(form="blocks", walk="scheduler", parts=1)
    assert (
        state_of(PIPELINE, CALLS, ROWS, "et", settings, marker_every=7).sending.board.capacity == 4
    )


class Turns:
    """The turns of workers in one thread, sent where the test says."""

    def __init__(self, **given):
        self.place = NOBODY
        self.state = state_in_blocks(CALLS, schedule=schedule_of("lp"), **given)
        scattered = partitioned_in(PIPELINE) if given.get("parts", 1) > 1 else ()
        self.segments = segments_of(PIPELINE, scattered)
        self._control = make_control(self.state.workers)
        self._out = np.zeros(OUT_WORDS, dtype=np.int64)
        self._work = make_work_in_blocks(
            PIPELINE, self.segments, [lambda board: self.place] * len(CHOOSE)
        )

    def turn(self, worker, place):
        self.place = place
        return self._work(self._control, control_words_of(worker), self.state, worker, self._out)

    def seen(self, word):
        board = self.state.sending.board
        return [look(board, place, word) for place in range(board.operators)]


def test_the_board_shows_where_blocks_wait_and_where_a_worker_may_go():
    turns = Turns(block=8, in_flight=4)
    assert turns.turn(0, NOBODY) == NOT_READY
    # No more than there is room for, although more are due.
    assert ROWS // 8 > 4 == to_open(turns.state)
    assert turns.seen(WAITING) == [4, 0, 0, 0, 0] and turns.seen(SCHEDULABLE) == [1, 0, 0, 0, 0]
    # A block before the first report; it then waits at the second operator.
    assert turns.turn(0, 0) == READY
    assert turns.seen(WORKERS)[0] == 1
    turns.turn(1, NOBODY)
    assert turns.seen(WAITING) == [3, 1, 0, 0, 0] and turns.seen(SCHEDULABLE)[:2] == [1, 1]
    # The first worker has not reported: where one alone may be, no other one is sent.
    assert turns.turn(0, 1) == READY and turns.seen(WORKERS)[:2] == [0, 1]
    assert turns.seen(VISITS)[0] == 1 and turns.seen(COST)[0] > 0
    assert turns.turn(1, 0) == READY
    turns.turn(1, NOBODY)
    assert turns.seen(WAITING)[1] == 1 and turns.seen(SCHEDULABLE)[1] == 0
    turns.turn(0, NOBODY)
    turns.turn(1, NOBODY)
    assert turns.seen(SCHEDULABLE)[1] == 1
    assert turns.seen(WORKERS) == [0] * 5


def test_a_block_behind_the_next_one_does_not_make_an_ordered_segment_schedulable():
    turns = Turns(block=8)
    for _ in range(2):
        assert turns.turn(0, 0) == READY
    turns.turn(1, NOBODY)
    assert turns.seen(WAITING)[1] == 2 and turns.seen(SCHEDULABLE)[1] == 1
    # As if a worker were still at the first segment with block 0.
    turns.state.ring.states[block_ring.STATE] -= 1
    turns.turn(1, NOBODY)
    assert turns.seen(WAITING)[1] == 0 == turns.seen(SCHEDULABLE)[1]


def test_a_worker_that_found_nothing_is_not_sent_there_at_once():
    turns = Turns(block=8)
    assert turns.turn(0, 0) == READY
    # A worker outside the board has the second segment.
    token = 1 * block_ring.TOKEN_WORDS
    assert block_ring.take_token(turns.state.ring, token)
    assert turns.turn(0, 1) == NOT_READY
    turns.turn(0, NOBODY)
    assert turns.seen(WAITING)[1] == 1 and turns.seen(SCHEDULABLE)[1] == 0
    turns.turn(0, NOBODY)
    assert turns.seen(SCHEDULABLE)[1] == 1 and turns.seen(VISITS) == [1, 0, 0, 0, 0]


def test_a_block_in_parts_has_a_visit_more_than_parts_and_selectivities_say_so():
    turns = Turns(block=16, parts=3)
    visits = [visits_of(segment, 3) for segment in turns.segments]
    assert visits == [1, 4, 1, 4, 1]
    selectivities = turns.seen(SELECTIVITY)
    assert selectivities == [4 * ONE, ONE // 4, 4 * ONE, ONE // 4, ONE]
    turns.turn(0, 0)
    turns.turn(0, NOBODY)
    assert turns.seen(WAITING)[1] == 4
    # Divided, and its parts taken in the same call, as far as a slice of one visit goes.
    assert turns.turn(0, 1) == READY
    turns.turn(0, NOBODY)
    assert turns.seen(WAITING)[1] < 4 and turns.seen(SELECTIVITY) == selectivities


def test_a_run_ends_when_all_blocks_are_finished():
    turns = Turns(block=64)
    statuses = []
    while END not in statuses and len(statuses) < 10_000:
        statuses += [turns.turn(0, place) for place in (4, 3, 2, 1, 0, NOBODY)]
    assert statuses[-1] == END and READY in statuses


def test_a_failure_is_the_answer_of_the_turn():
    def failing(control, its, state, worker, most, out):
        return -4

    turns = Turns(block=64)
    work = make_work_by_scheduler(turns.segments, [failing] * 5, [lambda board: 0] * len(CHOOSE))
    assert work(turns._control, control_words_of(0), turns.state, 0, turns._out) == -4
