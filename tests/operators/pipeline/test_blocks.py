"""Pipelines in blocks: the output of a serial run, for any blocks, parts, rooms and workers.

The pipeline is that of the tests of the tuple-wise runtime: five operators of all kinds, with zero,
one and several outputs for a record, a table of keys, and flushes.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from operators import registry
from operators.contract import UsageError
from operators.core import histogram
from operators.core.jit import INTERPRETED, inlined
from operators.core.work import matrix_work
from operators.pipeline import block_ring
from operators.pipeline.block_ring import OPENED
from operators.pipeline.blocks import deciding
from operators.pipeline.blocks.deciding import PARTS, Trial, decide, partitioned_in, try_out
from operators.pipeline.blocks.layout import FREE, ORDERED, SCATTERED, SINK, segments_of
from operators.pipeline.blocks.run import seconds_by_segment
from operators.pipeline.blocks.state import FLUSH_WORDS, OUT_WORDS, PEAK, make_blocks_state
from operators.pipeline.blocks.turns import make_work_in_blocks
from operators.pipeline.declare import MOST_OUTPUTS, PARTITIONED, STATELESS, Operator, Pipeline
from operators.pipeline.loops import Functions
from operators.pipeline.reference import run_serially
from operators.pipeline.run import run_pipeline, state_of
from operators.pipeline.state import MARKERS
from operators.running import run_threads
from operators.running.control import block as control_words_of
from operators.running.control import make_control
from tests.operators.pipeline import running
from tests.operators.pipeline.test_runtime import (
    CALLS,
    FAR_AWAY,
    FUNCTIONS,
    LOST,
    NO_PHONE,
    PHONES,
    PIPELINE,
    ROWS,
    WANTED,
    near,
    phone_of,
)

pytestmark = pytest.mark.xdist_group("pipeline-fraud")

# More than the outputs of any run here.
MOST = 4 * ROWS

# Workers, records of a block, blocks in flight, parts, from both ends or not, words of room.
COMBINATIONS = list(
    product((1, 2, 3, 8), (1, 2, 7, 64, 1024), (1, 2, 16), (1, 2, 5), (0, 1), (1, 40, 1 << 15))
)


def state_in_blocks(records, outputs=MOST, pipeline=PIPELINE, **given):
    settings = {
        "workers": 2,
        "block": 16,
        "in_flight": 4,
        "parts": 1,
        "marker_every": 7,
        "kept_words": outputs * pipeline.operators[-1].outputs,
    } | given
    scattered = partitioned_in(pipeline) if settings["parts"] > 1 else ()
    return make_blocks_state(pipeline, records, len(records), scattered=scattered, **settings)


def run_in_blocks(records, functions=FUNCTIONS, **given):
    state = state_in_blocks(records, pipeline=functions.pipeline, **given)
    running.run_state(functions, state, state.workers)
    block_ring.check_invariants(state.ring)
    return running.kept(state, functions.pipeline.operators[-1].outputs)


def resolved(**given):
    return registry.family("pipeline").resolve(registry.variant("pipeline", "ct"), given)


def agree(workers, block, in_flight, parts, ends, room_words, records=CALLS, wanted=WANTED):
    found = run_in_blocks(
        records, workers=workers, block=block, in_flight=in_flight, parts=parts, ends=bool(ends),
        room_words=room_words,
    )  # fmt: skip
    assert found == wanted, (workers, block, in_flight, parts, ends, room_words)


def test_a_sample_of_all_combinations_is_a_serial_run():
    chance = random.Random(1)
    for combination in chance.sample(COMBINATIONS, 6 if INTERPRETED else 90):
        agree(*combination)


@pytest.mark.full
def test_all_combinations_are_a_serial_run():
    for combination in COMBINATIONS:
        agree(*combination)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_capacity_at_its_least_does_not_deadlock(workers, parts):
    for block, ends in product((1, 5), (0, 1)):
        agree(workers, block, 1, parts, ends, 1)


@pytest.mark.parametrize("parts", [1, 4])
def test_one_key_alone_and_records_that_are_all_dropped(parts):
    one = CALLS.copy()
    one[:, 1] = 3
    dropped = np.zeros((ROWS, 3), dtype=np.int64)
    for records in (one, dropped):
        agree(2, 16, 4, parts, 0, 64, records, run_serially(PIPELINE, records))


@pytest.mark.parametrize("parts", [1, 4])
def test_parts_may_be_ranges_of_keys_and_the_stream_empty(parts):
    assert run_in_blocks(CALLS, parts=parts, ranged=True) == WANTED
    nothing = CALLS[:0]
    assert run_in_blocks(nothing, parts=parts) == run_serially(PIPELINE, nothing)


def test_a_source_may_repeat_within_a_block():
    wanted = run_serially(PIPELINE, np.tile(CALLS[:10], (5, 1)))
    for parts in (1, 2):
        scattered = partitioned_in(PIPELINE) if parts > 1 else ()
        state = make_blocks_state(
            PIPELINE, CALLS[:10], 50, workers=2, block=16, in_flight=2, parts=parts,
            scattered=scattered, marker_every=7, kept_words=len(wanted),
        )  # fmt: skip
        running.run_state(FUNCTIONS, state, 2)
        assert running.kept(state, 1) == wanted


def test_every_marker_comes_out_and_the_middle_ones_are_kept():
    state = state_in_blocks(CALLS, marker_every=3)
    running.run_state(FUNCTIONS, state, 2)
    there = ROWS // 3
    assert state.sink.words[MARKERS] == there
    assert histogram.count(state.sink.latencies) == there * 4 // 5 - there // 5
    spent = seconds_by_segment(PIPELINE, state)
    assert list(spent) == ["1 near", "2 moved", "3 fan", "4 count", "5 sum"]
    assert all(seconds > 0 for seconds in spent.values())


@pytest.mark.skipif(not INTERPRETED, reason="a compiled flush cannot take another worker's turn")
def test_the_keys_of_a_flush_are_blocks_that_workers_flush_at_once():
    order = []

    def flushed(key, state, out):
        if key == 0:
            for _ in range(4):
                turn(control, control_words_of(1), begun, 1, outs[1])
        order.append(key)
        out[0] = key
        return 1

    pipeline = Pipeline(
        "flush",
        3,
        (Operator("count", PARTITIONED, lambda call, state, out: 0, outputs=1, key=phone_of, keys=5,
                  row_words=1, flush=flushed),),
    )  # fmt: skip
    begun = state_in_blocks(CALLS[:0], 5, pipeline, block=2, parts=2)
    assert begun.flushes.tolist() == [0, 0, 2, 0, 2, 2, 0, 4, 1]
    turn = make_work_in_blocks(pipeline, segments_of(pipeline, [0]))
    control, outs = make_control(2), np.zeros((2, OUT_WORDS), dtype=np.int64)
    for _ in range(9):
        turn(control, control_words_of(0), begun, 0, outs[0])
    # While one worker has the first key, another one flushes the next blocks; outputs keep order.
    assert order == [2, 3, 4, 0, 1]
    assert running.kept(begun, 1) == [(key,) for key in range(5)]


def test_a_block_closes_when_no_more_records_are_due():
    # One record each 20 ms: a block that waited for more would have sixteen.
    records = CALLS[:5]
    state = state_in_blocks(records, period_ns=2e7, marker_every=1)
    running.run_state(FUNCTIONS, state, 2)
    assert running.kept(state, 1) == run_serially(PIPELINE, records)
    assert state.ring.entrance[OPENED] == len(records) + len(state.flushes) // FLUSH_WORDS
    # The due latency of the middle markers is below the wait for a full block.
    assert 0 < histogram.largest(state.sink.due_latencies) < 3e8


@pytest.mark.parametrize("walk", ["completion", "ends"])
@pytest.mark.parametrize("most", [1, 3, 5, 16])
def test_no_more_blocks_are_in_flight_than_may_be(walk, most):
    settings = resolved(form="blocks", block=4, parts=1, walk=walk, in_flight=most)
    state = state_of(PIPELINE, CALLS, ROWS, "ct", settings, marker_every=7)
    segments = segments_of(PIPELINE)
    # Another worker has the second segment, and does not leave it.
    assert block_ring.take_token(state.ring, 1 * block_ring.TOKEN_WORDS)
    turn = make_work_in_blocks(PIPELINE, segments)
    control, out = make_control(state.workers), np.zeros(OUT_WORDS, dtype=np.int64)
    # Worker 1 is one of those that begin at the first segment.
    for _ in range(2 * most):
        turn(control, control_words_of(1), state, 1, out)
    assert state.ring.entrance[OPENED] == state.words[PEAK] == most


def with_call(call, place):
    return np.concatenate([CALLS[:place], [call], CALLS[place:]])


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("call", "told"),
    [
        ((FAR_AWAY + 1, 0, 0), r"failed: ValueError: no such area \(operator 'near', at tuple 37 "),
        ((FAR_AWAY, 0, 0), r"of a record than its `most`.* \(operator 'near', at tuple 37 of the"),
        ((-1, 0, 0), r"no room for a record; .* \(operator 'near', at tuple 37 of the input\)"),
        ((1, -1, 0), r"below 0, or not below .* \(operator 'moved', at record \d+ of those that"),
        ((1, PHONES, 0), r"operator 'moved', at record \d+ of those that it got of the tuples 32"),
        ((1, NO_PHONE, 0), r"no such phone \(operator 'moved', at record \d+ of those that it got"),
    ],
)
def test_a_function_that_fails_in_the_middle_of_a_block_is_named_with_the_tuple(call, told, parts):
    for workers in (1, 2):
        with pytest.raises(run_threads.RunFailed, match=rf"worker \d.*{told}"):
            run_in_blocks(with_call(call, 37), workers=workers, parts=parts)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("place", "told"), [(LOST, "no room for a record"), (LOST - 1, "more outputs of a record")]
)
def test_a_flush_that_fails_is_named_with_the_key(place, told, parts):
    wrong = np.concatenate([CALLS, [[1, 3, place]]])
    with pytest.raises(
        run_threads.RunFailed, match=rf"{told}.* \(operator 'moved', at the flush of key 3\)"
    ):
        run_in_blocks(wrong, parts=parts)


def test_workers_that_look_in_vain_make_no_progress_and_say_where_they_were():
    state = state_in_blocks(CALLS)
    # Falsely marked as being opened: no block is ever opened.
    state.ring.entrance[block_ring.OPENING] = 1
    with pytest.raises(run_threads.Stalled, match=r"worker 0 at 0 \(before its first record"):
        running.run_state(FUNCTIONS, state, 2, stall_seconds=0.3, limit_seconds=10)


def test_a_user_s_pipeline_runs_in_blocks_by_a_setting():
    if not INTERPRETED:
        given = {"form": "blocks", "block": 32, "workers": 3}
        found = run_pipeline(PIPELINE, CALLS, **given)
        assert [tuple(map(int, row)) for row in found] == WANTED
    with pytest.raises(UsageError, match="form must be one of tuples, blocks, received 'heaps'"):
        run_pipeline(PIPELINE, CALLS, form="heaps")
    with pytest.raises(UsageError, match="block must be between 1 and 65536 tuples, received 0"):
        run_pipeline(PIPELINE, CALLS, block=0)


def test_stateless_operators_fuse_with_stateless_neighbours_up_to_a_number_of_outputs():
    def free(most):
        return Operator("x", STATELESS, near, outputs=2, most=most)

    def kinds(*operators, scattered=()):
        found = segments_of(Pipeline("p", 3, operators), scattered)
        return [(each.kind, each.end - each.first) for each in found]

    assert kinds(free(1), free(2), free(1)) == [(FREE, 3), (SINK, 0)]
    assert kinds(free(MOST_OUTPUTS), free(2)) == [(FREE, 1), (FREE, 1), (SINK, 0)]
    moved = PIPELINE.operators[1]
    assert kinds(moved) == [(ORDERED, 1)]
    assert kinds(free(1), moved, scattered=(1,)) == [(FREE, 1), (SCATTERED, 1), (SINK, 0)]


def test_a_ring_and_a_block_have_at_least_one():
    with pytest.raises(UsageError, match="slots of a ring of blocks must be at least 1, received"):
        block_ring.make_ring(0, 1)
    with pytest.raises(UsageError, match="a block must have at least 1 record, received 0"):
        state_in_blocks(CALLS, block=0)


def test_fused_operators_with_several_outputs_are_a_serial_run():
    fan, near_operator = PIPELINE.operators[2], PIPELINE.operators[0]
    pipeline = Pipeline("fused", 3, (near_operator, fan, fan._replace(name="again")))
    records = CALLS[: ROWS // 2]
    wanted = run_serially(pipeline, records)
    for room_words in (1, 1 << 15):
        found = run_in_blocks(records, Functions(pipeline), outputs=len(wanted),
                              room_words=room_words)  # fmt: skip
        assert found == wanted


@inlined
def laborious(call, state, out):
    """Put out a number that takes long to compute."""
    out[0] = matrix_work(call[0], 100 if INTERPRETED else 5_000)
    return 1


def test_a_partitioned_operator_with_most_of_the_work_takes_blocks_in_parts():
    phones = PIPELINE.operators[0]
    labour = Operator("labour", PARTITIONED, laborious, outputs=1, key=phone_of, keys=PHONES)
    pipeline = Pipeline("labour", 3, (phones, labour))
    assert try_out(Functions(pipeline), CALLS, {}).dominant == (1,)
    assert try_out(Functions(pipeline), CALLS[:0], {}) == Trial()
    # A failure is left to the run itself, which says where it was.
    assert try_out(Functions(pipeline), with_call((1, PHONES, 0), 9), {}) == Trial()
    stateless = Pipeline("near", 3, (phones,))
    assert try_out(Functions(stateless), CALLS, {}).dominant == ()


@pytest.mark.parametrize(
    ("given", "tuple_us", "decided"),
    [
        ({}, 0.19, (1, (), False, 16)),
        ({}, 0.2, (PARTS, (1,), True, 4)),
        ({"block": 64}, 0.2, (1, (), False, 16)),
        ({"workers": 8}, 0.2, (PARTS, (1,), True, 16)),
        ({"parts": 1}, 9, (1, (), True, 4)),
        ({"parts": 3}, 0, (3, (1, 3), False, 16)),
        # One worker alone has no other end, and nobody is tried out.
        ({"workers": 1, "parts": 1}, None, (1, (), False, 16)),
        ({"walk": "completion"}, 9, (PARTS, (1,), False, 16)),
        ({"walk": "ends"}, 0, (1, (), True, 4)),
        ({"walk": "scheduler", "parts": 1}, None, (1, (), False, 16)),
        ({"in_flight": 7}, 9, (PARTS, (1,), True, 7)),
    ],
)
def test_parts_and_ways_are_decided_by_the_time_of_a_block(monkeypatch, given, tuple_us, decided):
    def tried(*arguments):
        assert tuple_us is not None, "nothing is left to decide"
        return Trial((1,), tuple_us)

    monkeypatch.setattr(deciding, "try_out", tried)
    settings = resolved(form="blocks", **{"block": 250} | given)
    assert decide(PIPELINE, CALLS, settings, {}) == decided


def test_the_time_of_a_tuple_is_measured():
    labour = Operator("labour", STATELESS, laborious, outputs=1)
    tuple_us = try_out(Functions(Pipeline("labour", 3, (labour,))), CALLS, {}).tuple_us
    few = try_out(Functions(Pipeline("near", 3, PIPELINE.operators[:1])), CALLS, {}).tuple_us
    assert 0 < few < tuple_us
