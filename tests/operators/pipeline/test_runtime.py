"""The dynamic runtime: the output of a serial run with any workers, queues, buffers, schedulers.

The pipeline here extends the paper's figure 1: five operators of all kinds, with zero, one and
several outputs for a record, a table of keys, and flushes.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core import histogram
from operators.core.atomics import now
from operators.core.jit import INTERPRETED, inlined, kernel
from operators.pipeline.board import INPUTS, ONE, OUTPUTS, SELECTIVITY, look
from operators.pipeline.declare import (
    OVER_LIMIT,
    PARTITIONED,
    STATEFUL,
    STATELESS,
    Operator,
    Pipeline,
)
from operators.pipeline.loops import Functions
from operators.pipeline.reference import run_serially
from operators.pipeline.stage import BLOCKED
from operators.pipeline.state import GO, MARKERS, Setting, chain, deliver
from operators.running import run_threads
from tests.operators.pipeline import running
from tests.operators.pipeline.running import run_in_threads, run_serial_kernel

ROWS = 60 if INTERPRETED else 400
PHONES = 50
FAR_AWAY, LOST = 10_001, -7
NO_PHONE = 1 << 41


@inlined
def near(call, state, out):
    """Keep the calls of four areas in five: phone and place. Areas are not negative.

    For a far area it answers two outputs, although one is allowed; for a farther one it raises.
    """
    if call[0] > FAR_AWAY:
        raise ValueError("no such area")
    if call[0] < 0:
        return OVER_LIMIT
    if call[0] == FAR_AWAY:
        return 2
    if call[0] % 5 == 0:
        return 0
    out[0] = call[1]
    out[1] = call[2]
    return 1


@inlined
def phone_of(call):
    """Return the phone; raise for a word that is not a phone."""
    if call[0] >= NO_PHONE:
        raise ValueError("no such phone")
    return call[0]


@inlined
def moved(call, state, out):
    """Put out the distance a phone moved since the previous call. State: calls, last place."""
    state[0] += 1
    out[0] = call[0]
    out[1] = call[1] - state[1]
    out[2] = state[0]
    state[1] = call[1]
    return 1


@inlined
def calls_of(key, state, out):
    """Put out a phone's number of calls; for a lost phone the answer breaks the limit."""
    if state[0] == 0:
        return 0
    if state[1] == LOST:
        return -1
    if state[1] == LOST - 1:
        return 2
    out[0] = key
    out[1] = -1
    out[2] = state[0]
    return 1


@inlined
def fanned_out(call, state, out):
    """Put out zero to three records."""
    for place in range(3):
        out[2 * place] = call[0] + place
        out[2 * place + 1] = call[1]
    return call[0] % 4


@inlined
def far_key(call):
    """Return one of very many keys."""
    return call[0] * 1_000_003 + 5


@inlined
def counted(call, state, out):
    """Count a key. State: count."""
    state[0] += 1
    out[0] = call[0]
    out[1] = state[0]
    return 1


@inlined
def summed(call, state, out):
    """Put out the running sum. State: sum."""
    state[0] += call[1]
    out[0] = state[0]
    return 1


@inlined
def last_sum(key, state, out):
    """Put out the sum once more, negative."""
    out[0] = -state[0]
    return 1


PIPELINE = Pipeline(
    "fraud",
    3,
    (
        Operator("near", STATELESS, near, outputs=2),
        Operator("moved", PARTITIONED, moved, outputs=3, key=phone_of, keys=PHONES, row_words=2,
                 flush=calls_of),
        Operator("fan", STATELESS, fanned_out, outputs=2, most=3),
        Operator("count", PARTITIONED, counted, outputs=2, key=far_key, table_rows=64,
                 row_words=1),
        Operator("sum", STATEFUL, summed, outputs=1, row_words=1, flush=last_sum),
    ),
)  # fmt: skip
FUNCTIONS = Functions(PIPELINE)
pytestmark = pytest.mark.xdist_group("pipeline-fraud")


def calls(seed: int, rows: int = ROWS) -> np.ndarray:
    chance = np.random.default_rng(seed)
    phones = np.minimum(chance.geometric(0.1, rows) - 1, PHONES - 1)
    return np.stack([chance.integers(0, 1000, rows), phones, np.arange(rows)], axis=1)


CALLS = calls(1)
WANTED = run_serially(PIPELINE, CALLS)
COMBINATIONS = list(product((1, 2, 3, 8), (2, 3, 16), (1, 5), range(3), range(2), range(5)))


def agree(workers, slots, partitions, worklist, buffer, scheduler, **given) -> None:
    got = run_in_threads(
        FUNCTIONS, CALLS, len(WANTED), workers=workers, slots=slots, partitions=partitions,
        setting=Setting(worklist, buffer, 0), scheduler=scheduler, **given,
    )  # fmt: skip
    assert got == WANTED, (workers, slots, partitions, worklist, buffer, scheduler)


def test_the_serial_kernel_does_what_the_functions_do():
    assert run_serial_kernel(FUNCTIONS, CALLS, len(WANTED)) == WANTED


def test_a_sample_of_all_combinations_is_a_serial_run():
    chance = random.Random(1)
    for combination in chance.sample(COMBINATIONS, 6 if INTERPRETED else 60):
        agree(*combination)


@pytest.mark.full
def test_all_combinations_are_a_serial_run():
    for combination in COMBINATIONS:
        agree(*combination)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("worklist", range(3))
def test_every_capacity_at_its_least_does_not_deadlock(workers, worklist):
    for scheduler in range(5):
        agree(workers, 2, 3, worklist, 0, scheduler, slice_ns=1, capacity=1, source_most=1)


def test_ranges_of_keys_are_partitions_too():
    for worklist in range(3):
        got = run_in_threads(FUNCTIONS, CALLS, len(WANTED), workers=2,
                             setting=Setting(worklist, 0, 1))  # fmt: skip
        assert got == WANTED


def test_every_marker_comes_out_and_the_middle_ones_are_kept():
    state = running.state_of(PIPELINE, CALLS, len(WANTED), marker_every=3)
    running.run_state(FUNCTIONS, state, 1)
    there = ROWS // 3
    assert state.sink.words[MARKERS] == there
    assert histogram.count(state.sink.latencies) == there * 4 // 5 - there // 5


def test_latency_from_the_due_time_is_that_of_the_marker_s_own_record():
    # One record each second, the first due a hundred seconds ago; a marker on every third.
    state = running.state_of(PIPELINE, CALLS[:60], 1, marker_every=3, period_ns=1e9)
    state.pace.words[GO] = now() - 100 * 10**9
    for number in range(20):
        # The first marker is on the record of rank 2; those from 4 to before 16 are kept.
        deliver(state.sink, 1, np.zeros(1, dtype=np.int64), 0, -now() if number % 2 else now())
    late = state.sink.due_latencies
    assert histogram.count(late) == histogram.count(state.sink.latencies) == 12
    assert histogram.largest(late) / 1e9 == pytest.approx(100 - (3 * 5 - 1), abs=0.9)
    assert histogram.smallest(late) / 1e9 == pytest.approx(100 - (3 * 16 - 1), abs=0.9)


def test_bare_markers_behind_a_filter_count_for_no_estimate_of_the_scheduler():
    # One call in a hundred is near, and each has a marker.
    rows = np.zeros((10 * ROWS, 3), dtype=np.int64)
    rows[::100] = (1, 3, 5)
    passed = len(rows[::100])
    wanted = run_serially(PIPELINE, rows)
    for worklist, scheduler in product(range(3), (3, 4)):
        state = running.state_of(
            PIPELINE, rows, len(wanted), setting=Setting(worklist, 0, 0), scheduler=scheduler,
            marker_every=1,
        )  # fmt: skip
        running.run_state(FUNCTIONS, state, 1)
        assert running.kept(state, 1) == wanted
        assert state.sink.words[MARKERS] == len(rows)
        assert look(state.board, 0, INPUTS) == len(rows)
        assert look(state.board, 0, OUTPUTS) == look(state.board, 1, INPUTS) == passed
        # Each incoming call produces an output; the flush at the end adds the count.
        assert look(state.board, 1, SELECTIVITY) == ONE


def test_a_table_without_room_ends_the_run():
    small = PIPELINE.operators[3]._replace(table_rows=2)
    pipeline = PIPELINE._replace(operators=(*PIPELINE.operators[:3], small, PIPELINE.operators[4]))
    with pytest.raises(
        run_threads.RunFailed, match="a partition counts more keys than its table has"
    ):
        run_in_threads(Functions(pipeline), CALLS, len(WANTED), partitions=1)


def test_a_function_without_room_ends_the_run():
    refused = np.concatenate([CALLS[:5], [[-1, 0, 0]], CALLS[5:]])
    with pytest.raises(run_threads.RunFailed, match="an operator's state has no room for a record"):
        run_in_threads(FUNCTIONS, refused, len(WANTED), workers=2)
    with pytest.raises(UsageError, match="operator 'near': its state has no room"):
        run_serially(PIPELINE, refused)


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("phone", [-1, PHONES, 1 << 40])
def test_a_key_that_its_operator_does_not_have_ends_the_run(phone, split):
    wrong = CALLS.copy()
    wrong[ROWS // 2] = 1, phone, 0
    with pytest.raises(run_threads.RunFailed, match="key is below 0, or not below its `keys`"):
        run_in_threads(FUNCTIONS, wrong, len(WANTED), workers=2, setting=Setting(0, 0, split))
    with pytest.raises(AssertionError, match="answered -5"):
        run_serial_kernel(FUNCTIONS, wrong, len(WANTED))
    with pytest.raises(UsageError, match=f"the key {phone}, and keys are from 0 to {PHONES - 1}"):
        run_serially(PIPELINE, wrong)


def test_more_outputs_than_there_may_be_end_the_run():
    wrong = np.concatenate([CALLS[:5], [[FAR_AWAY, 0, 0]], CALLS[5:]])
    with pytest.raises(run_threads.RunFailed, match="more outputs of a record than its `most`"):
        run_in_threads(FUNCTIONS, wrong, len(WANTED), workers=2)
    with pytest.raises(AssertionError, match="answered -6"):
        run_serial_kernel(FUNCTIONS, wrong, len(WANTED))
    with pytest.raises(UsageError, match="operator 'near': made 2 outputs of a record, and may 1"):
        run_serially(PIPELINE, wrong)


@pytest.mark.parametrize(
    ("place", "status", "told"),
    [(LOST, -4, "has no room for a record"), (LOST - 1, -6, "more outputs of a record than")],
)
def test_a_flush_that_fails_ends_the_run(place, status, told):
    wrong = np.concatenate([CALLS, [[1, 3, place]]])
    for workers in (1, 2):
        with pytest.raises(run_threads.RunFailed, match=told):
            run_in_threads(FUNCTIONS, wrong, len(WANTED) + 9, workers=workers)
    with pytest.raises(AssertionError, match=f"answered {status}"):
        run_serial_kernel(FUNCTIONS, wrong, len(WANTED) + 9)
    with pytest.raises(UsageError, match="operator 'moved'"):
        run_serially(PIPELINE, wrong)


def test_a_function_that_raises_ends_the_run():
    wrong = np.concatenate([CALLS[:5], [[FAR_AWAY + 1, 0, 0]], CALLS[5:]])
    with pytest.raises(run_threads.RunFailed, match=r"worker \d failed: ValueError: no such area"):
        run_in_threads(FUNCTIONS, wrong, len(WANTED), workers=2)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("buffer", [0, 1])
def test_a_key_that_raises_ends_the_run_and_leaves_no_lock_taken(buffer, workers):
    # Once, the sender computed a record's key while holding the mutex, and other workers about to
    # send waited for it. All workers are busy only in the middle of a long stream.
    wrong = np.tile(CALLS, (1 if INTERPRETED else 200, 1))
    wrong[3 * len(wrong) // 4] = 1, NO_PHONE, 0
    for _ in range(1 if INTERPRETED else 5):
        with pytest.raises(
            run_threads.RunFailed, match=r"^worker \d failed: ValueError: no such phone$"
        ):
            run_in_threads(FUNCTIONS, wrong, len(WANTED), workers=workers,
                           setting=Setting(0, buffer, 0))  # fmt: skip
    agree(workers, 16, 5, 0, buffer, 0)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_that_look_in_vain_make_no_progress(workers):
    state = running.state_of(PIPELINE, CALLS, len(WANTED), workers=workers)
    # Falsely marked as having no room for outputs: no worker is ever sent there.
    state.stages[0].words[BLOCKED] = 1
    with pytest.raises(run_threads.Stalled, match=r"worker 0 at 0 \(sent nowhere\)"):
        running.run_state(FUNCTIONS, state, workers, stall_seconds=0.3, limit_seconds=10)


def test_nothing_comes_of_nothing_but_what_is_flushed():
    dropped = np.zeros((20, 3), dtype=np.int64)
    assert run_in_threads(FUNCTIONS, dropped, 2, workers=2) == [(0,)]


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (Operator("x", 7, near, outputs=2), "has kind 7; kinds are stateless"),
        (
            Operator("x", STATELESS, near, outputs=0),
            "outputs must be between 1 and 256",
        ),
        (Operator("x", STATELESS, near, outputs=1, row_words=3), "is stateless and has a state"),
        (Operator("x", PARTITIONED, near, outputs=1), "is partitioned stateful and has no key"),
        (Operator("x", STATEFUL, near, outputs=1, key=phone_of), "is stateful and has a key"),
        (Operator("x", STATELESS, near, outputs=1, most=0), "most must be between 1 and 16384"),
        (
            Operator("x", STATEFUL, near, outputs=1, row_starts=np.array([0, 4])),
            "has row_starts, which are of a partitioned operator without a table",
        ),
    ],
)
def test_a_pipeline_that_could_not_run_is_refused_by_name(operator, message):
    with pytest.raises(UsageError, match=message):
        Pipeline("p", 3, (operator,)).check()


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ([0, 4], "row_starts must begin with 0, not decrease, and be one more than the 2 keys"),
        ([0, 4, 3], "row_starts must begin with 0, not decrease"),
        ([1, 2, 3], "row_starts must begin with 0, not decrease"),
        ([0, 1, (1 << 30) + 1], "its state has 1073741825 words, and may have 1073741824"),
    ],
)
def test_rows_that_are_no_good_are_refused(starts, message):
    operator = Operator("x", PARTITIONED, near, outputs=1, key=phone_of, keys=2)
    with pytest.raises(UsageError, match=message):
        Pipeline("p", 3, (operator._replace(row_starts=np.array(starts)),)).check()


def test_a_chain_calls_the_function_of_a_place():
    def answering(number):
        @inlined
        def answer(offset):
            return number + offset

        return answer

    # The compiler's calls nest up to a limit: a chain of 40 is halved, and halved again.
    for length in (3, 40):
        call = chain([answering(7 * place) for place in range(length)])
        found = kernel(lambda place, offset, call=call: call(place, offset))
        assert [found(place, 2) for place in range(length)] == [7 * n + 2 for n in range(length)]


def test_a_pipeline_has_operators():
    with pytest.raises(UsageError, match="pipeline p has no operators; give one or more"):
        Pipeline("p", 3, ()).check()
