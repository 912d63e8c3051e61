"""Statements about the oracle, and about several bounds at once."""

from __future__ import annotations

import pytest

from tests.invented import floors, judged, points_over, row

RIGHT = {
    "quantity": "right_outputs",
    "value": 1,
    "comparator": "all-right",
    "direction": None,
    "reads": {"variants": ["mq", "tumlsc"], "at": {"inputs": "all"}},
}
WRONG = {"valid": False, "invalid_reason": "digest", "oracle_digest": "0ther"}


def runs(wrong=0, of=4):
    """Return runs of MQ and TuMLSC; `wrong` of TuMLSC's are wrong."""
    given = [WRONG if number <= wrong else {} for number in range(1, of + 1)]
    return [
        row("13", line, inputs, round=number, **(spoilt if line == "tumlsc" else {}))
        for line in ("mq", "tumlsc")
        for inputs in (1, 20)
        for number, spoilt in enumerate(given, 1)
    ]


def test_outputs_are_right_when_every_run_is_the_oracle_s():
    found = judged(runs(), **RIGHT)
    assert (found["direction"], found["pairs"]["for"]) == ("holds", 2)
    assert {part["note"] for part in found["parts"]} == {"8 of 8 runs"}


@pytest.mark.parametrize(("wrong", "told"), [(1, "6 of 8 runs"), (4, "0 of 8 runs")])
def test_one_run_that_is_wrong_speaks_against_it(wrong, told):
    found = judged(runs(wrong), **RIGHT)
    assert found["direction"] != "holds"
    assert {part["above"]: part["note"] for part in found["parts"]} == {
        "MQ": "8 of 8 runs", "TuMLSC": told,
    }  # fmt: skip
    alone = judged(runs(wrong), **RIGHT | {"reads": RIGHT["reads"] | {"variants": ["tumlsc"]}})
    assert alone["direction"] == "does not hold"


def test_a_run_that_gave_no_output_is_none_of_them():
    failed = {"valid": False, "invalid_reason": "stuck", "digest": None, "oracle_digest": None}
    rows = [*runs(), row("13", "mq", 20, round=9, **failed)]
    assert judged(rows, **RIGHT)["direction"] == "holds"
    found = judged(runs()[:8], **RIGHT)
    assert found["missing"] == ["TuMLSC in figure 13"]


def within(places, bounds=None, **given):
    """Judge whether MQ reaches bounds at one of {inputs: (throughput, latency in ms)}."""
    bounds = bounds or {"throughput_tps": 1_000_000, "latency_ms_mean": 10}
    reads = {"variants": ["mq"], "at": {"inputs": "all"}, "bounds": bounds}
    claim = {"comparator": "reached", "direction": None, "value": 1, "reads": reads} | given
    return judged(points_over("13", "mq", places, 6), floor=floors(1.02), **claim)


@pytest.mark.parametrize(
    ("places", "direction"),
    [
        # Both at one setting.
        ({1: (3e6, 5.0), 20: (0.1e6, 90.0)}, "holds"),
        # Each at a different one does not count.
        ({1: (3e6, 90.0), 20: (0.1e6, 1.0)}, "does not hold"),
        ({1: (3e6, 5.0)}, "holds"),
        ({1: (0.5e6, 5.0)}, "does not hold"),
        ({1: (3e6, 50.0)}, "does not hold"),
    ],
)
def test_bounds_are_reached_together_at_one_place(places, direction):
    assert within(places)["direction"] == direction


def test_how_far_within_is_the_least_margin():
    found = within({1: (3e6, 5.0), 20: (2.5e6, 1.0)})
    # 2.5 times by throughput at 20 inputs, and twice by latency at one.
    (part,) = found["parts"]
    assert part["ratio"] == pytest.approx(2.5, rel=0.05)
    assert part["below"] == "the bounds 1 M t/s and 10 ms"
    assert part["where"].startswith("the best of 2, k-OS, 20 inputs")


def test_a_place_without_one_of_the_quantities_is_missed():
    found = within({1: (3e6, 5.0)}, {"throughput_tps": 1e6, "common_latency_ms_mean": 10})
    assert found["direction"] == "not measured here" and found["missing"]
