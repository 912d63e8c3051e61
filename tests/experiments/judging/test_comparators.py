"""Each comparator on invented rows, up to the resulting answer."""

from __future__ import annotations

import pytest

from operators.contract import UsageError
from tests.invented import floors, judged, open_row, points_by_rate, points_over, row, two

# Equal runs must show how small a difference can be measured.
FLOOR = floors(1.02)


def over_inputs(variant="mq", repetitions=3, **throughputs):
    """Return rows of one variant from n1=..., n8=... throughputs."""
    by_inputs = {int(name[1:]): (value, 5.0) for name, value in throughputs.items()}
    return points_over("13", variant, by_inputs, repetitions)


def over(comparator, direction, tolerance=None, **given):
    reads = {"variants": ["mq"], "at": {"inputs": "all"}}
    claim = {"comparator": comparator, "direction": direction, "reads": reads}
    return claim | {"tolerance": tolerance if direction == "near" else None} | given


@pytest.mark.parametrize(
    ("points", "way", "direction"),
    [
        ({"n1": 1e6, "n8": 2e6, "n20": 3e6}, "rises", "holds"),
        ({"n1": 1e6, "n8": 2e6, "n20": 3e6}, "falls", "does not hold"),
        # The last compared with the first, and nothing else.
        ({"n1": 1e6, "n8": 3e6, "n20": 2e6}, "rises", "holds"),
        ({"n1": 1e6, "n8": 3e6, "n20": 1e6}, "rises", "does not hold"),
        ({"n1": 1e6, "n2": 9e6, "n8": 0.1e6, "n20": 1.01e6}, "falls", "does not hold"),
        ({"n1": 1e6, "n8": 3e6, "n20": 1.04e6}, "rises", "cannot tell"),
        ({"n1": 1e6}, "rises", "not measured here"),
        # Near: within the tolerance of 1.5, outside of it, and across its end.
        ({"n1": 1.0e6, "n8": 9e6, "n20": 1.1e6}, "near", "holds"),
        ({"n1": 1.0e6, "n8": 1e6, "n20": 4.0e6}, "near", "does not hold"),
        ({"n1": 4.0e6, "n20": 1.0e6}, "near", "does not hold"),
        ({"n1": 1.0e6, "n20": 1.5e6}, "near", "cannot tell"),
    ],
)
@pytest.mark.parametrize("cores", [2, 32])
def test_monotone(points, way, direction, cores):
    by_inputs = {int(name[1:]): (value, 5.0) for name, value in points.items()}
    rows = points_over("13", "mq", by_inputs, cores=cores)
    found = judged(rows, floor=FLOOR, **over("monotone", way, 1.5))
    # Threads that share cores are reported, but change nothing.
    assert found["direction"] == direction


def test_a_trend_names_its_ends():
    found = judged(over_inputs(n1=1e6, n8=3e6, n20=2e6), **over("monotone", "rises"))
    assert found["parts"][0]["where"] == "k-OS: MQ at 20 inputs over that at 1"
    found = judged(over_inputs(n1=1e6), **over("monotone", "rises"))
    assert "a second number of inputs in figure 13" in found["reason"]


def test_a_value_that_no_point_of_a_curve_has_is_missed():
    rows = over_inputs(n1=1e6, n8=3e6, n20=2e6)
    asked = over("monotone", "rises")
    asked["reads"] = {**asked["reads"], "at": {"inputs": [1, 7, 8]}}
    found = judged(rows, **asked)
    assert (found["direction"], found["missing"]) == ("holds", ["MQ at 7 inputs in figure 13"])
    asked["reads"]["at"] = {"query": "w-OS", "inputs": "all"}
    assert judged(rows, **asked)["missing"] == ["MQ at query w-OS in figure 13"]
    # "all" reads the values present.
    asked["reads"]["at"] = {"query": "k-OS", "inputs": "all"}
    assert judged(rows, **asked)["missing"] == []


STRAIGHT = {"n1": 2.0e6, "n8": 1.3e6, "n14": 0.7e6, "n20": 0.1e6}
BENT = {"n1": 9e6, "n2": 1.1e6, "n14": 1.0e6, "n20": 0.9e6}


@pytest.mark.parametrize(("points", "share"), [(STRAIGHT, "1.00"), (BENT, "0.37")])
def test_how_straight_a_line_is_is_told_and_judges_nothing(points, share):
    found = judged(over_inputs(**points), **over("monotone", "falls", straight=True))
    assert found["direction"] == "holds"
    told = f"a straight line explains {share} of the variance here"
    assert found["size"]["text"] == told
    # Three points say nothing about straightness.
    few = {name: points[name] for name in list(points)[:3]}
    found = judged(over_inputs(**few), **over("monotone", "falls", straight=True))
    assert (found["direction"], found["size"]) == ("holds", None)


def test_what_is_near_has_the_floor_to_keep_off_its_ends():
    rows = over_inputs(n1=1e6, n20=1.4e6)
    assert judged(rows, floor=FLOOR, **over("monotone", "near", 1.5))["direction"] == "holds"
    wide = floors(1.2)
    assert judged(rows, floor=wide, **over("monotone", "near", 1.5))["direction"] == "cannot tell"
    near = over("monotone", "near", 1.25)
    assert judged(rows, floor=FLOOR, **near)["direction"] == "does not hold"


@pytest.mark.parametrize(
    ("curve", "direction"),
    [
        ({0.1: 9.0, 0.7: 3.0, 1.1: 90.0}, "holds"),
        ({0.1: 3.0, 0.7: 9.0, 1.1: 90.0}, "does not hold"),
        # Only the beginning matters: it falls at first.
        ({0.1: 9.0, 0.3: 3.0, 0.7: 30.0}, "holds"),
        ({0.1: 9.0, 0.7: 9.0, 1.1: 8.0}, "does not hold"),
        ({0.1: 9.0, 0.7: 8.6, 1.1: 8.0}, "cannot tell"),
        ({0.7: 3.0, 1.1: 2.0}, "not measured here"),
    ],
)
def test_falls_at_first(curve, direction):
    found = judged(
        points_by_rate("mq", 1e6, curve),
        figures=["9"],
        quantity="latency_ms_mean",
        comparator="falls-at-first",
        direction="falls",
        floor=FLOOR,
        reads={"variants": ["mq"], "at": {"inputs": 20}},
    )
    assert found["direction"] == direction


@pytest.mark.parametrize(
    ("quantity", "way", "direction"),
    [
        ("outputs_per_tuple", "higher", "holds"),
        ("throughput_tps", "differs", "holds"),
        ("throughput_tps", "higher", "does not hold"),
    ],
)
def test_figure_ordering(quantity, way, direction):
    rows = points_over("13", "mq", {4: (2e6, 5.0)})
    rows += points_over("14", "mq", {4: (1e6, 5.0)})
    found = judged(
        rows,
        figures=["14", "13"],
        quantity=quantity,
        comparator="figure-ordering",
        direction=way,
        reads={"variants": ["mq"], "at": {"inputs": "all"}},
    )
    assert found["direction"] == direction
    assert "runs of different processes are paired by the numbers" in found["reason"]


def test_processes_of_one_group_are_not_said_to_be_paired():
    assert "different processes" not in judged(two())["reason"]


@pytest.mark.parametrize(
    ("ratio", "factor", "direction"),
    [
        (2.0, 1.1, "holds"),
        (0.5, 1.1, "holds"),
        (1.1, 1.02, "holds"),
        # A difference within 1.25 that is not clearer than noise: the two are alike.
        (1.05, 1.1, "does not hold"),
        (1.05, 1.3, "cannot tell"),
    ],
)
def test_what_differs_is_not_alike(ratio, factor, direction):
    noise = floors(factor)
    assert (
        judged(two(tumlsc=ratio * 1e6), floor=noise, direction="differs")["direction"] == direction
    )


def processes(**ratios):
    """Return rows of MQ and others, with the given ratios by process."""
    found = []
    for line, values in {"mq": [1.0] * len(next(iter(ratios.values()))), **ratios}.items():
        for process, ratio in enumerate(values, start=1):
            found.append(row("13", line, 20, repetition=process, throughput_tps=ratio * 1e6))
    return found


BEST = {
    "comparator": "best-ratio",
    "value": 10,
    "reads": {"variants": ["tumlsc", "tumlmc"], "rivals": ["mq"], "at": {"inputs": 20}},
}


@pytest.mark.parametrize(
    ("ratio", "direction", "told"),
    [
        (9.0, "holds", "9.0 times here, 10 in the paper"),
        (3.0, "holds", "3.0 times here, 10 in the paper"),
        (40.0, "holds", "40 times here, 10 in the paper"),
        (0.5, "does not hold", "0.50 times here, 10 in the paper"),
    ],
)
def test_best_ratio(ratio, direction, told):
    found = judged(processes(tumlsc=[ratio] * 4, tumlmc=[0.4] * 4), **BEST)
    assert (found["direction"], found["size"]["text"]) == (direction, told)
    assert "chosen on odd processes, judged on even ones" in found["reason"]
    assert found["parts"][0]["where"].startswith("the best of 2, k-OS, 20 inputs: TuMLSC over MQ")


def test_the_best_is_chosen_by_some_and_judged_by_others():
    # TuMLMC is the best in processes 1 and 3, by accident: in the others it is slower.
    rows = processes(tumlsc=[2.0] * 4, tumlmc=[8.0, 0.5, 8.0, 0.5])
    found = judged(rows, **BEST)
    assert (found["direction"], found["ratio"]) == ("does not hold", pytest.approx(0.5))


def test_with_several_rounds_the_odd_ones_choose():
    rows = [
        row("13", line, 20, round=number, throughput_tps=tps * 1e6)
        for number, tumlmc in enumerate((9.0, 0.7, 9.0, 0.7), start=1)
        for line, tps in (("mq", 1.0), ("tumlsc", 2.0), ("tumlmc", tumlmc))
    ]
    found = judged(rows, **BEST)
    assert found["ratio"] == pytest.approx(0.7)
    assert "chosen on odd rounds, judged on even ones" in found["reason"]


def test_where_few_were_run_again_processes_choose_and_judge():
    rows = processes(tumlsc=[2.0] * 4, tumlmc=[8.0, 0.5, 8.0, 0.5])
    rows += [row("13", line, 20, repetition=1, round=2) for line in ("mq", "tumlmc")]
    found = judged(rows, **BEST)
    assert "chosen on odd processes, judged on even ones" in found["reason"]
    assert found["ratio"] == pytest.approx(0.5)
    # A single process in which only one variant was run again gives no choice either.
    one = [each for each in rows if each["repetition"] == 1]
    assert "a single value cannot both choose and judge" in judged(one, **BEST)["reason"]


def test_values_that_have_no_place_in_common_choose_and_judge_all_the_same():
    # Each variant was disturbed in another process.
    measured = {"mq": (1, 2), "tumlsc": (1,), "tumlmc": (2,)}
    rows = [
        row("13", line, 20, repetition=process, round=number, throughput_tps=tps * 1e6)
        for line, tps in (("mq", 1.0), ("tumlsc", 2.0), ("tumlmc", 3.0))
        for process in measured[line]
        for number in (1, 2)
    ]
    found = judged(rows, **BEST)
    assert found["ratio"] == pytest.approx(3.0)
    assert "chosen on odd rounds, judged on even ones" in found["reason"]


def test_by_a_single_value_nothing_can_be_chosen():
    found = judged(processes(tumlsc=[9.0], tumlmc=[8.0]), **BEST)
    assert (found["direction"], found["ratio"]) == ("cannot tell", None)
    assert "a single value cannot both choose and judge" in found["reason"]


@pytest.mark.parametrize(
    ("missing", "variants", "figures"),
    [("TuMLMC", ["tumlsc", "tumlmc"], ["13"]), ("figure 14", ["tumlsc"], ["13", "14"])],
)
def test_what_is_missing_of_a_best_is_named(missing, variants, figures):
    reads = {"variants": variants, "rivals": ["mq"], "at": {"inputs": 20}}
    found = judged(processes(tumlsc=[9.0] * 4), **BEST | {"reads": reads}, figures=figures)
    assert (found["direction"], found["missing"]) == ("holds", [missing])


def test_best_ratio_of_a_latency_is_the_lowest():
    rows = [
        open_row("13", variant, 20, latency, repetition=repetition)
        for repetition in (1, 2, 3, 4)
        for variant, latency in (("mq", 50.0), ("tumlsc", 5.0), ("tumlmc", 20.0))
    ]
    found = judged(rows, **BEST, quantity="latency_ms_mean", direction="lower")
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(0.1))
    assert found["size"]["text"] == "10 times less here, 10 in the paper"


def test_every_number_of_inputs_from_two_on_is_read_where_many_are():
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "many"}}
    rows = points_over("13", "mq", {1: (9e6, 5.0), 4: (1e6, 5.0), 20: (1e6, 5.0)})
    rows += points_over("13", "tumlsc", {1: (1e6, 5.0), 4: (2e6, 5.0), 20: (2e6, 5.0)})
    found = judged(rows, reads=reads)
    assert (found["direction"], len(found["parts"])) == ("holds", 2)


@pytest.mark.parametrize(("cores", "read"), [(2, 4), (9, 8), (32, 20)])
def test_the_most_inputs_that_leave_a_core_for_each_thread_are_read(cores, read):
    # An output thread is added to the inputs; on two cores even the fewest inputs leave no core for
    # it.
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": {"from": 4}}}
    rows = points_over("13", "mq", {n: (1e6, 5.0) for n in (1, 4, 8, 20)}, cores=cores)
    rows += points_over("13", "tumlsc", {n: (n * 1e6, 5.0) for n in (1, 4, 8, 20)}, cores=cores)
    found = judged(rows, reads=reads)
    assert (found["ratio"], len(found["parts"])) == (pytest.approx(read), 1)


def test_the_time_a_tuple_takes_may_be_what_rises_on_a_line():
    # The reciprocal is the throughput, which does not lie on a line.
    cost = {n: (1e6 / (1 + n), 5.0) for n in (1, 4, 8, 20)}
    rows = points_over("7", "skip-list", cost)
    reads = {"variants": ["skip-list"], "at": {"sources": "all"}}
    claim = over("monotone", "rises", straight=True) | {"figures": ["7"]}
    found = judged(rows, **claim | {"reads": reads | {"cost": "per_tuple"}})
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(10.5))
    assert found["size"]["here"] == pytest.approx(1.0, abs=1e-3)
    assert found["parts"][0]["where"] == (
        "sorting: time a tuple takes in skip-list at 20 inputs over that at 1"
    )
    found = judged(rows, **claim | {"direction": "falls", "reads": reads})
    assert (found["direction"], found["size"]["here"] < 0.9) == ("holds", True)


def test_a_throughput_that_is_not_kept_up_makes_the_time_a_tuple_takes_longer():
    rows = [row("7", "skip-list", n) for n in (1, 20)]
    rows += [
        open_row("7", "skip-list", 1, 1.0),
        open_row("7", "skip-list", 20, 9.0, saturated=True),
    ]
    reads = {"variants": ["skip-list"], "at": {"sources": "all"}, "cost": "per_tuple"}
    found = judged(rows, **over("monotone", "rises") | {"figures": ["7"], "reads": reads})
    assert [part["sign"] for part in found["parts"]] == [1]
    assert found["pairs"]["for"] == 1


def test_figures_are_compared_in_pairs():
    rows = []
    for figure, tps in (("13", 2e6), ("14", 1e6), ("15", 2e6), ("16", 4.1e6)):
        rows += points_over(figure, "mq", {1: (tps, 5.0)})
    found = judged(
        rows,
        figures=["14", "13", "16", "15"],
        comparator="figure-ordering",
        direction="lower",
        reads={"variants": ["mq"], "at": {"inputs": "all"}},
    )
    assert [part["where"] for part in found["parts"]] == [
        "MQ, 1 input: K-OS over k-OS",
        "MQ, 1 input: K-OI over k-OI",
    ]
    assert [part["agrees"] for part in found["parts"]] == [True, False]
    # Half as high and twice as high: slightly higher on average, and mixed.
    assert found["direction"] == "mixed"


@pytest.mark.parametrize(
    ("ratio", "direction"),
    [
        (1.1, "holds"),
        (0.85, "holds"),
        (3.0, "does not hold"),
        (0.3, "does not hold"),
        (1.25, "cannot tell"),
    ],
)
def test_two_that_are_alike(ratio, direction):
    found = judged(two(tumlsc=ratio * 1e6), floor=FLOOR, direction="near", tolerance=1.25)
    assert found["direction"] == direction


def test_an_absolute_value_is_shown_and_not_judged():
    reads = {"variants": ["mq"], "at": {"inputs": 20}}
    claim = {"comparator": "absolute", "direction": None, "value": 1.5e6, "unit": "t/s"}
    found = judged(two(mq=3e6), **claim, reads=reads)
    assert (found["direction"], found["ratio"]) == ("not measured here", None)
    assert found["size"]["here"] == pytest.approx(3e6, rel=0.02)
    assert found["size"]["text"] == "3.03 M t/s here, 1.5 M t/s in the paper"
    assert "the value of another machine, shown beside" in found["reason"]


def test_a_curve_over_nothing_and_one_over_what_points_do_not_have_are_refused():
    rows = over_inputs(n1=1e6, n8=2e6)
    reads = {"variants": ["mq"], "at": {"inputs": "all"}, "over": "update_threads"}
    with pytest.raises(UsageError, match="'a-claim' reads update_threads, which mq of figure 13"):
        judged(rows, **over("monotone", "rises", reads=reads))
    with pytest.raises(UsageError, match="'a-claim': x of figure 9 is no setting, so that reads"):
        judged(
            points_by_rate("mq", 1e6, {0.1: 1.0, 0.7: 2.0}),
            **over("monotone", "rises", figures=["9"], reads={"variants": ["mq"], "at": {}}),
        )
