"""Readings say the opposite of what they say where the runs are the other way round."""

from __future__ import annotations

import pytest

from experiments.judging.claims import UsageError
from experiments.multiway_aggregation.snapshots import LiveRun
from experiments.ordered_processing.snapshots import TimeSpent
from experiments.pim_tree.snapshots import Inserts
from experiments.pim_tree.snapshots import JoinRun as WindowRun
from experiments.scalejoin.snapshots import JoinRun as ThetaRun
from experiments.streamcloud.snapshots import CarrierRun, Lost, StrategyRun
from figures import readings
from figures.multiway_aggregation import readings as of_gates
from figures.ordered_processing import readings as of_pipelines
from figures.pim_tree import readings as of_windows
from figures.readings import PERCENT, Reading, ranking, with_prediction
from figures.scalejoin import readings as of_joins
from figures.streamcloud import readings as of_queries


def gate_runs(t_gate, multi_queue, valid=True):
    rates = {"t-gate": t_gate, "multi-queue": multi_queue}
    return [
        LiveRun(variant, number, rate, valid or variant != "t-gate", 5, 2)
        for variant, own in rates.items()
        for number, rate in enumerate(own, 1)
    ]


FASTER, SLOWER = (4e6, 3e6, 5e6), (1e6, 1e6, 1e6)


def test_a_reading_is_the_ratio_round_by_round_with_its_range():
    assert of_gates.gates(gate_runs(FASTER, SLOWER)).text == "4.0 times [3.0, 5.0] in 3 runs"
    assert of_gates.gates(gate_runs(SLOWER, FASTER)).value == pytest.approx(0.25)
    assert of_gates.gates(gate_runs(FASTER, SLOWER, valid=False)).text == "no valid run"


def test_which_design_is_ahead_follows_from_the_runs():
    assert "T-Gate came out ahead; T-Gate was 4.0 times [3.0, 5.0] as fast as Multi-queue" in (
        of_gates.sentence(gate_runs(FASTER, SLOWER))
    )
    assert "Multi-queue came out ahead" in of_gates.sentence(gate_runs(SLOWER, FASTER))
    # The median of one is higher, and in one round the other was faster.
    mixed = gate_runs((4e6, 3e6, 1e6), (2e6, 2e6, 2e6))
    assert "T-Gate and Multi-queue came out alike" in of_gates.sentence(mixed)


def test_a_single_run_each_and_no_run_at_all_are_said():
    assert "one run each" in ranking({"A": {1: 2.0}, "B": {1: 1.0}})
    told = ranking({"A": {1: 2.0}, "B": {1: 1.0}, "C": {}})
    assert "A came out ahead" in told and told.endswith("No valid run of C.")
    assert "nothing to compare" in ranking({"A": {1: 2.0}, "B": {}})


@pytest.mark.parametrize(
    ("prediction", "word"),
    [(3.0, "as you said"), (2.5, "as you said"), (5.0, "less than you said"),
     (1.0, "more than you said")],
)  # fmt: skip
def test_a_prediction_is_held_against_the_range(prediction, word):
    picture = with_prediction(prediction, Reading("A over B", 3.0, 2.4, 3.2, 5))
    assert picture.reading.endswith(f"[2.4, 3.2] in 5 runs: {word}.")
    assert picture._repr_html_().count(word) == 2  # for the eye, and for those who hear it
    assert picture._repr_png_().startswith(b"\x89PNG")


def test_without_a_valid_run_a_prediction_is_drawn_alone():
    picture = with_prediction(2, readings.reading_of("A over B", []))
    assert "no valid run came out" in picture.reading
    assert picture._repr_html_()


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), float("inf"), True, "2"])
def test_a_prediction_that_is_no_number_above_zero_is_refused(wrong):
    with pytest.raises(UsageError, match="a prediction is a number above 0"):
        with_prediction(wrong, Reading("A over B", 3.0, None, None, 1))


def test_shares_are_percents_from_zero():
    spent = [TimeSpent(name, {"1 a": 1 - share, "2 b": share}, rate, True)
             for name, share, rate in (("ct", 0.8, 2e6), ("lp", 0.6, 1e6))]  # fmt: skip
    found = of_pipelines.last_share(spent)
    assert (found.unit, found.value, found.low, found.high) == (PERCENT, 70.0, 60.0, 80.0)
    assert "CT came out ahead" in of_pipelines.sentence(spent)
    assert with_prediction(70, found).reading.endswith("as you said.")


def test_joins_are_ranked_over_the_shortest_and_the_longest_window():
    rates = {("nested-loop-scalar", 256): 9e6, ("pim-tree", 256): 3e6,
             ("nested-loop-scalar", 4096): 1e5, ("pim-tree", 4096): 2e6}  # fmt: skip
    runs = [WindowRun(variant, window, rate, True) for (variant, window), rate in rates.items()]
    short, long = of_windows.sentence(runs).split("Windows of 4,096")
    assert "PIM-Tree was" not in short and "PIM-Tree was" in long
    assert of_windows.longest_window(runs).value == pytest.approx(20)
    told = of_windows.inserts_sentence([Inserts(0.0, (2, 2)), Inserts(1.0, (1, 3))])
    assert "r = 0 1.00 times" in told and "r = 1 1.50 times" in told


def test_more_threads_may_be_slower():
    runs = [ThetaRun("scale-join", 1, 2e9, (1.0,), True, False),
            ThetaRun("scale-join", 2, 1e9, (0.75, 0.25), True, True)]  # fmt: skip
    assert of_joins.more_threads(runs).value == pytest.approx(0.5)
    assert "2 threads over 1: 0.50 times" in of_joins.sentence(runs)
    assert "1.50 times" in of_joins.work_sentence(runs[1:])
    assert of_joins.more_threads(runs[:1]).text == "no valid run"


def test_strategies_losses_and_carriers():
    runs = [StrategyRun(name, count, rate * count, True, False)
            for name, rate in (("subquery-cluster", 1e6), ("operator-cluster", 2e6))
            for count in (1, 2)]  # fmt: skip
    assert of_queries.strategies(runs).value == pytest.approx(0.5)
    assert "With 2 instances" in of_queries.sentence(runs)
    lost = [Lost("transparent", 16, 200, 0, 0), Lost("best-effort", 16, 200, 30, 0),
            Lost("best-effort", 0, 200, 0, 0)]  # fmt: skip
    assert of_queries.lost(lost).value == pytest.approx(15)
    assert "a best-effort merger lost 30 of 200 rows (15 %)" in of_queries.lost_sentence(lost)


def test_carriers_that_disagree_are_called_a_fault():
    same = [CarrierRun("threads", 0, None, 9, "aa"), CarrierRun("stream", 8, 3, 9, "aa")]
    other = [same[0], CarrierRun("stream", 8, None, 9, "bb")]
    refused = [same[0], CarrierRun("stream", refused="no Java")]
    assert "All 2 carriers put out the same 9 rows, 1 of them in spite" in (
        of_queries.carriers_sentence(same)
    )
    assert "a fault" in of_queries.carriers_sentence(other)
    assert "Only 1 of 2 carriers ran" in of_queries.carriers_sentence(refused)
