"""Clear and omitted pairs, from invented rows to the answer."""

from __future__ import annotations

import pytest

from experiments.judging.floors import BETWEEN, THROUGHPUT, Floors
from experiments.judging.pool import WITHIN
from tests.invented import DECLARED, floors, judged, open_row, row, two

PLACES = DECLARED["13"].x.values["paper"]
LATENCY = {"quantity": "latency_ms_mean", "direction": "lower"}


def of_ratios(*ratios, **given):
    """Return rows of TuMLSC over MQ at 20 inputs, a process for each ratio."""
    return [
        row("13", line, 20, throughput_tps=tps * 1e6, **{"repetition": process} | given)
        for process, ratio in enumerate(ratios, start=1)
        for line, tps in (("mq", 1.0), ("tumlsc", ratio))
    ]


# Clear pairs.


@pytest.mark.parametrize(
    ("ratios", "factor", "direction"),
    [
        # From six processes on the confidence interval decides, regardless of the noise floor.
        ((1.07, 1.08, 1.07, 1.08, 1.07, 1.08), 1.5, "holds"),
        # Values within 1.05 of each other are practically equal, however certain the difference.
        ((1.02, 1.03, 1.02, 1.03, 1.02, 1.03), 1.5, "does not hold"),
        ((1.04, 1.06, 1.04, 1.06, 1.04, 1.06), 1.5, "cannot tell"),
        ((0.97, 0.98, 0.97, 0.98, 0.97, 0.98), 1.5, "does not hold"),
        ((0.8, 1.3, 1.2, 0.9, 1.1, 1.2), 1.01, "cannot tell"),
        # With fewer: all processes must agree, by more than the noise floor.
        ((1.3, 1.4, 1.2), 1.2, "holds"),
        ((1.3, 1.4, 1.2), 1.4, "cannot tell"),
        ((1.5, 1.6, 0.99), 1.1, "cannot tell"),
        ((0.7, 0.8, 0.6), 1.2, "does not hold"),
        # A single value is compared with the noise floor only; without enough equal runs nothing
        # is.
        ((1.3,), 1.2, "holds"),
        ((1.3,), 1.4, "cannot tell"),
        ((9.9,), None, "cannot tell"),
    ],
)
def test_what_is_clear(ratios, factor, direction):
    found = judged(of_ratios(*ratios), floor=floors(factor) if factor else Floors({}))
    assert found["direction"] == direction


def test_of_one_process_every_round_must_lie_on_that_side():
    rows = [
        row("13", line, 20, repetition=1, round=number, throughput_tps=tps)
        for number, ratio in enumerate((1.5, 1.6, 1.4), start=1)
        for line, tps in (("mq", 1e6), ("tumlsc", ratio * 1e6))
    ]
    found = judged(rows, floor=floors(1.2))
    assert (found["direction"], found["interval_kind"]) == ("holds", "3 rounds of one process")
    rows[-1]["throughput_tps"] = 0.98e6
    assert judged(rows, floor=floors(1.2))["direction"] == "cannot tell"


def test_the_reason_says_what_equal_runs_differ_by():
    reason = judged(of_ratios(1.1, 1.2), floor=floors(1.3))["reason"]
    assert "no interval is made, and such medians of equal runs differ by up to 1.30" in reason


@pytest.mark.parametrize("kind", [THROUGHPUT, BETWEEN])
def test_by_a_floor_of_fewer_than_twenty_pairs_nothing_is_judged(kind):
    few = Floors({
        place: each._replace(pairs=19) if place[0] == kind else each
        for place, each in floors(1.01).floors.items()
    })  # fmt: skip
    for ratios in ((9.0,), (9.0, 9.1, 9.2)):
        found = judged(of_ratios(*ratios), floor=few)
        assert (found["direction"], found["floor"]) == ("cannot tell", None)
        assert "fewer than 20 equal runs of this kind" in found["reason"]
        assert judged(of_ratios(*ratios), floor=floors(1.01))["direction"] == "holds"
    # A confidence interval needs no noise floor, and a count has no noise.
    assert judged(of_ratios(*[9.0, 9.1] * 3), floor=few)["direction"] == "holds"


def test_of_counts_any_difference_is_one():
    rows = [
        row("13", line, 20, outputs=outputs) for line, outputs in (("mq", 1000), ("tumlsc", 1001))
    ]
    for floor in (floors(1.5), Floors({})):
        found = judged(rows, floor=floor, quantity="outputs_per_tuple")
        assert (found["direction"], found["floor"]) == ("holds", 1.0)


def test_the_floor_of_a_pool_is_the_mean_of_its_pairs_and_not_that_of_a_mean():
    # One pair has more threads than cores, where equal runs differ by more.
    rows = of_ratios(1.3, 1.3) + [
        row("13", line, 4, throughput_tps=tps, repetition=n, cores=2)
        for n in (1, 2)
        for line, tps in (("mq", 1e6), ("tumlsc", 1.3e6))
    ]
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "all"}}
    found = judged(rows, floor=floors(1.1, oversubscribed=1.6), reads=reads)
    # The floor of two pairs is no lower than one's: the geometric mean of 1.1 and 1.6.
    assert found["floor"] == pytest.approx((1.1 * 1.6) ** 0.5)
    assert found["direction"] == "cannot tell"


def test_runs_are_compared_round_by_round_and_process_by_process():
    rows = []
    for process, drift in enumerate((1.0, 3.0, 0.3), start=1):
        rows += two(mq=drift * 1e6, tumlsc=drift * 1.2e6, repetitions=1, repetition=process)
    found = judged(rows)
    assert found["interval"] == pytest.approx([1.2, 1.2])
    assert found["direction"] == "holds"


def test_a_process_that_was_run_again_in_another_round_is_held_against_itself():
    rows = [
        row("13", "mq", 20, round=2, throughput_tps=1e6),
        row("13", "tumlsc", 20, round=1, throughput_tps=2e6),
        *of_ratios(2.0, 2.0, repetition=2)[:2],
    ]
    assert judged(rows)["evidence"]["processes"] == 2


def test_a_pair_that_was_run_again_makes_no_second_round_of_a_pool():
    rows = [
        row("13", line, inputs, throughput_tps=tps * 1e6)
        for inputs in (4, 8, 20)
        for line, tps in (("mq", 1.0), ("tumlsc", 2.0))
    ]
    again = [row("13", line, 20, round=2, throughput_tps=9e6) for line in ("mq", "tumlsc")]
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "all"}}
    found = judged(rows + again, reads=reads, floor=floors(1.2))
    assert (found["interval"], found["ratio"]) == (None, pytest.approx((2 * 2 * 2**0.5) ** (1 / 3)))


# Omitted pairs.


def kept_up(line, whether, x=20, processes=(1, 2, 3), figure="13"):
    """Return open runs at the reference load that kept up, or did not."""
    given = {"saturated": not whether}
    return [open_row(figure, line, x, 5.0, repetition=n, **given) for n in processes]


def closed(line, tps, x=20):
    return [row("13", line, x, throughput_tps=tps, repetition=n) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("mq", "tumlsc", "sign", "note"),
    [
        (True, True, 1, ""),
        (True, False, -1, "one alone kept up in 1 pair, whose sign is its"),
        (False, True, 1, "one alone kept up in 1 pair, whose sign is its"),
        (False, False, 0, "1 pair left out, neither kept up"),
    ],
)
def test_a_throughput_that_was_not_kept_up_has_no_ratio(mq, tumlsc, sign, note):
    rows = closed("mq", 1e6) + closed("tumlsc", 2e6)
    found = judged(rows + kept_up("mq", mq) + kept_up("tumlsc", tumlsc))
    (part,) = found["parts"]
    assert (part["sign"], part["ratio"] is None) == (sign, not (mq and tumlsc))
    assert found["pairs"]["of"] == abs(sign)
    assert found["direction"] == ("holds" if mq and tumlsc else "cannot tell")
    assert note in found["reason"]
    assert found["evidence"]["kept_up"] == (mq + tumlsc) / 2


def test_signs_of_those_that_alone_kept_up_count_beside_the_ratios():
    rows = []
    for inputs in (1, 4, 8):
        rows += closed("mq", 1e6, inputs) + closed("tumlsc", 2e6, inputs)
        rows += kept_up("mq", True, inputs) + kept_up("tumlsc", inputs == 1, inputs)
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "all"}}
    found = judged(rows, reads=reads)
    # Twice the throughput where both kept up; at the other two only the rival did.
    assert (found["ratio"], found["pairs"]) == (
        pytest.approx(2.0),
        {"for": 1, "of": 3, "left_out": 0},
    )
    assert found["direction"] == "mixed"


@pytest.mark.parametrize(
    ("way", "agrees"),
    [("higher", True), ("kept", True), ("lower", False), ("near", False), ("differs", True)],
)
def test_one_that_alone_kept_up_is_higher_and_not_alike(way, agrees):
    rows = closed("mq", 1e6) + closed("tumlsc", 1e6)
    rows += kept_up("mq", False) + kept_up("tumlsc", True)
    found = judged(rows, direction=way, tolerance=1.25 if way in WITHIN else None)
    assert [part["agrees"] for part in found["parts"]] == [agrees]


@pytest.mark.parametrize(("places", "direction"), [(5, "cannot tell"), (6, "holds")])
def test_signs_alone_answer_from_six_of_six_on(places, direction):
    rows = []
    for inputs in PLACES[:places]:
        rows += closed("mq", 1e6, inputs) + closed("tumlsc", 2e6, inputs)
        rows += kept_up("mq", False, inputs) + kept_up("tumlsc", True, inputs)
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "all"}}
    found = judged(rows, reads=reads)
    assert (found["direction"], found["ratio"]) == (direction, None)
    other = {"variants": ["mq"], "rivals": ["tumlsc"], "at": {"inputs": "all"}}
    against = {"holds": "does not hold"}.get(direction, direction)
    assert judged(rows, reads=other)["direction"] == against


@pytest.mark.parametrize("behind", [("mq",), ("tumlsc",), ("mq", "tumlsc")])
def test_a_latency_at_saturation_is_a_backlog_and_left_out(behind):
    rows = [
        open_row("13", line, 20, latency, repetition=n, saturated=line in behind)
        for n in (1, 2, 3)
        for line, latency in (("mq", 500.0), ("tumlsc", 5.0))
    ]
    found = judged(rows, **LATENCY)
    assert (found["direction"], found["ratio"]) == ("cannot tell", None)
    assert found["pairs"] == {"for": 0, "of": 0, "left_out": 1}
    assert "1 pair left out, a latency at saturation is a backlog" in found["reason"]


@pytest.mark.parametrize(
    ("gains", "direction"),
    [
        # Three times higher at half of the settings and a third at the others is not "cannot tell".
        ((3.0, 3.0, 1 / 3, 1 / 3), "mixed"),
        # One clear setting against many does not make it mixed, and noise in both directions never
        # does.
        ((3.0, 3.0, 3.0, 3.0, 3.0, 1 / 3), "holds"),
        ((1.1, 1.05, 1 / 1.1, 1 / 1.05), "cannot tell"),
    ],
)
def test_a_third_of_the_pairs_clear_each_way_is_mixed(gains, direction):
    rows = [
        row("13", line, x, repetition=process, throughput_tps=tps)
        for process in (1, 2, 3)
        for x, gain in zip(PLACES[1:], gains, strict=False)
        for line, tps in (("mq", 1e6), ("tumlsc", gain * 1e6 * (1 + 0.001 * process)))
    ]
    found = judged(
        rows,
        floor=floors(1.2),
        reads={"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "all"}},
    )
    assert found["direction"] == direction
