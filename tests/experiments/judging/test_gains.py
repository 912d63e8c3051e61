"""Comparators of gains, durations and rates on invented rows, up to the answer."""

from __future__ import annotations

import pytest

from experiments.judging.lookup import figure_names
from experiments.judging.pool import WITHIN
from tests.invented import (
    floors,
    judged,
    points_by_rate,
    points_of_durations,
    points_over,
    row,
    two,
)

# The noise floor of runs that are equal by construction.
FLOOR = floors(1.02)


def gains(upper: float, lower: float, **given) -> list[dict]:
    """Return TuMLSC over MQ at 20 inputs: `upper` times on figure 24, `lower` on figure 23."""
    rows = []
    for figure, gain in (("24", upper), ("23", lower)):
        rows += points_over(figure, "mq", {20: (1e5, 5.0)}, **given)
        rows += points_over(figure, "tumlsc", {20: (gain * 1e5, 5.0)}, **given)
    return rows


GAIN = {"comparator": "gain-ordering", "figures": ["24", "23"]}
OVER_BASELINES = {"baselines": ["mq"], "at": {"inputs": 20}}


@pytest.mark.parametrize(
    ("upper", "lower", "way", "direction"),
    [
        (1.5, 3.0, "lower", "holds"),
        (3.0, 1.5, "lower", "does not hold"),
        (3.0, 1.5, "higher", "holds"),
        # With equal runs, two gains may differ by both floors: 1.02 * 1.02.
        (1.03, 1.0, "higher", "cannot tell"),
        (1.05, 1.0, "higher", "cannot tell"),
        (1.1, 1.0, "higher", "holds"),
        (1.1, 1.0, "near", "holds"),
        (3.0, 1.0, "near", "does not hold"),
        (1.0, 3.0, "near", "does not hold"),
        (1.25, 1.0, "near", "cannot tell"),
        (3.0, 1.0, "kept", "holds"),
        (0.9, 1.0, "kept", "holds"),
        (0.5, 1.0, "kept", "does not hold"),
    ],
)
def test_gain_ordering(upper, lower, way, direction):
    tolerance = 1.25 if way in WITHIN else None
    found = judged(gains(upper, lower), floor=FLOOR, **GAIN, direction=way, tolerance=tolerance)
    assert found["direction"] == direction
    assert found["ratio"] == pytest.approx(upper / lower)


def test_a_gain_against_a_gain_is_told_with_both_queries():
    found = judged(gains(1.5, 3.0), **GAIN, direction="lower")
    (part,) = found["parts"]
    assert part["where"] == "20 inputs: TuMLSC over MQ, F-OS over f-OS"
    assert "runs of different processes are paired by the numbers" in found["reason"]


def test_a_gain_over_what_did_not_keep_up_is_left_out():
    rows = gains(1.5, 3.0, phase="closed")
    rows += [
        each | {"saturated": each["variant"] == "mq"}
        for each in points_over("23", "mq", {20: (1e5, 5.0)})
        if each["phase"] == "open"
    ]
    rows = [each for each in rows if each["phase"] == "closed" or each["saturated"]]
    found = judged(rows, **GAIN, direction="lower")
    assert (found["direction"], found["pairs"]["left_out"]) == ("cannot tell", 1)
    assert "1 pair left out, one of those compared did not keep up" in found["reason"]


def test_two_variants_gain_over_the_same_baseline():
    rows = []
    for figure, ours, ns in (("10", "wiml", 3000.0), ("8", "tumlsc", 800.0)):
        rows += points_of_durations(figure, "mq", (400.0, 5000.0))
        rows += points_of_durations(figure, ours, (ns, 1000.0))
    found = judged(
        rows,
        comparator="gain-ordering",
        figures=["10", "8"],
        quantity="input_ns",
        reads={
            "variants": ["wiml"],
            "rivals": ["tumlsc"],
            "baselines": ["mq"],
            "at": {"inputs": 20},
        },
    )
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(3000 / 800))
    (part,) = found["parts"]
    assert part["where"] == "20 inputs: WiML over MQ, K-OI over TuMLSC over MQ, K-OS"


def update_threads(
    figure: str, by_threads: dict[int, float], inputs: int = 2, **given
) -> list[dict]:
    by_threads = {threads: (tps, 5.0) for threads, tps in by_threads.items()}
    return points_over(figure, "tumlmc", by_threads, at={"inputs": inputs}, **given)


SCALING = {"variants": ["tumlmc"], "at": {"inputs": "all"}, "over": "update_threads"}


@pytest.mark.parametrize("cores", [2, 32])
def test_scaling_of_update_threads(cores):
    rows = update_threads("29", {1: 1e5, 4: 1.1e5, 12: 1.2e5}, cores=cores)
    rows += update_threads("28", {1: 1e5, 4: 2e5, 12: 4e5}, cores=cores)
    claim = {"comparator": "gain-ordering", "figures": ["29", "28"]}
    found = judged(rows, **claim, reads=SCALING | {"threads": "most"})
    assert (found["direction"], found["ratio"]) == ("does not hold", pytest.approx(0.3))
    assert [part["where"] for part in found["parts"]] == [
        "2 inputs: TuMLMC at 12 update threads over 1, K-OS over k-OS"
    ]
    reads = SCALING | {"threads": "every"}
    every = judged(rows, **claim, reads=reads, direction="near", tolerance=3)
    assert len(every["parts"]) == 2


@pytest.mark.parametrize(
    ("by_threads", "direction", "note"),
    [
        ({1: 1e5, 4: 4e5, 8: 3.9e5, 12: 3.8e5}, "holds", "over its best, at 4"),
        # The last compared with the best, and nothing else.
        ({1: 1e5, 4: 4e5, 8: 2e5, 12: 3.8e5}, "holds", "over its best, at 4"),
        ({1: 1e5, 4: 4e5, 8: 3.8e5, 12: 2e5}, "does not hold", "12 update threads over its best"),
        ({1: 1e5, 4: 4e5, 8: 5e5}, "cannot tell", "so nothing lies past it"),
        ({1: 1e5}, "not measured here", "a second number of update threads in figure 28"),
    ],
)
@pytest.mark.parametrize("cores", [2, 32])
def test_no_fall(by_threads, direction, note, cores):
    claim = {"comparator": "no-fall", "direction": "kept", "tolerance": 1.25, "reads": SCALING}
    rows = update_threads("28", by_threads, cores=cores, repetitions=4)
    found = judged(rows, figures=["28"], **claim)
    assert (found["direction"], note in found["reason"]) == (direction, True)


def test_the_best_number_of_threads_is_chosen_by_some_and_judged_by_others():
    # Four threads are the best only in odd processes: there 12 would seem to fall.
    rows = []
    for process, tps in enumerate((9e5, 1e5, 9e5, 1e5), start=1):
        by_threads = {1: 1e5, 4: tps, 12: 2e5}
        rows += update_threads("28", by_threads, repetitions=1, repetition=process)
    claim = {"comparator": "no-fall", "direction": "kept", "tolerance": 1.25, "reads": SCALING}
    found = judged(rows, figures=["28"], **claim)
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(2.0))
    assert "chosen on odd processes, judged on even ones" in found["reason"]
    one = judged(rows[:6], figures=["28"], **claim)
    assert "a single value cannot both choose and judge" in one["reason"]


def test_a_trend_over_update_threads_has_a_curve_for_each_number_of_inputs():
    rows = update_threads("28", {1: 1e5, 4: 4e5})
    rows += update_threads("28", {1: 1e5, 4: 2e5}, inputs=20)
    found = judged(rows, figures=["28"], comparator="monotone", direction="rises", reads=SCALING)
    assert [part["where"] for part in found["parts"]] == [
        "k-OS, 2 inputs: TuMLMC at 4 update threads over that at 1",
        "k-OS, 20 inputs: TuMLMC at 4 update threads over that at 1",
    ]
    # The mean of 4 and 2.
    assert found["ratio"] == pytest.approx(8**0.5)


SPREAD = {
    "comparator": "gain-spread",
    "reads": {
        "variants": ["tumlsc"],
        "rivals": ["wiml"],
        "baselines": ["mq"],
        "at": {"inputs": 20},
    },
}


@pytest.mark.parametrize(
    ("tumlsc", "direction"), [((8.0, 1.1), "holds"), ((1.5, 1.5), "does not hold")]
)
def test_gain_spread(tumlsc, direction):
    rows = []
    for figure, variant, gain in (
        ("13", "tumlsc", tumlsc[0]),
        ("24", "tumlsc", tumlsc[1]),
        ("15", "wiml", 4.0),
        ("26", "wiml", 2.0),
    ):
        rows += points_over(figure, "mq", {20: (1e5, 5.0)}, repetitions=4)
        rows += points_over(figure, variant, {20: (gain * 1e5, 5.0)}, repetitions=4)
    found = judged(rows, **SPREAD, figures=["13", "24", "15", "26"])
    assert found["ratio"] == pytest.approx(tumlsc[0] / tumlsc[1] / 2)
    assert found["direction"] == direction
    alone = judged(two(), **SPREAD)
    assert alone["direction"] == "not measured here"


def test_the_ends_of_a_spread_are_chosen_by_some_and_judged_by_others():
    # All gains are 2, except for an accident in odd processes, which seems to spread TuMLSC's.
    rows = []
    for figure, variant in (("13", "tumlsc"), ("24", "tumlsc"), ("15", "wiml"), ("26", "wiml")):
        for process in (1, 2, 3, 4):
            gain = 20.0 if figure == "13" and process % 2 else 2.0
            rows.append(row(figure, "mq", 20, repetition=process, throughput_tps=1e5))
            rows.append(row(figure, variant, 20, repetition=process, throughput_tps=gain * 1e5))
    found = judged(rows, **SPREAD, figures=["13", "24", "15", "26"])
    assert found["ratio"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("input_ns", "output_ns", "direction"),
    [
        (400.0, 5000.0, "holds"),
        (40_000.0, 500.0, "does not hold"),
        (20_000.0, 1010.0, "does not hold"),
        (20_000.0, 1050.0, "cannot tell"),
    ],
)
def test_bottleneck(input_ns, output_ns, direction):
    found = judged(
        points_of_durations("8", "mq", (input_ns, output_ns)),
        floor=FLOOR,
        figures=["8"],
        quantity="output_ns",
        comparator="bottleneck",
        reads={"variants": ["mq"], "at": {"inputs": 20}},
    )
    assert found["direction"] == direction
    assert found["ratio"] == pytest.approx(output_ns / (input_ns / 20))
    (part,) = found["parts"]
    assert part["where"] == "K-OS, MQ: output thread over 20 input threads together"


@pytest.mark.parametrize(
    ("maximum", "durations", "cores", "expected", "direction"),
    [
        (2e5, (400.0, 5000.0), 32, 2e5, "holds"),
        (5e5, (40_000.0, 1000.0), 32, 5e5, "holds"),
        (9e5, (400.0, 5000.0), 32, 2e5, "does not hold"),
        (1e5, (5000.0, 5000.0), 2, 2e5, "does not hold"),
        # Two cores are busy with 15 us a tuple; with a core for each thread it would be 5 us.
        (1.4e5, (10_000.0, 5000.0), 2, 1 / 7.5e-6, "holds"),
    ],
)
def test_as_expected(maximum, durations, cores, expected, direction):
    rows = points_of_durations("8", "mq", durations, throughput=maximum, cores=cores)
    rows += points_by_rate("mq", maximum, {0.7: 5.0}, cores=cores)
    found = judged(
        rows,
        figures=["8", "9"],
        comparator="as-expected",
        direction="near",
        tolerance=1.5,
        reads={"variants": ["mq"], "at": {"inputs": 20}},
    )
    assert found["direction"] == direction
    assert found["ratio"] == pytest.approx(maximum / expected, rel=0.04)


RATES = {"figures": ["11"], "quantity": "latency_ms_mean", "comparator": "every-rate"}
OVER_MQ = {"variants": ["wiml"], "rivals": ["mq"], "at": {"inputs": 20}}


@pytest.mark.parametrize(
    ("wiml", "direction", "parts"),
    [
        ({0.1: 2.0, 0.9: 1.0}, "holds", 3),
        ({0.1: 50.0, 0.9: 40.0}, "does not hold", 3),
        # Four times as long at one rate, and half as long at two: longer, by one sign of three.
        ({0.1: 50.0, 0.21: 50.0, 0.3: 3.0, 0.9: 3.0}, "mixed", 3),
        ({1.1: 90.0}, "not measured here", 0),
    ],
)
def test_every_rate(wiml, direction, parts):
    rows = points_by_rate("mq", 1e6, {0.3: 12.0, 0.5: 6.0, 0.7: 6.0, 1.1: 99.0}, figure="11")
    rows += points_by_rate("wiml", 1.5e6, wiml, figure="11")
    found = judged(rows, **RATES, direction="lower", reads=OVER_MQ)
    assert (found["direction"], len(found["parts"])) == (direction, parts)
    if not parts:
        assert "a rate below saturation of both for WiML over MQ" in found["reason"]


def test_between_two_rates_a_latency_is_interpolated():
    rows = points_by_rate("mq", 1e6, {0.4: 4.0}, figure="11")
    # Half-way between 0.2 and 0.8 million on a logarithmic axis; likewise 4 is between 2 and 8.
    rows += points_by_rate("wiml", 1e6, {0.2: 2.0, 0.8: 8.0}, figure="11")
    found = judged(rows, **RATES, direction="lower", reads=OVER_MQ)
    assert found["ratio"] == pytest.approx(1.0)


def test_figures_are_named_in_spans():
    names = ["7", "13", "14", "15", "18", "19", "21"]
    assert figure_names(reversed(names)) == "figures 7, 13 to 15, 18, 19 and 21"
    assert figure_names(names[:1]) == "figure 7"
    assert figure_names(names[1:4]) == "figures 13 to 15"
