"""Changes between two sets: every mark once, the two conditions of a change, the order."""

from __future__ import annotations

import pytest

from experiments.judging import changes
from experiments.judging.changes import MARKS, Change
from experiments.judging.floors import floors_of
from tests.invented import PAPER, equal_runs, open_row, row, two
from tests.quiet import floors

SIX = {"repetitions": 6}


def compared(before, after, floor=None):
    """Return the changes between the rows of two sets; equal runs differ by 1.1 times."""
    return changes.changes({PAPER: before}, {PAPER: after}, floors(1.1) if floor is None else floor)


def marks(found, quantity="throughput_tps"):
    return {each.variant: each.mark for each in found if each.quantity == quantity}


def the(found, variant, quantity="throughput_tps"):
    (one,) = [each for each in found if (each.variant, each.quantity) == (variant, quantity)]
    return one


def test_a_rate_that_halves_is_worse_and_one_that_doubles_is_better():
    found = compared(two(**SIX), two(mq=0.5e6, tumlsc=4e6, **SIX))
    assert marks(found) == {"mq": "worse", "tumlsc": "better"}
    one = the(found, "mq")
    assert (one.ratio, one.times) == (pytest.approx(0.5), pytest.approx(2.0))
    assert one.reach == (pytest.approx(0.5), pytest.approx(0.5))
    # The floor of a rate is that of medians of six runs, and of a latency that of single ones.
    assert one.floor == pytest.approx(1.1 ** (1 / 6) ** 0.5)
    assert one.over_floor == pytest.approx(2 / one.floor)
    assert the(found, "mq", "latency_ms_mean").floor == pytest.approx(1.1)
    assert "inputs=20" in one.settings and f"{PAPER} 13" in one.figures


def test_a_latency_that_doubles_is_worse():
    before, after = (
        [open_row("13", "mq", 20, ms, repetition=n) for n in range(1, 7)] for ms in (5.0, 10.0)
    )
    found = compared(before, after)
    assert marks(found, "latency_ms_mean") == {"mq": "worse"}
    assert the(found, "mq", "latency_ms_mean").rate_fraction == 0.7
    # The floor of latencies is that of means.
    assert not any("p99" in each.quantity for each in found)


def test_equal_values_are_alike():
    found = compared(two(**SIX), two(**SIX))
    assert {each.mark for each in found} == {"alike"}


def test_a_clear_interval_within_the_noise_floor_is_no_change():
    found = compared(two(**SIX), two(mq=0.92e6, **SIX), floors(1.5))
    assert marks(found)["mq"] == "cannot tell"
    assert the(found, "mq").note == changes.IN_NOISE
    assert marks(compared(two(**SIX), two(mq=0.92e6, **SIX), floors(1.1)))["mq"] == "worse"


def test_a_ratio_beyond_the_floor_whose_interval_holds_1_is_no_change():
    rates = (0.4e6, 1.1e6, 0.5e6, 1.3e6, 0.6e6, 1.2e6)
    after = [
        row("13", "mq", 20, repetition=n, throughput_tps=rate) for n, rate in enumerate(rates, 1)
    ]
    before = [row("13", "mq", 20, repetition=n) for n in range(1, 7)]
    one = the(compared(before, after), "mq")
    assert one.times > 1.1 and one.reach[0] < 1 < one.reach[1]
    assert one.mark == "cannot tell"


def test_a_change_needs_a_known_floor():
    before, after = two(repetitions=2), two(mq=0.5e6, repetitions=2)
    assert marks(compared(before, after))["mq"] == "worse"
    # No equal runs: nobody knows by how much those differ, and an interval alone decides nothing.
    assert marks(compared(before, after, floors_of([])))["mq"] == "cannot tell"
    one = the(compared(two(**SIX), two(mq=0.5e6, **SIX), floors_of([])), "mq")
    assert (one.mark, one.note) == ("cannot tell", changes.NO_FLOOR)


def test_the_larger_floor_of_both_sets_counts():
    quiet, noisy = (floors_of(equal_runs(times)) for times in (1.02, 1.5))
    for both in ((quiet, noisy), (noisy, quiet)):
        assert changes.wider(*both).of("throughput_tps", False).factor == pytest.approx(1.5)


def test_runs_that_begin_to_fail_are_broken_and_the_reason_is_there():
    wrong = {"valid": False, "invalid_reason": "window 3 differs"}
    failing = [each | (wrong if each["repetition"] == 2 else {}) for each in two(**SIX)]
    one = the(compared(two(**SIX), failing), "mq", changes.RUNS)
    assert (one.mark, one.before) == ("broken", 0.0)
    assert one.note == "2 of 12 runs failed: window 3 differs"
    assert the(compared(failing, two(**SIX)), "mq", changes.RUNS).mark == "mended"
    # A setting without any valid run is broken once, and not missing as well.
    none = [each | wrong for each in two(**SIX)]
    assert {each.quantity for each in compared(two(**SIX), none)} == {changes.RUNS}


def test_a_setting_of_which_some_runs_failed_and_now_all_do_is_broken():
    wrong = {"valid": False, "invalid_reason": "window 3 differs"}
    some = [each | (wrong if each["repetition"] == 2 else {}) for each in two(**SIX)]
    none = [each | wrong for each in two(**SIX)]
    assert the(compared(some, none), "mq", changes.RUNS).mark == "broken"
    assert the(compared(none, some), "mq", changes.RUNS).mark == "mended"
    # One that failed once and is missing now is said to be missing.
    alone = [each for each in two(**SIX) if each["variant"] == "tumlsc"]
    assert marks(compared(some, alone))["mq"] == "only before"


def test_a_setting_of_one_set_only_is_listed_as_such():
    alone = [each for each in two(**SIX) if each["variant"] == "mq"]
    assert marks(compared(two(**SIX), alone)) == {"mq": "alike", "tumlsc": "only before"}
    assert marks(compared(alone, two(**SIX))) == {"mq": "alike", "tumlsc": "only after"}


def test_values_of_other_data_are_not_compared():
    one = the(compared(two(**SIX), two(dataset_digest="cd" * 8, **SIX)), "mq")
    assert (one.mark, one.ratio) == ("other data", None)
    assert "ab" * 8 in one.note and "cd" * 8 in one.note


def test_counts_have_no_floor_and_are_not_compared_but_the_state_is():
    found = compared(two(**SIX), two(outputs=9_000, state_bytes=7 << 20, **SIX))
    assert {each.mark for each in found if each.quantity != "state_mib"} == {"alike"}
    assert marks(found, "state_mib") == {"mq": "worse", "tumlsc": "worse"}
    assert "outputs_per_tuple" not in {each.quantity for each in found}


def test_the_most_severe_comes_first():
    after = two(mq=0.8e6, tumlsc=0.5e6, **SIX)
    found = [each for each in compared(two(**SIX), after) if each.quantity == "throughput_tps"]
    assert [each.variant for each in found] == ["tumlsc", "mq"]
    assert found[0].over_floor > found[1].over_floor
    order = [Change(mark, "f", "v", "", "q", "", None, 1.0, 1.0) for mark in reversed(MARKS)]
    assert [each.mark for each in sorted(order, key=lambda c: c.severity)] == list(MARKS)


def test_the_summary_has_every_mark_also_those_without_a_value():
    told = changes.summary(compared(two(**SIX), two(mq=0.5e6, **SIX)))
    assert [line["mark"] for line in told] == list(MARKS)
    worse = told[MARKS.index("worse")]
    assert (worse["values"], worse["times"]) == (1, pytest.approx(2.0))
    assert told[0] == {"mark": "broken", "values": 0, "times": None, "least": None, "most": None}


def test_the_reference_says_how_fast_the_machine_was():
    before, after = (
        [row("13", "mq", 1, phase="reference", throughput_tps=rate)] for rate in (1e6, 0.8e6)
    )
    assert changes.reference_ratio(before, after) == pytest.approx(0.8)
    assert changes.reference_ratio(before, []) is None
