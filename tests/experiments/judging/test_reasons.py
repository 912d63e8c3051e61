"""The one-line summary of a figure, and the counts of the figure's statements."""

from __future__ import annotations

import pytest

from experiments.judging.pool import DIRECTIONS
from experiments.judging.reasons import answers, counted, reading
from tests.invented import judged, open_row, points_over, row, two

TO_BOTH = {"variants": ["tumlsc"], "rivals": ["mq", "mqlf"], "at": {"inputs": "all"}}


def verdicts(*claims):
    return {"claims": list(claims)}


def over_inputs(**throughputs):
    """Return rows at 4 and 20 inputs from {variant: (throughput, throughput)}."""
    return [
        each
        for variant, pair in throughputs.items()
        for each in points_over("13", variant, {4: (pair[0], 5.0), 20: (pair[1], 5.0)})
    ]


def test_a_figure_is_read_by_the_ratio_of_its_pairs_and_their_signs():
    rows = over_inputs(mq=(1e6, 1e6), mqlf=(1e6, 5e6), tumlsc=(2e6, 2e6))
    told = verdicts(judged(rows, reads=TO_BOTH))
    assert (
        reading(told, "13")
        == "TuMLSC 2.0 times MQ, 2 of 2 pairs; TuMLSC 0.89 times MQLF, 1 of 2 pairs"
    )


def test_a_ratio_below_one_is_read_with_the_signs_of_its_side():
    rows = over_inputs(mq=(4e6, 4e6), mqlf=(1e6, 1e6), tumlsc=(1e6, 2e6))
    told = reading(verdicts(judged(rows, reads=TO_BOTH)), "13")
    assert told.startswith("TuMLSC 0.35 times MQ, 2 of 2 pairs; ")


def test_what_several_statements_compare_is_read_once_and_as_what_counts_has_it():
    rows = two()
    reads = {"variants": ["mq"], "rivals": ["tumlsc"], "at": {"inputs": 20}}
    purpose = judged(rows, reads=reads, direction="lower", kind="purpose", kind_why="so")
    told = verdicts(purpose, judged(rows), judged(rows, id="again"))
    assert reading(told, "13") == "TuMLSC 2.0 times MQ"


def test_throughput_is_read_first_and_else_what_there_is():
    slow = judged(two(), quantity="latency_ms_mean", direction="lower")
    assert reading(verdicts(slow, judged(two())), "13") == "TuMLSC 2.0 times MQ"
    rows = [open_row("13", line, 20, ms) for line, ms in (("mq", 20.0), ("tumlsc", 5.0))]
    slow = judged(rows, quantity="latency_ms_mean", direction="lower")
    told = "latency, k-OS, 20 inputs: TuMLSC 0.25 times MQ"
    assert reading(verdicts(slow), "13") == told


def part(above, below, ratio, where="F, 2 inputs"):
    names = {"above": above, "below": below, "where": f"{where}: {above} over {below}"}
    return {"figures": ["13"], "ratio": ratio, "sign": 1 if ratio > 1 else -1, **names}


def of(*parts, quantity="throughput_tps"):
    known = {"kind": "result", "repeats": "", "comparator": "pairs", "quantity": quantity}
    return {**known, "parts": parts}


def test_a_reading_does_not_repeat_itself():
    told = verdicts(
        of(part("TuMLSC at 4", "that at 1", 0.78), part("TuMLSC at 4", "its best", 0.78))
    )
    assert reading(told, "13") == "TuMLSC at 4: 0.78 times that at 1"
    told = verdicts(of(part("TuMLSC", "MQ", 2.0), part("TuMLSC", "MQLF", 2.0)))
    assert reading(told, "13") == "TuMLSC 2.0 times MQ; TuMLSC 2.0 times MQLF"


def test_a_reading_is_of_one_comparator():
    twice = of(part("PIM-Tree", "B+-Tree", 2.0)) | {"comparator": "ordering"}
    alike = of(part("PIM-Tree", "B+-Tree", 1.0, where="F, over windows")) | {
        "comparator": "steeper"
    }
    for told in (verdicts(twice, alike), verdicts(alike, twice)):
        assert reading(told, "13") == "PIM-Tree 2.0 times B+-Tree"


def test_a_share_of_a_multiple_is_read_as_one():
    told = verdicts(of(part("ScaleJoin at 2", "2 times that at 1", 0.97)))
    assert reading(told, "13") == "ScaleJoin at 2: 0.97 of 2 times that at 1"


def test_what_is_read_is_named_where_it_is_no_throughput_and_so_is_one_place():
    late = [part("output", "input", 7.6, where=f"K, {name}") for name in ("MQ", "WiML")]
    told = reading(verdicts(of(late[1], quantity="latency_ms_mean")), "13")
    assert told == "latency, K, WiML: output 7.6 times input"
    told = reading(verdicts(of(*late, quantity="latency_ms_mean")), "13")
    assert told == "latency: output 7.6 times input, 2 of 2 pairs"


def test_signs_without_a_ratio_are_read_as_such():
    rows = [row("13", line, 20) for line in ("mq", "tumlsc")]
    rows += [open_row("13", "mq", 20, 9.0, saturated=True), open_row("13", "tumlsc", 20, 9.0)]
    assert reading(verdicts(judged(rows)), "13") == "TuMLSC ahead of MQ in 1 of 1 pairs"


def test_nothing_is_read_where_nothing_is_judged_on_a_figure():
    assert reading(verdicts(judged([])), "13") == ""
    assert reading(verdicts(judged(two())), "14") == ""


def test_the_footer_counts_the_results_on_a_figure_each_once():
    told = verdicts(
        judged(two()),
        judged(two(), direction="lower"),
        judged(two(), repeats="a-claim"),
        judged(two(), kind="purpose", kind_why="so"),
        judged([]),
        judged([], figures=["14"]),
    )
    assert (
        answers(told, "13") == "3 statements: 1 holds here, 1 does not hold, 1 is not measured here"
    )
    assert answers(told, "15") == "no statement is judged on it"


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ((7, 3, 0, 2, 0), "7 hold here, 3 do not hold, 2 cannot be told"),
        ((1, 1, 1, 0, 1), "1 holds here, 1 does not hold, 1 is mixed, 1 is not measured here"),
        ((0, 0, 2, 0, 0), "2 are mixed"),
    ],
)
def test_answers_are_counted_in_words(counts, told):
    assert counted(dict(zip(DIRECTIONS, counts, strict=True))) == told
