"""Ratios, gains and floors are taken between runs of one state: cores near, or far."""

from __future__ import annotations

import pytest

from experiments.judging.floors import equal_pairs, floors_of
from experiments.judging.pairs import APART, BY_SUSTAINED
from experiments.judging.points import Ways, of_one_state
from experiments.records.statistics import INTERVAL
from tests.invented import floors, judged, points_in, row

NEAR, FAR = 60.0, 270.0


def around(before, after=None):
    """Return the columns of a run with these core distances before and after it."""
    after = before if after is None else after
    return {
        "transfer_before_ns": before,
        "transfer_after_ns": after,
        "transfer_ns": max(before, after),
    }


def rivals(ways, slow=2.0):
    """Return a run of MQ and of TuMLSC for each process, `slow` times as slow where far."""
    rows = []
    for number, each in enumerate(ways, 1):
        for line, way, rate in zip(("mq", "tumlsc"), each, (1e6, 1.5e6), strict=True):
            told = around(*way) if isinstance(way, tuple) else around(way)
            tps = rate / (slow if told["transfer_ns"] > 100 else 1)
            rows.append(row("13", line, 20, repetition=number, throughput_tps=tps, **told))
    return rows


@pytest.mark.parametrize(
    ("each", "wanted"),
    [
        ([Ways(60, 61), Ways(58, 70)], True),
        ([Ways(60, 61), Ways(250, 270)], False),
        ([Ways(60, 270), Ways(61, 272)], False),
        # A run that is compared with a formula alone.
        ([Ways(60, 270)], True),
        ([Ways(60, 61), None], True),
        ([None, None], True),
    ],
)
def test_runs_are_of_one_state_where_all_ways_are_alike(each, wanted):
    assert of_one_state(each) is wanted


def test_a_ratio_is_taken_between_runs_of_one_state():
    mixed = [(NEAR, NEAR), (FAR, FAR)] * 3 + [(NEAR, FAR), (FAR, NEAR)]
    found = judged(rivals(mixed))
    (part,) = found["parts"]
    # Without the two processes in which only one variant was far, the ratios are all the same.
    assert (part["ratio"], part["low"], part["high"]) == pytest.approx((1.5, 1.5, 1.5))
    assert found["interval_kind"] == INTERVAL and part["note"] == ""


def test_where_too_few_are_of_one_state_all_ratios_are_taken():
    found = judged(rivals([(NEAR, NEAR)] * 3 + [(NEAR, FAR), (FAR, NEAR), (FAR, FAR)]))
    assert found["interval_kind"] == INTERVAL
    assert found["parts"][0]["note"] == f"{APART} in 2 of 6" and APART in found["reason"]
    low, high = found["interval"]
    assert low < 1.1 and high > 1.9


def test_where_states_differ_and_no_interval_can_be_nothing_is_told():
    found = judged(rivals([(NEAR, FAR), (FAR, NEAR)]))
    assert found["direction"] == "cannot tell" and found["reach"] is None


def test_a_process_without_a_common_round_is_of_one_state_or_none():
    rows = [*rivals([(NEAR, NEAR)] * 5), *rivals([(NEAR, NEAR)])]
    for each in rows[-2:]:
        each["repetition"] = 6
    rows[-1] |= {"round": 2, **around(FAR), "throughput_tps": 0.75e6}
    found = judged(rows)
    assert found["parts"][0]["note"] == f"{APART} in 1 of 6"


def test_a_long_run_averages_over_the_states():
    rows = [each | {"seconds": 2.0} for each in rivals([(NEAR, FAR), (FAR, NEAR)], slow=1.0)]
    found = judged(rows, floor=floors(1.01))
    assert (found["direction"], found["parts"][0]["note"]) == ("holds", "")


def test_one_thread_is_of_any_state():
    rows = [
        *(row("13", "mq", 1, threads=1, repetition=n) for n in (1, 2)),
        *(row("13", "tumlsc", 1, repetition=n, throughput_tps=2e6, **around(way))
          for n, way in ((1, NEAR), (2, FAR))),
    ]  # fmt: skip
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": 1}}
    assert judged(rows, reads=reads)["parts"][0]["ratio"] == pytest.approx(2)


def test_gains_are_of_one_state_too():
    rows = [
        *rivals([(NEAR, NEAR)] * 6 + [(NEAR, FAR)]),
        *(each | {"settings": each["settings"] | {"inputs": 4}}
          for each in rivals([(NEAR, NEAR)] * 7)),
    ]  # fmt: skip
    claim = {
        "comparator": "steeper",
        "reads": {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "all"}},
    }
    (part,) = judged(rows, **claim)["parts"]
    assert part["ratio"] == pytest.approx(1)


def test_equal_runs_are_of_one_state():
    ways = [NEAR, NEAR, FAR, FAR, NEAR]
    rows = [row("13", "mq", 20, round=n, **around(way)) for n, way in enumerate(ways, 1)]
    assert [(one["round"], other["round"]) for _, one, other in equal_pairs(rows)] == [
        (1, 2), (3, 4),
    ]  # fmt: skip
    process = {"phase": "reference", "repetition": 1}
    rows = [
        row("13", "mq", 20, group=f"g{n}", **process, **around(NEAR if n % 2 else FAR))
        for n in range(10)
    ]
    (between,) = floors_of(rows).records()
    # Of the 45 pairs of ten processes twenty are of one state.
    assert between["pairs"] == 20


def test_rows_of_before_have_one_way():
    (point, *_) = points_in("13", [row("13", "mq", 20, transfer_ns=FAR)])
    assert point.ways == {(1, 1): (FAR, FAR)}


# --- rates that were searched ---------------------------------------------------------------------


def searched(line, closed, low, high, processes=6):
    """Return closed runs of a line and the bracket of the sustained rate, by the first process."""
    bracket = {"phase": "sustained", "bracket_low_tps": low, "bracket_high_tps": high, "probes": 5}
    rows = [
        row("13", line, 20, repetition=n, throughput_tps=closed) for n in range(1, processes + 1)
    ]
    return [*rows, row("13", line, 20, throughput_tps=low, **bracket)]


def test_rates_that_were_searched_are_compared_by_their_brackets():
    # 0.8 times by closed loops, twice by sustained rates.
    rows = [*searched("mq", 5e6, 1.95e6, 2.05e6), *searched("tumlsc", 4e6, 3.9e6, 4.1e6)]
    found = judged(rows, floor=floors(1.01))
    (part,) = found["parts"]
    assert part["ratio"] == pytest.approx(2, rel=0.01) and part["note"] == BY_SUSTAINED
    assert found["direction"] == "holds"
    # The reach is that of both brackets together.
    assert found["reach"] == pytest.approx([2 / 1.052, 2 * 1.052], rel=0.01)


def test_wide_brackets_leave_it_open():
    rows = [*searched("mq", 5e6, 1e6, 4e6), *searched("tumlsc", 4e6, 2e6, 8e6)]
    assert judged(rows, floor=floors(1.01))["direction"] == "cannot tell"


@pytest.mark.parametrize("high", [None, "closed"])
def test_a_rival_without_a_closed_bracket_is_compared_by_closed_loops(high):
    rows = [*searched("mq", 5e6, 1.9e6, 2.1e6), *searched("tumlsc", 4e6, 3.9e6, None)]
    if high == "closed":
        rows = [each for each in rows if each["phase"] != "sustained" or each["variant"] == "mq"]
    (part,) = judged(rows)["parts"]
    assert part["ratio"] == pytest.approx(0.8)


# --- points that are of two states ----------------------------------------------------------------


def throughput_of(rows):
    (point,) = (p for p in points_in("13", rows) if p.quantity == "throughput_tps")
    return point


def test_a_point_is_of_two_states_where_both_were_seen_and_differ():
    slices = [(NEAR, 4e6), (NEAR, 4e6), (FAR, 2e6), (FAR, 2e6), ((NEAR, FAR), 3e6)]
    rows = [
        row("13", "mq", 20, repetition=n, throughput_tps=tps,
            **(around(*way) if isinstance(way, tuple) else around(way)))
        for n, (way, tps) in enumerate(slices, 1)
    ]  # fmt: skip
    assert throughput_of(rows).of_two_states == pytest.approx((4e6, 2e6))
    # One run of a state is not enough, nor do two equal states count.
    assert throughput_of(rows[:3]).of_two_states is None
    alike = [each | {"throughput_tps": 4e6} for each in rows]
    assert throughput_of(alike).of_two_states is None
    assert throughput_of([row("13", "mq", 1, threads=1)]).of_two_states is None
