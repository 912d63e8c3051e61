"""What is special about the W-Hive and its winsets: races, passing, reach, and use of places again.

That the variants on it put out what the oracle does is tested in ``tests/contract``. Here every
order in which a few threads can take their steps is tried, up to a number of preemptions
(``tests.operators.core.schedules``), at capacities small enough that races meet.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.aggregation import shared_winsets, tumlmc, w_hive, w_hive_state, wiml
from operators.aggregation.plan import make_plan
from operators.aggregation.reference import rows_of
from operators.aggregation.sink import take_rows
from operators.contract import (
    ACCEPTED,
    END,
    FULL,
    NOT_READY,
    OUT_OF_ORDER,
    READY,
    ROWS_FULL,
    UsageError,
)
from operators.core import marks
from operators.core.layout import LINE_WORDS
from tests.operators.core.schedules import explore

KEYS = 4


def wiml_state(function="count", size=4, advance=2, inputs=2, levels=2, winsets_ahead=1):
    plan = make_plan(function, size, advance, KEYS, rows_capacity=64)
    return wiml.make_state(plan, inputs, 1, levels, winsets_ahead)


def caller(state):
    """Return ``call(name, arguments)`` on WiML's operations, with the state as an attribute."""

    def call(name, arguments):
        return getattr(wiml, name)(state, *arguments)

    call.state = state
    return call


def adds(stream, *tuples):
    return [("add", (stream, timestamp, key, value)) for timestamp, key, value in tuples]


def undelivered(program, thread, operations):
    """Return the tuples of a program that were not taken: those after the ones that were."""
    taken = sum(o.thread == thread and o.answer == ACCEPTED for o in operations)
    return [arguments for _, arguments in program][taken:]


def finish(state, left):
    """Deliver what is left of each stream, in its order, close it, and return all rows."""
    streams = len(left)
    blocks = []
    for _ in range(1_000):
        for stream in range(streams):
            while left[stream] and wiml.add(state, *left[stream][0]) == ACCEPTED:
                left[stream].pop(0)
            if not left[stream]:
                wiml.close(state, stream)
        status = wiml.process(state)
        if status == ROWS_FULL:
            blocks.append(take_rows(state.windows.sink))
        if status == END:
            w_hive_state.check_invariants(state.windows)
            blocks.append(take_rows(state.windows.sink))
            return np.concatenate(blocks).tolist()
    raise AssertionError("no end")


def rows_wanted(programs, function="count", size=4, advance=2):
    plan = make_plan(function, size, advance, KEYS)
    delivered = [arguments for program in programs for name, arguments in program if name == "add"]
    in_order = sorted(
        (timestamp, stream, key, value) for stream, timestamp, key, value in delivered
    )
    return [list(row) for row in rows_of(plan, [(t, k, v) for t, _, k, v in in_order])]


def try_every_order(programs, preemptions, **given):
    """Run every schedule to its end, compare rows with the definition, return the marks reached."""
    shape = {name: given[name] for name in ("function", "size", "advance") if name in given}
    wanted = rows_wanted(programs, **shape)
    marks.hits.clear()
    for choices, operations, call in explore(
        lambda: caller(wiml_state(**given)), programs, preemptions
    ):
        left = [undelivered(program, t, operations) for t, program in enumerate(programs)]
        assert finish(call.state, left) == wanted, choices
    return marks.hits


# --- winsets -------------------------------------------------------------------------------------


def test_two_threads_link_one_key_once():
    programs = [adds(0, (0, 1, 5)), adds(1, (0, 1, 7))]
    hits = try_every_order(programs, 2, size=2, winsets_ahead=2)
    assert hits["shared_winsets: another thread linked the key first"]
    assert hits["shared_winsets: slot lost"]


def test_keys_of_one_bucket_are_all_linked_in_order(monkeypatch):
    for module in (w_hive, shared_winsets):
        monkeypatch.setattr(module, "home_row", lambda winsets, key: 0)
    for first, second in ((1, 2), (2, 1)):
        programs = [adds(0, (0, 0, 1), (0, first, 1)), adds(1, (0, second, 1))]
        hits = try_every_order(programs, 2, size=2, winsets_ahead=2)
        assert hits["shared_winsets: link lost"]


@pytest.mark.parametrize("function", ["sum", "min", "max", "avg"])
def test_no_update_of_a_shared_window_is_lost(function):
    large = 1 << 40
    programs = [adds(0, (0, 1, -large), (0, 1, 3)), adds(1, (0, 1, large + 1))]
    hits = try_every_order(programs, 1, function=function, size=2, winsets_ahead=2)
    if function in ("min", "max"):
        assert hits["window_functions: another value was kept meanwhile"]


def test_a_freed_slot_is_claimed_again():
    state = wiml_state(size=2)
    hive = state.windows
    winsets = hive.winsets
    row = shared_winsets.home_row(winsets, 1)
    tag = (1 << winsets.key_bits) | 1
    slot, old = shared_winsets.claim_slot(winsets, row, 0, 1, tag)
    beside, _ = shared_winsets.claim_slot(winsets, row, 0, 1, tag)
    assert slot != beside
    winsets.tags[slot] = old
    assert shared_winsets.claim_slot(winsets, row, 0, 1, tag)[0] == slot


# --- the list ------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_winset_that_two_threads_make_is_there_once(levels):
    programs = [adds(0, (0, 0, 1), (2, 0, 1)), adds(1, (2, 1, 1))]
    hits = try_every_order(programs, 1, levels=levels, winsets_ahead=3)
    assert hits["w_hive: another thread made it first"]


def test_neighbours_made_at_once_are_both_linked():
    programs = [adds(0, (2, 0, 1)), adds(1, (0, 1, 1))]
    hits = try_every_order(programs, 2, size=2, levels=2, winsets_ahead=3)
    assert hits["w_hive: level lost"]


def test_the_output_thread_takes_no_winset_too_early_and_loses_none():
    # Input 0 has made winset 1 and passed it; input 1 makes winset 0 and passes both. A reader that
    # looks at the list before it looks at ``written`` puts out winset 1 and never winset 0.
    first = adds(0, (2, 0, 1), (4, 0, 1))
    second = adds(1, (0, 1, 1), (4, 1, 1))

    def make():
        state = wiml_state(size=2, levels=1, winsets_ahead=3)
        for _, arguments in first:
            assert wiml.add(state, *arguments) == ACCEPTED
        return caller(state)

    wanted = rows_wanted([first, second], size=2)
    for choices, operations, call in explore(make, [second, [("process", ()), ("process", ())]], 2):
        left = [[], undelivered(second, 0, operations)]
        assert finish(call.state, left) == wanted, choices


def test_nothing_is_put_out_before_every_thread_has_reported():
    state = wiml_state(size=2, winsets_ahead=3)
    assert wiml.add(state, 0, 0, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 9, 0, 0) == FULL  # input 1 has reported nothing: out of reach
    assert wiml.process(state) == NOT_READY
    assert wiml.add(state, 1, 9, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 9, 0, 0) == ACCEPTED
    assert [wiml.process(state) for _ in range(2)] == [READY, NOT_READY]


def test_a_thread_out_of_reach_waits_for_the_slowest_one():
    state = wiml_state(size=2, winsets_ahead=1)
    assert wiml.add(state, 1, 0, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 2, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 4, 0, 0) == FULL
    assert wiml.add(state, 1, 3, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 4, 0, 0) == ACCEPTED


def test_a_leap_of_all_threads_finds_places():
    state = wiml_state(size=6, advance=2, winsets_ahead=1)
    clock = 0
    for _ in range(50):
        clock += 10**12 + 1
        for stream in (0, 1):
            for _ in range(10):
                if wiml.add(state, stream, clock, 0, 0) == ACCEPTED:
                    break
                wiml.process(state)
                take_rows(state.windows.sink)
            else:
                # The other one has to leap as well.
                assert stream == 0 and wiml.add(state, 1, clock, 0, 0) in (ACCEPTED, FULL)
    w_hive_state.check_invariants(state.windows)


def test_places_are_used_again_without_end_and_none_is_lost():
    hive_state = wiml_state(size=6, advance=2, inputs=1, levels=3, winsets_ahead=1)
    hive = hive_state.windows
    for timestamp in range(500):
        while wiml.add(hive_state, 0, timestamp, timestamp % KEYS, 0) == FULL:
            assert wiml.process(hive_state) == READY
        take_rows(hive.sink)
        w_hive_state.check_invariants(hive)
    generations = hive.nodes.reshape(-1, hive.stride)[: hive.places, w_hive_state.GENERATION]
    assert generations.min() > 500 // 2 // hive.places - 5


def test_a_pinned_search_keeps_its_nodes():
    state = wiml_state(size=2, advance=2, inputs=2, levels=1, winsets_ahead=1)
    hive = state.windows
    wiml.close(state, 1)
    hive.pins[LINE_WORDS] = 0  # thread 1 is inside a search that began before anything moved
    marks.hits.clear()
    timestamp = 0
    while marks.hits["w_hive: no place"] < 10:
        if wiml.add(state, 0, timestamp, 0, 0) == ACCEPTED:
            timestamp += 2
        wiml.process(state)
        take_rows(hive.sink)
    assert marks.hits["w_hive: pinned"]
    assert hive.nodes.reshape(-1, hive.stride)[:, w_hive_state.USED].all()
    hive.pins[LINE_WORDS] = w_hive_state.UNPINNED
    for _ in range(2):  # up to the old boundary, then up to where the head is by now
        wiml.process(state)
    assert wiml.add(state, 0, timestamp, 0, 0) == ACCEPTED
    w_hive_state.check_invariants(hive)


# --- variants ------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["first", "first-mail", "first-mail-ip"])
def test_wiml_refuses_what_depends_on_order(function):
    plan = make_plan(function, 4, 2, KEYS)
    with pytest.raises(UsageError, match=f"cannot do {function}, .* take tumlsc or tumlmc"):
        wiml.make_state(plan, 2, 1, 2, 1)


def test_an_input_that_goes_back_in_time_is_refused():
    state = wiml_state(inputs=1)
    assert wiml.add(state, 0, 5, 0, 0) == ACCEPTED
    assert wiml.add(state, 0, 4, 0, 0) == OUT_OF_ORDER
    assert wiml.close(state, 0) == ACCEPTED
    assert wiml.add(state, 0, 5, 0, 0) == OUT_OF_ORDER


def test_update_threads_without_keys_hold_nothing():
    # One key and eight update threads: seven of them own nothing and still have to report.
    plan = make_plan("first", 4, 2, 1, rows_capacity=8)
    state = tumlmc.make_state(plan, 1, 8, 8, 2, 1)
    rows = []
    timestamp = 0
    while timestamp <= 40:
        if tumlmc.add(state, 0, timestamp, 0, timestamp) == ACCEPTED:
            timestamp += 1
        for thread in range(8):
            tumlmc.update(state, thread)
        while tumlmc.process(state) == READY:
            rows += take_rows(state.windows.sink)[:, 2].tolist()
    # Tuple 39 is the last that is ready; windows that end before it are out, each with its first.
    assert rows == list(range(0, 2 * len(rows), 2)) and len(rows) >= 17


def test_each_key_has_one_update_thread_and_threads_share_them():
    owners = [
        [tumlmc.update_thread_of(key, threads) for key in range(1_000)] for threads in (1, 3, 7)
    ]
    for threads, found in zip((1, 3, 7), owners, strict=True):
        assert set(found) == set(range(threads))
        assert min(map(found.count, range(threads))) > 1_000 / threads * 0.7
