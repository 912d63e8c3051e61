"""Each comparator on invented rows, up to the verdict it leads to."""

from __future__ import annotations

import pytest

from tests.invented import judged, open_row, points_by_rate, points_over, row, two


def over_inputs(variant="mq", repetitions=3, **throughputs):
    """Return rows of one variant from n1=..., n8=... throughputs."""
    by_inputs = {int(name[1:]): (value, 5.0) for name, value in throughputs.items()}
    return points_over("13", variant, by_inputs, repetitions)


def over(comparator, direction=None, tolerance=None):
    reads = {"variants": ["mq"], "at": {"inputs": "all"}}
    return {
        "comparator": comparator,
        "direction": direction,
        "tolerance": tolerance,
        "reads": reads,
    }


@pytest.mark.parametrize(
    ("points", "direction", "verdict"),
    [
        ({"n1": 1e6, "n8": 2e6, "n20": 3e6}, "rises", "reproduced"),
        ({"n1": 1e6, "n8": 2e6, "n20": 3e6}, "falls", "contradicted"),
        ({"n1": 1e6, "n8": 3e6, "n20": 2e6}, "rises", "partial"),
        ({"n1": 1e6, "n8": 3e6, "n20": 1e6}, "rises", "not testable here"),
        ({"n1": 1e6, "n2": 1.04e6, "n8": 1.08e6, "n20": 1.01e6}, "rises", "contradicted"),
        ({"n1": 1e6, "n20": 1.01e6}, "rises", "not testable here"),
        ({"n1": 1e6}, "rises", "not testable here"),
    ],
)
def test_monotone(points, direction, verdict):
    assert judged(over_inputs(**points), **over("monotone", direction))["verdict"] == verdict


def test_monotone_tells_where_it_turned():
    found = judged(over_inputs(n1=1e6, n8=3e6, n20=2e6), **over("monotone", "rises"))
    assert "it falls on the way, at 20 inputs" in found["reason"]


@pytest.mark.parametrize(
    ("points", "verdict", "note"),
    [
        ({"n1": 2.0e6, "n8": 1.3e6, "n14": 0.7e6, "n20": 0.1e6}, "reproduced", ""),
        (
            {"n1": 9e6, "n2": 1.1e6, "n14": 1.0e6, "n20": 0.9e6},
            "partial",
            "a straight line explains",
        ),
        ({"n1": 2e6, "n8": 1.3e6, "n20": 1e5}, "partial", "3 numbers of inputs cannot show"),
        ({"n1": 1e5, "n8": 1e6, "n14": 2e6, "n20": 3e6}, "contradicted", ""),
    ],
)
def test_linear(points, verdict, note):
    found = judged(over_inputs(**points), **over("linear", "falls", 0.9))
    assert found["verdict"] == verdict
    assert note in found["reason"]


@pytest.mark.parametrize(
    ("points", "verdict"),
    [
        ({"n1": 1.0e6, "n8": 1.2e6, "n20": 1.1e6}, "reproduced"),
        ({"n1": 1.0e6, "n20": 4.0e6}, "contradicted"),
        ({"n1": 1.0e6, "n20": 1.54e6}, "not testable here"),
    ],
)
def test_level(points, verdict):
    assert judged(over_inputs(**points), **over("level", tolerance=1.5))["verdict"] == verdict


CROWDED = {
    "level": ({"n1": 1.0e6, "n20": 4.0e6}, None, 1.5),
    "monotone": ({"n1": 1.0e6, "n20": 4.0e6}, "falls", None),
    "linear": ({"n1": 1e5, "n8": 1e6, "n14": 2e6, "n20": 3e6}, "falls", 0.9),
}


@pytest.mark.parametrize("comparator", CROWDED)
def test_a_trend_of_threads_that_share_cores_is_never_contradicted(comparator):
    points, direction, tolerance = CROWDED[comparator]
    claim = over(comparator, direction, tolerance)
    assert judged(over_inputs(**points), **claim)["verdict"] == "contradicted"
    rows = points_over("13", "mq", {int(n[1:]): (y, 5.0) for n, y in points.items()}, cores=2)
    found = judged(rows, **claim)
    assert found["verdict"] == "not testable here"
    assert "threads that share cores say nothing against a trend" in found["reason"]


def test_a_trend_of_threads_that_share_cores_is_at_most_partial():
    rows = points_over("13", "mq", {1: (1e6, 5.0), 20: (1.2e6, 5.0)}, cores=2)
    found = judged(rows, **over("level", tolerance=1.5))
    assert (found["verdict"], found["limits"]) == ("partial", ["up to 21 threads on 2 cores"])


def test_a_latency_at_saturation_is_no_latency():
    rows = [
        open_row("13", variant, 20, latency, repetition=repetition, saturated=True)
        for repetition in (1, 2, 3)
        for variant, latency in (("mq", 500.0), ("tumlsc", 5.0))
    ]
    found = judged(rows, quantity="latency_ms_mean", direction="lower")
    assert found["verdict"] == "not testable here"
    assert "a backlog and no latency" in found["reason"]
    level = over("level", tolerance=2.0) | {"reads": {"variants": ["mq"], "at": {"inputs": "all"}}}
    rows += [open_row("13", "mq", 1, 500.0, repetition=n) for n in (1, 2, 3)]
    assert judged(rows, quantity="latency_ms_mean", **level)["verdict"] == "not testable here"


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [
        ({0.1: 9.0, 0.7: 3.0, 1.1: 90.0}, "reproduced"),
        ({0.1: 3.0, 0.7: 9.0, 1.1: 90.0}, "partial"),
        ({0.1: 3.0, 0.7: 9.0, 1.1: 8.0}, "contradicted"),
        # Not enough of a rise may be too short a run: the backlog grows with it.
        ({0.1: 9.0, 0.7: 3.0, 1.1: 8.0}, "partial"),
        ({0.1: 9.0, 0.7: 9.0, 1.1: 8.0}, "not testable here"),
        ({0.1: 9.0, 0.7: 3.0}, "partial"),
        ({0.7: 3.0}, "not testable here"),
    ],
)
def test_falls_then_rises(curve, verdict):
    found = judged(
        points_by_rate("mq", 1e6, curve),
        figures=["9"],
        quantity="latency_ms_mean",
        comparator="falls-then-rises",
        tolerance=3.0,
        reads={"variants": ["mq"], "at": {"inputs": 20}},
    )
    assert found["verdict"] == verdict


@pytest.mark.parametrize(
    ("quantity", "direction", "verdict"),
    [
        ("outputs_per_tuple", "higher", "reproduced"),
        ("throughput_tps", "differs", "reproduced"),
        ("throughput_tps", "higher", "contradicted"),
    ],
)
def test_figure_ordering(quantity, direction, verdict):
    rows = points_over("13", "mq", {4: (2e6, 5.0)})
    rows += points_over("14", "mq", {4: (1e6, 5.0)})
    found = judged(
        rows,
        figures=["14", "13"],
        quantity=quantity,
        comparator="figure-ordering",
        direction=direction,
        reads={"variants": ["mq"], "at": {"inputs": "all"}},
    )
    assert found["verdict"] == verdict


def test_a_count_needs_neither_cores_nor_repetitions():
    rows = [
        row("13", "mq", 4, cores=2, coarse=True),
        row("14", "mq", 4, cores=2, coarse=True),
    ]
    found = judged(
        rows,
        figures=["14", "13"],
        quantity="outputs_per_tuple",
        comparator="figure-ordering",
        reads={"variants": ["mq"], "at": {"inputs": "all"}},
    )
    assert (found["verdict"], found["limits"]) == ("reproduced", [])


@pytest.mark.parametrize(
    ("ratio", "verdict", "note"),
    [
        (9.0, "reproduced", ""),
        (3.0, "partial", "3.0 times is less than the paper's"),
        (40.0, "reproduced", "40 times is more than the paper's"),
        (0.5, "contradicted", ""),
    ],
)
def test_best_ratio(ratio, verdict, note):
    reads = {"variants": ["tumlsc", "tumlmc"], "rivals": ["mq"], "at": {"inputs": 20}}
    best = {"comparator": "best-ratio", "value": 10, "tolerance": 2.0, "reads": reads}
    rows = two(tumlsc=ratio * 1e6) + points_over("13", "tumlmc", {20: (0.4e6, 5.0)})
    found = judged(rows, **best)
    assert found["verdict"] == verdict
    assert note in found["reason"]


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(9.0, "reproduced"), (3.0, "partial"), (0.5, "not testable here")]
)
@pytest.mark.parametrize(
    ("missing", "reads"),
    [
        ("TuMLMC", {"variants": ["tumlsc", "tumlmc"], "figures": ["13"]}),
        ("figure 14", {"variants": ["tumlsc"], "figures": ["13", "14"]}),
    ],
)
def test_what_is_missing_could_only_raise_the_best_ratio(ratio, verdict, missing, reads):
    best = {"comparator": "best-ratio", "value": 10, "tolerance": 2.0}
    best["reads"] = {"variants": reads["variants"], "rivals": ["mq"], "at": {"inputs": 20}}
    found = judged(two(tumlsc=ratio * 1e6), **best, figures=reads["figures"])
    assert found["verdict"] == verdict
    assert found["missing"] == ([] if verdict == "reproduced" else [missing])
    if verdict == "not testable here":
        assert "what is not measured may be better" in found["reason"]


def test_best_ratio_of_a_latency_is_the_lowest():
    rows = [
        open_row("13", variant, 20, latency, repetition=repetition)
        for repetition in (1, 2, 3)
        for variant, latency in (("mq", 50.0), ("tumlsc", 5.0))
    ]
    found = judged(
        rows,
        quantity="latency_ms_mean",
        comparator="best-ratio",
        direction="lower",
        value=10,
        tolerance=2.0,
    )
    assert (found["verdict"], found["measured"]) == ("reproduced", pytest.approx(0.1))


def test_every_number_of_inputs_from_two_on_is_read_where_many_are():
    reads = {"variants": ["tumlsc"], "rivals": ["mq"], "at": {"inputs": "many"}}
    rows = points_over("13", "mq", {1: (9e6, 5.0), 4: (1e6, 5.0), 20: (1e6, 5.0)})
    rows += points_over("13", "tumlsc", {1: (1e6, 5.0), 4: (2e6, 5.0), 20: (2e6, 5.0)})
    found = judged(rows, reads=reads)
    assert (found["verdict"], len(found["parts"])) == ("reproduced", 2)


def test_the_time_a_tuple_takes_may_be_what_lies_on_a_line():
    # One over it is the throughput, which does not.
    cost = {n: (1e6 / (1 + n), 5.0) for n in (1, 4, 8, 20)}
    rows = points_over("7", "skip-list", cost)
    reads = {"variants": ["skip-list"], "at": {"sources": "all"}}
    claim = over("linear", "rises", 0.99) | {"figures": ["7"]}
    found = judged(rows, **claim | {"reads": reads | {"cost": "per_tuple"}})
    assert (found["verdict"], found["measured"]) == ("reproduced", pytest.approx(10.5))
    assert found["measured_what"] == "sorting: time a tuple takes in skip-list at 20 inputs over 1"
    assert judged(rows, **claim | {"direction": "falls", "reads": reads})["verdict"] == "partial"


def test_figures_are_compared_in_pairs():
    rows = []
    for figure, tps in (("13", 2e6), ("14", 1e6), ("15", 2e6), ("16", 3e6)):
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
    assert found["verdict"] == "partial"
