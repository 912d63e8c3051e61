"""The judge on invented rows: each answer, the information given with it, and the files."""

from __future__ import annotations

import json

import pytest

from experiments import papers
from experiments.judging import claims, published
from experiments.judging.comparators import comparators_of
from experiments.judging.floors import BETWEEN, ENOUGH, THROUGHPUT, Floors
from experiments.judging.pool import DIRECTIONS
from operators.contract import UsageError
from tests.invented import (
    MACHINE,
    PAPER,
    equal_runs,
    judged,
    open_row,
    points_over,
    row,
    two,
    write_raw,
)
from tests.invented_paper import paper_rows

BOTH = {"variants": ["tumlsc"], "rivals": ["mq", "mqlf"], "at": {"inputs": 20}}
LATENCY = {"quantity": "latency_ms_mean", "direction": "lower"}


def test_every_comparator_of_the_published_claims_is_one_of_ours_and_none_is_unused():
    names = papers.paper_names()
    used = {c.comparator for n in names for c in published.read_published(n).claims}
    assert used == {each for name in names for each in comparators_of(name)}


# Each answer.


def test_an_order_that_holds():
    found = judged(two())
    assert found["direction"] == "holds"
    assert found["ratio"] == pytest.approx(2.0)
    assert found["interval"] == pytest.approx([2.0, 2.0])
    assert found["pairs"] == {"for": 1, "of": 1, "left_out": 0}
    assert found["reason"] == (
        "Holds: throughput, k-OS, 20 inputs: TuMLSC over MQ: 2.0 times [2.0, 2.0] (range of 3)."
    )


def test_the_opposite_order_does_not_hold():
    found = judged(two(mq=2e6, tumlsc=1e6))
    assert found["direction"] == "does not hold"
    assert found["pairs"] == {"for": 0, "of": 1, "left_out": 0}
    assert found["reason"].startswith("Does not hold: throughput, k-OS")


def test_the_ratios_of_all_pairs_are_pooled_and_their_signs_counted():
    rows = two() + points_over("13", "mqlf", {20: (0.5e6, 5.0)})
    found = judged(rows, reads=BOTH)
    # The geometric mean of 2 and 4.
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(8**0.5))
    assert "throughput is higher in 2 of 2 pairs, 2.8 times [2.8, 2.8]" in found["reason"]


def test_a_clear_ratio_with_under_two_thirds_of_the_signs_is_mixed():
    # 8 times one rival, and 0.8 times the other.
    rows = two(tumlsc=8e6) + points_over("13", "mqlf", {20: (1e7, 5.0)})
    found = judged(rows, reads=BOTH)
    assert (found["direction"], found["pairs"]["for"], found["pairs"]["of"]) == ("mixed", 1, 2)
    assert "clear by themselves: 1 for it, 1 against" in found["reason"]
    # Two of three signs are enough.
    rows += points_over("13", "tumlmc", {20: (1e6, 5.0)})
    reads = BOTH | {"rivals": ["mq", "mqlf", "tumlmc"]}
    assert judged(rows, reads=reads)["direction"] == "holds"
    # The same for a statement that does not hold.
    assert judged(rows, reads=BOTH, direction="lower")["direction"] == "mixed"


def test_a_comparison_that_two_figures_share_counts_once():
    # Figure 9 shows the 20 inputs of figure 14.
    rows = [
        each
        for line, tps in (("mq", 1e6), ("tumlsc", 2e6))
        for each in points_over("14", line, {20: (tps, 5.0)})
    ]
    found = judged(rows, figures=["9", "14"])
    assert (len(found["parts"]), found["pairs"]["of"]) == (1, 1)


def test_figures_that_are_not_measured_are_named_together():
    found = judged(two(), figures=["14", "15", "16", "18"])
    assert (found["direction"], found["reason"]) == (
        "not measured here",
        "Not measured here: figures 14 to 16 and 18.",
    )
    found = judged(two(), figures=["13", "14"])
    assert found["direction"] == "holds"
    assert found["reason"].endswith("; not measured: figure 14.")


def test_of_many_missing_points_the_first_few_are_named():
    rivals = ["mq", "mq-cached", "mqlf-rings", "tumlsc-batch", "tumlsc-panes"]
    reads = {"variants": ["tumlsc"], "rivals": rivals, "at": {"inputs": 20}}
    found = judged(two() + points_over("13", "mqlf-rings", {1: (1e6, 5.0)}), reads=reads)
    assert "tumlsc-batch at 20 inputs in figure 13, and 1 more" in found["reason"]
    assert len(found["missing"]) == 4


def test_missing_points_are_named():
    found = judged(points_over("13", "tumlsc", {4: (1e6, 5.0)}))
    assert found["direction"] == "not measured here"
    assert "TuMLSC at 20 inputs in figure 13" in found["reason"]
    assert "MQ at 20 inputs in figure 13" in found["reason"]


# The information given with an answer.


@pytest.mark.parametrize(("value", "told"), [(1.5, "1.5"), (10, "10"), (50, "50")])
def test_the_size_of_the_paper_changes_no_direction(value, told):
    found = judged(two(), value=value)
    assert found["direction"] == "holds"
    assert found["size"] == {
        "here": pytest.approx(2.0),
        "paper": value,
        "unit": "times",
        "text": f"2.0 times here, {told} in the paper",
    }


def test_the_size_of_what_is_lower_is_told_as_times_less_and_a_lost_one_as_lost():
    assert (
        judged(two(), **LATENCY, value=3)["size"]["text"] == "1.00 times less here, 3 in the paper"
    )
    rows = [open_row("13", line, 20, ms) for line, ms in (("mq", 20.0), ("tumlsc", 5.0))]
    assert judged(rows, **LATENCY, value=3)["size"]["text"] == "4.0 times less here, 3 in the paper"
    assert judged(two(), value="lost")["size"]["text"] == "2.0 times here; the text lost its own"
    assert judged(two(), value="lost", unit="t/s")["size"] is None


@pytest.mark.parametrize("cores", [2, 32])
def test_the_regime_caps_nothing(cores):
    holds, fails = judged(two(cores=cores)), judged(two(mq=4e6, cores=cores))
    assert (holds["direction"], fails["direction"]) == ("holds", "does not hold")
    assert holds["regime"]["text"] == f"21 threads on {cores} cores; the paper's machine has 24"
    assert holds["regime"]["oversubscribed"] == (cores == 2)
    assert fails["reason"].startswith(
        "Does not hold on 2 cores" if cores == 2 else "Does not hold:"
    )


def test_what_is_about_threads_side_by_side_says_so_beside_its_regime():
    rising = {"comparator": "monotone", "direction": "rises", "figures": ["15"]}
    reads = {"variants": ["wiml"], "at": {"inputs": "all"}}
    rows = points_over("15", "wiml", {1: (2e6, 5.0), 20: (1e6, 5.0)}, cores=2)
    found = judged(rows, **rising, reads=reads, core_per_thread=True)
    assert found["direction"] == "does not hold"
    assert found["regime"]["text"] == (
        "up to 21 threads on 2 cores; the paper's machine has 24; about threads side by side"
    )


def test_what_requires_a_core_for_each_thread_is_judged_where_they_have_one():
    asked = {"comparator": "monotone", "direction": "rises", "figures": ["15"]}
    asked["core_per_thread"] = "required"

    def over(inputs, **throughputs):
        reads = {"variants": ["wiml"], "at": {"inputs": inputs}}
        rows = [
            each
            for number, tps in zip((1, 2, 20), (2e6, 3e6, 1e6), strict=True)
            for each in points_over("15", "wiml", {number: (tps, 5.0)}, **throughputs)
        ]
        return judged(rows, **asked, reads=reads)

    # 2, 3 and 21 threads: a setting with more threads than cores is not read, and reported as
    # missing.
    found = over([1, 2, 20], cores=4)
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(1.5))
    assert found["missing"] == ["a core for each of 21 threads in figure 15"]
    assert found["regime"]["threads"] == 3 and not found["regime"]["oversubscribed"]
    # With as many cores as threads everything is read.
    found = over([1, 2, 20], cores=21)
    assert (found["direction"], found["missing"]) == ("does not hold", [])
    # If no setting has a core for each thread, there is no answer.
    found = over("all", cores=1)
    assert (found["direction"], found["regime"]) == ("not measured here", None)
    assert found["reason"].startswith("Not measured here: a core for each of 2 threads in figure ")
    rows = two(cores=2)
    found = judged(rows, core_per_thread="required")
    assert found["reason"] == ("Not measured here: a core for each of 21 threads in figure 13.")
    # Rows that are missing are not reported as missing cores.
    assert "10 inputs in figure 15" in str(over([1, 10, 20], cores=4)["missing"])


def test_the_evidence_caps_nothing_either():
    found = judged(two(noisy=True))
    assert (found["direction"], found["evidence"]["noisy"]) == ("holds", 1.0)
    assert found["evidence"]["text"] == "3 processes, 2 of 2 points noisy, none fell behind"
    assert judged(two())["evidence"]["text"] == "3 processes, none noisy, none fell behind"


def test_a_count_has_neither_noise_nor_regime():
    rows = [row("13", "mq", 4, cores=2), row("14", "mq", 4, cores=2)]
    found = judged(
        rows,
        figures=["14", "13"],
        quantity="outputs_per_tuple",
        comparator="figure-ordering",
        reads={"variants": ["mq"], "at": {"inputs": "all"}},
    )
    assert (found["direction"], found["regime"]) == ("holds", None)


# Files.


def test_all_published_claims_are_judged_and_written(tmp_path):
    # Four processes: two choose the best ratio, and two judge it.
    rows = [*paper_rows(cores=64, repetitions=4), *equal_runs(cores=64)]
    files = write_raw(tmp_path / "raw", rows)
    output = tmp_path / "claims" / f"{PAPER}.json"
    written = claims.judge(PAPER, files, output)
    assert json.loads(output.read_text("utf-8")) == json.loads(json.dumps(written))
    for claim in written["claims"]:
        assert claim["reason"].endswith(".")
        shown = claim["comparator"] == "absolute"
        assert claim["direction"] == ("not measured here" if shown else "holds"), claim["reason"]
        assert claim["missing"] == []
    assert written["answers"] == dict.fromkeys(DIRECTIONS, 0) | {"holds": 15}
    assert written["headline"] == "15 findings: 15 hold here"
    assert [(output.parent / file).resolve() for file in written["raw_files"]] == sorted(files)
    about = [written[name] for name in ("paper", "profiles", "processes", "machine", "cores")]
    assert about == [PAPER, ["quick"], 4, MACHINE, 64]


def test_two_cores_change_badges_and_no_answer(tmp_path):
    files = write_raw(tmp_path / "raw", [*paper_rows(cores=2), *equal_runs(cores=2)])
    written = claims.judge(PAPER, files, tmp_path / "claims.json")
    assert written["headline"] == "15 findings: 15 hold here"
    regimes = {claim["regime"]["oversubscribed"] for claim in written["claims"] if claim["regime"]}
    assert regimes == {True}


def test_the_floors_of_noise_are_written(tmp_path):
    own = write_raw(tmp_path / "own", two())
    others = write_raw(tmp_path / "others", equal_runs(1.1, latency=1.5))
    written = claims.judge(PAPER, own, tmp_path / "claims.json", [*own, *others])
    told = {(each["of"], each["oversubscribed"]): each for each in written["floors"]}
    assert set(told) == {(kind, False) for kind in (THROUGHPUT, "latency", BETWEEN)}
    assert told[THROUGHPUT, False]["factor"] == pytest.approx(1.1)
    assert (told["latency", False]["factor"], told["latency", False]["pairs"]) == (
        pytest.approx(1.5),
        2 * ENOUGH,
    )
    # A round trip through JSON preserves the floors.
    assert (
        Floors.of_records(json.loads(json.dumps(written["floors"]))).records() == written["floors"]
    )
    # The paper's rows alone would allow no answer.
    alone = claims.judge(PAPER, own, tmp_path / "alone.json")
    clear = [sum(each["direction"] != "cannot tell" for each in found["claims"])
             for found in (written, alone)]  # fmt: skip
    assert clear[0] > clear[1]


def test_floors_of_several_machines_are_none(tmp_path):
    own = write_raw(tmp_path / "own", two())
    others = write_raw(tmp_path / "others", equal_runs(machine="another"))
    with pytest.raises(UsageError, match="raw results of 2 machines"):
        claims.judge(PAPER, own, tmp_path / "claims.json", [*own, *others])


def test_claims_and_findings_are_listed_before_and_after_they_are_judged(tmp_path):
    before, asked = claims.list_claims(tmp_path), claims.list_findings(tmp_path)
    assert {each["direction"] for each in (*before, *asked)} == {None}
    assert claims.list_claims(None) == before
    claims.judge(PAPER, write_raw(tmp_path, two()), tmp_path / f"{PAPER}.json")
    after, answered = claims.list_claims(tmp_path), claims.list_findings(tmp_path)
    assert [claim["id"] for claim in after] == [claim["id"] for claim in before]
    assert [one["id"] for one in answered] == [one["id"] for one in asked]
    assert set(before[0]) <= set(after[0])
    assert set(asked[0]) <= set(answered[0])
    own = [each["direction"] for each in (*after, *answered) if each["paper"] == PAPER]
    assert own and None not in own
    assert [one["id"] for each in answered for one in each["statements"]] != []


def test_missing_and_broken_verdicts_are_told_apart(tmp_path):
    with pytest.raises(UsageError, match="make figures"):
        claims.read_verdicts(tmp_path / "claims.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(UsageError, match="cannot read verdicts"):
        claims.read_verdicts(broken)
