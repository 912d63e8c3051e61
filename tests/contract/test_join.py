"""The requirements on every window join, on one thread or several: the one suite.

The pairs must equal those of a nested loop, over windows of count and of time, tuple by tuple in
the order of arrival.
"""

from __future__ import annotations

import itertools
from itertools import product

import numpy as np
import pytest

from operators import registry
from operators.contract import END, UsageError, Variant
from operators.core.jit import INTERPRETED
from operators.join.family import COUNT, FOUND
from operators.join.feed import in_turns
from tests import covering
from tests.contract.suite import Suite
from tests.covering import taken
from tests.operators.join.parameters import SETTINGS
from tests.operators.join.running import feed_of, join, make_given

JOINS = registry.variants("join")
SUITE = Suite("join")
WINDOWS = (1, 2, 5, 64, 257)
INT32 = np.iinfo(np.int32)


def pairs_of(variant: Variant, window, half_width, sides, keys, times=None, span=0, **own):
    """Return the partners of each tuple, sorted."""
    two_way = len(sides) > 0 and bool(sides.max())
    operations = variant.operations
    state = operations.make_state(window, half_width, two_way=two_way, span=span, **own)
    given = make_given(len(keys), window)
    join(operations, operations.make_step(**own), state, feed_of(sides, keys, times), given)
    operations.check_invariants(state)
    return [sorted(each) for each in given.lists()]


def wanted(window, half_width, sides, keys, times=None, span=0, two_way=True):
    """Return the expected partners from a loop over all earlier tuples of the other stream."""
    seen: list[list[tuple[int, int]]] = [[], []]
    found = []
    for place, (side, key) in enumerate(zip(sides.tolist(), keys.tolist(), strict=True)):
        other = seen[1 - side] if two_way else seen[0]
        inside = range(max(len(other) - window, 0), len(other)) if not span else range(len(other))
        answer = [
            n
            for n in inside
            if abs(other[n][0] - key) <= half_width
            and (not span or times[place] - other[n][1] <= span)
        ]
        found.append(answer)
        seen[side].append((key, 0 if times is None else times[place]))
    return found


def streams(count: int) -> dict[str, tuple[np.ndarray, int]]:
    random = np.random.default_rng(3)
    ends = [INT32.min, INT32.min + 1, -1, 0, INT32.max - 1, INT32.max]
    drifting = np.linspace(0, 1e6, count).astype(np.int64) + random.integers(0, 90_000, count)
    return {
        "random": (random.integers(-100_000, 100_000, count), 3_000),
        "tied": (random.integers(0, 9, count), 0),
        "equal": (np.full(count, 7), 5),
        "extreme": (random.choice(ends, count), 1),
        "widest": (random.integers(INT32.min, INT32.max, count), int(INT32.max)),
        "drifting": (drifting, 20_000),
    }


TUPLES = 260 if INTERPRETED else 1_500


@SUITE.case()
def a_join_finds_the_pairs_of_a_loop_over_everything(variant: Variant):
    for name, (keys, half_width) in streams(TUPLES).items():
        for two_way in (True, False):
            sides = np.random.default_rng(5).integers(0, 2 if two_way else 1, TUPLES)
            for window in WINDOWS if name in ("random", "tied") else (5, 64):
                expected = wanted(window, half_width, sides, keys, two_way=two_way)
                found = pairs_of(variant, window, half_width, sides, keys)
                assert found == expected, (name, two_way, window)


@SUITE.case()
def at_every_parameter_a_join_finds_the_same_pairs(variant: Variant):
    # With nodes of 4 a small window has every depth. That takes another kernel; some of the indexes
    # are tested with it compiled.
    sizes = taken((4, 32), always=(4 if INTERPRETED else 32,))
    has_nodes = "fan_out" in (each.name for each in variant.parameters)
    nodes = [{"fan_out": size} for size in sizes] if has_nodes else [{}]
    sides = np.random.default_rng(6).integers(0, 2, TUPLES)
    settings = SETTINGS[variant.id]
    for number, name in enumerate(("random", "tied", "drifting")):
        keys, half_width = streams(TUPLES)[name]
        # A join of tasks has many settings; each gets some of the keys.
        few = settings if covering.FULL or len(settings) < 9 else settings[number::3]
        for window in (1, 5, 257):
            expected = wanted(window, half_width, sides, keys)
            for own, of_nodes in product(few, nodes):
                found = pairs_of(variant, window, half_width, sides, keys, **of_nodes, **own)
                assert found == expected, (name, window, own, of_nodes)


@SUITE.case()
def windows_of_time_follow_the_clock(variant: Variant):
    # Bursts and silences: a window holds none, one or many, and several leave at once.
    random = np.random.default_rng(11)
    keys, half_width = streams(TUPLES)["random"]
    for two_way in (True, False):
        sides = random.integers(0, 2 if two_way else 1, TUPLES)
        times = np.cumsum(random.choice([0, 0, 1, 2, 40], TUPLES)).astype(np.int64)
        for span in (1, 30, 400):
            expected = wanted(0, half_width, sides, keys, times, span, two_way)
            found = pairs_of(variant, TUPLES, half_width, sides, keys, times, span)
            assert found == expected, (two_way, span)


@SUITE.case()
def a_window_of_time_has_no_more_room_than_it_is_given(variant: Variant):
    keys, sides = np.arange(40), np.zeros(40, int)
    # Twelve tuples within the span and room for twelve: each new tuple evicts one.
    found = pairs_of(variant, 12, 100, sides, keys, np.arange(40), span=11)
    assert [len(each) for each in found] == [min(place, 11) for place in range(40)]


@SUITE.case()
def a_band_may_be_wider_than_the_largest_key(variant: Variant):
    sides = np.array([0, 1, 0, 1, 0])
    keys = np.array([INT32.min, 5, INT32.max, INT32.min, -7])
    for half_width in (int(INT32.max), 3_000_000_000, 1 << 32, (1 << 63) - 1):
        expected = wanted(8, int(half_width), sides, keys)
        assert pairs_of(variant, 8, half_width, sides, keys) == expected


@SUITE.case()
def what_no_join_can_be_is_refused(variant: Variant):
    for given, message in (
        ({"window": 0, "half_width": 1}, "between 1 and"),
        ({"window": 8, "half_width": -1}, "half width is at least 0 and below .*, received -1"),
        ({"window": 8, "half_width": 1 << 63}, "half width is at least 0 and below .*, received 9"),
        ({"window": 8, "half_width": 1, "span": -2}, "ticks of a window"),
    ):
        with pytest.raises(UsageError, match=message):
            variant.operations.make_state(**given)


@SUITE.case()
def a_join_goes_on_with_the_next_feed(variant: Variant):
    # Alternating streams whose keys start over; the first tuples enter without being joined.
    keys, half_width = streams(TUPLES)["random"]
    r, s = keys[: TUPLES // 5], keys[TUPLES // 5 : 2 * TUPLES // 5]
    rows = np.arange(3 * len(r)) % len(r)
    operations, window = variant.operations, 33
    for two_way in (True, False):
        state = operations.make_state(window, half_width, two_way=two_way)
        given, step = make_given(2 * len(rows), window), operations.make_step()
        filled = len(r) // 2
        for end in (filled, len(r), len(rows)):
            feed = in_turns(r, s, end, two_way=two_way, probing=end > filled)
            join(operations, step, state, feed, given, seed=end)
        both = np.column_stack((r[rows], s[rows])[: 1 + two_way])
        sides = np.tile(np.arange(1 + two_way), len(rows))
        expected = wanted(window, half_width, sides, both.ravel(), two_way=two_way)
        found = [sorted(each) for each in given.lists()]
        filled *= 1 + two_way
        assert found[:filled] == [[]] * filled and found[filled:] == expected[filled:], two_way
        operations.check_invariants(state)


@SUITE.case()
def a_step_is_made_once(variant: Variant):
    # Kernels are cached by the step that they are made of.
    own = variant.settings({})
    assert variant.operations.make_step(**own) is variant.operations.make_step(**own)


def gives_no_order(variant: Variant) -> str | None:
    return None if variant.operations.ordered else "pairs come in no order"


@SUITE.case(gives_no_order)
def what_a_step_passes_to_on_output_and_what_it_finds_are_all_tuples_in_order(variant: Variant):
    operations, found = variant.operations, []

    def on_output(notes, output):
        notes[0] += 1
        found.append(sorted(output.partners[: output.words[COUNT]].tolist()))

    keys, half_width = streams(120)["tied"]
    for two_way, in_order in product((True, False), repeat=2):
        sides = np.arange(120) % 2 if in_order else np.random.default_rng(8).integers(0, 2, 120)
        sides = sides * two_way
        state = operations.make_state(9, half_width, two_way=two_way)
        step, notes = operations.make_step(None, on_output), np.zeros(1, np.int64)
        feed = feed_of(sides, keys)._replace(notes=notes)
        found.clear()
        ended: set[int] = set()
        for number in itertools.cycle(range(len(state.threads))):
            if number not in ended:
                status = step(state.shared, state.threads[number], state.output, feed)
                if status == FOUND:
                    on_output(notes, state.output)
                elif status == END:
                    ended.add(number)
            if len(ended) == len(state.threads):
                break
        assert found == wanted(9, half_width, sides, keys, two_way=two_way), (two_way, in_order)
        assert notes[0] == 120


@SUITE.case()
def a_state_has_an_entry_for_each_of_its_threads(variant: Variant):
    for own in SETTINGS[variant.id]:
        state = variant.operations.make_state(8, 1, **own)
        assert len(state.threads) == own.get("threads", 1) + variant.operations.collectors, own


@SUITE.case()
def a_join_says_whether_it_gives_pairs_in_order(variant: Variant):
    assert variant.operations.ordered != variant.order.startswith("none")


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(JOINS))
def test_contract(variant, case):
    case.body(variant)


def test_every_variant_has_a_case():
    assert SUITE.left_out(JOINS) == {}
