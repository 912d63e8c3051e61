"""The judge on invented rows: each verdict, each bound and each limit on a verdict."""

from __future__ import annotations

import json

import pytest

from experiments.judging import claims
from experiments.judging.comparators import COMPARATORS
from operators.contract import UsageError
from tests.invented import (
    PUBLISHED,
    claim_about,
    judged,
    points_by_inputs,
    row,
    two,
    write_raw,
)
from tests.invented_paper import paper_rows


def test_every_comparator_of_the_published_claims_is_one_of_ours_and_none_is_unused():
    used = {
        claim["comparator"]
        for path in claims.published_files()
        for claim in claims.read_published(path)["claims"]
    }
    assert used == set(COMPARATORS)


# Each verdict.


def test_an_order_that_holds_is_reproduced():
    found = judged(two())
    assert found["verdict"] == "reproduced"
    assert found["measured"] == pytest.approx(2.0)
    assert found["interval"] == pytest.approx([2.0, 2.0])
    assert found["reason"] == (
        "Holds for throughput: k-OS, 20 inputs: TuMLSC over MQ is 2.00 times [2.00, 2.00]."
    )


def test_the_opposite_order_is_contradicted():
    found = judged(two(mq=2e6, tumlsc=1e6))
    assert found["verdict"] == "contradicted"
    assert found["reason"].startswith("Fails for throughput: ")


def test_an_order_against_one_of_two_rivals_is_partial():
    rows = two() + points_by_inputs("fig_13", "mqlf", {20: (4e6, 5.0)})
    reads = {"variants": ["tumlsc"], "rivals": ["mq", "mqlf"], "inputs": 20}
    found = judged(rows, reads=reads)
    assert found["verdict"] == "partial"
    assert "Holds for throughput in 1 of 2" in found["reason"]
    assert "fails in 1 of 2" in found["reason"]
    # The weakest comparison is the one reported.
    assert found["measured"] == pytest.approx(0.5)


def test_a_few_failures_among_many_that_are_unclear_contradict_nothing():
    rows = two(mq=2e6, tumlsc=1e6)
    for rival in ("mqlf", "wiml"):
        rows += points_by_inputs("fig_13", rival, {20: (1.01e6, 5.0)})
    reads = {"variants": ["tumlsc"], "rivals": ["mq", "mqlf", "wiml"], "inputs": 20}
    assert judged(rows, reads=reads)["verdict"] == "not testable here"
    reads = reads | {"rivals": ["mq", "mqlf"]}
    assert judged(rows, reads=reads)["verdict"] == "contradicted"


def test_figures_that_are_not_measured_are_named_together():
    found = judged(two(), figures=["fig_14", "fig_15", "fig_16", "fig_18"])
    assert (found["verdict"], found["reason"]) == (
        "not testable here",
        "Not measured here: figures 14 to 16 and 18.",
    )
    found = judged(two(), figures=["fig_13", "fig_14"])
    assert found["verdict"] == "partial"
    assert found["reason"].endswith("; not measured: figure 14.")


def test_of_many_missing_points_the_first_few_are_named():
    rows = two() + points_by_inputs("fig_13", "wiml", {1: (1e6, 5.0)})
    reads = {"variants": ["tumlsc"], "rivals": ["mq", "a", "b", "c", "d"], "inputs": 20}
    found = judged(rows, reads=reads)
    assert "c at 20 inputs in figure 13, and 1 more" in found["reason"]
    assert len(found["missing"]) == 4


def test_missing_points_are_named():
    found = judged(points_by_inputs("fig_13", "tumlsc", {4: (1e6, 5.0)}))
    assert found["verdict"] == "not testable here"
    assert "TuMLSC at 20 inputs in figure 13" in found["reason"]
    assert "MQ at 20 inputs in figure 13" in found["reason"]


# What a difference must exceed.


@pytest.mark.parametrize(
    ("ratio", "repetitions", "verdict"),
    [
        (1.25, 1, "not testable here"),
        (1.35, 1, "partial"),
        (1.04, 3, "not testable here"),
        (1.06, 3, "reproduced"),
    ],
)
def test_a_difference_below_the_bound_says_nothing(ratio, repetitions, verdict):
    assert judged(two(tumlsc=ratio * 1e6, repetitions=repetitions))["verdict"] == verdict


def test_the_reason_states_the_bound():
    assert "up to 1.30 could be noise" in judged(two(tumlsc=1.2e6, repetitions=1))["reason"]


def test_two_runs_of_the_same_thing_raise_the_bound():
    assert judged(two(tumlsc=1.5e6), floor=1.6)["verdict"] == "not testable here"


def test_noise_widens_the_bound():
    assert judged(two(tumlsc=1.6e6, repetitions=1, noisy=True))["verdict"] == "not testable here"


def test_an_interval_that_crosses_one_says_nothing():
    rows = []
    for repetition, (mq, tumlsc) in enumerate([(1e6, 3e6), (2e6, 1e6), (1e6, 1.2e6)], start=1):
        rows.append(row("fig_13", "mq", 20, repetition=repetition, throughput_tps=mq))
        rows.append(row("fig_13", "tumlsc", 20, repetition=repetition, throughput_tps=tumlsc))
    assert judged(rows)["verdict"] == "not testable here"


# What keeps a claim from being reproduced.


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"cores": 2}, "up to 21 threads on 2 cores"),
        ({"noisy": True}, "noise"),
        ({"steady": False}, "no steady state"),
        ({"coarse": True}, "coarse points"),
        ({"repetitions": 1}, "1 repetition"),
        ({"repetitions": 2}, "2 repetitions"),
        ({"saturated": True}, "saturated points"),
    ],
)
def test_a_limit_makes_it_partial_and_stands_in_the_reason(given, limit):
    found = judged(two(tumlsc=5e6, **given))
    assert found["verdict"] == "partial"
    assert found["limits"] == [limit]
    assert limit in found["reason"]


def test_a_statement_of_which_the_figures_hold_a_part_is_partial():
    found = judged(two(), part_of="the paper says it of twelve queries")
    assert (found["verdict"], found["limits"]) == (
        "partial",
        ["the paper says it of twelve queries"],
    )


def test_the_opposite_on_too_few_cores_is_contradicted_and_says_how_few():
    found = judged(two(mq=2e6, tumlsc=1e6, cores=2))
    assert found["verdict"] == "contradicted"
    assert "21 threads on 2 cores" in found["reason"]


def test_threads_side_by_side_need_cores():
    rows = points_by_inputs("fig_13", "wiml", {1: (1e6, 5.0), 20: (5e6, 5.0)}, cores=2)
    found = judged(
        rows,
        comparator="monotone",
        direction="rises",
        reads={"variants": ["wiml"], "inputs": "all"},
        core_per_thread=True,
    )
    assert found["verdict"] == "not testable here"
    assert "21 threads had 2 cores" in found["reason"]
    assert "5.00 times" in found["reason"]


def test_threads_side_by_side_are_judged_by_the_points_with_cores():
    rows = points_by_inputs(
        "fig_13", "wiml", {1: (1e6, 5.0), 3: (3e6, 5.0), 20: (1e6, 5.0)}, cores=4
    )
    found = judged(
        rows,
        comparator="monotone",
        direction="rises",
        reads={"variants": ["wiml"], "inputs": "all"},
        core_per_thread=True,
    )
    assert found["verdict"] == "reproduced"
    assert found["measured_what"] == "k-OS: WiML at 3 inputs over 1"


def test_what_the_paper_does_not_run_is_not_judged():
    published = PUBLISHED | {
        "figures": {"fig_13": {"variants": ["tumlsc", "mq"]}, "fig_15": {"variants": ["mq"]}},
        "claims": [claim_about(figures=["fig_13", "fig_15"])],
    }
    rows = two() + points_by_inputs("fig_15", "mq", {20: (1e6, 5.0)})
    rows += points_by_inputs("fig_15", "tumlsc", {20: (2e5, 5.0)})
    (found,) = claims.judge_paper(rows, published)
    # Nor is it missed.
    assert (found["verdict"], found["missing"]) == ("reproduced", [])


# Files.


def test_all_published_claims_are_judged_and_written(tmp_path):
    files = write_raw(tmp_path / "raw", paper_rows(cores=64))
    output = tmp_path / "claims.json"
    written = claims.judge(files, claims.published_files(), output)
    assert json.loads(output.read_text("utf-8")) == json.loads(json.dumps(written))
    assert sum(written["verdicts"].values()) == len(written["claims"])
    for claim in written["claims"]:
        assert claim["reason"].endswith(".")
        shown = claim["comparator"] == "absolute"
        assert claim["verdict"] == ("not testable here" if shown else "reproduced"), claim["id"]
        assert (claim["limits"], claim["missing"]) == ([], [])
    assert [tmp_path / file for file in written["raw_files"]] == sorted(files)


def test_nothing_about_twenty_inputs_is_reproduced_on_two_cores(tmp_path):
    files = write_raw(tmp_path / "raw", paper_rows(cores=2))
    written = claims.judge(files, claims.published_files(), tmp_path / "claims.json")
    assert written["verdicts"]["contradicted"] == 0
    reproduced = [c["id"] for c in written["claims"] if c["verdict"] == "reproduced"]
    assert reproduced == ["keys-raise-output"]


def test_claims_are_listed_before_and_after_they_are_judged(tmp_path):
    output = tmp_path / "claims.json"
    before = claims.list_claims(output)
    assert {claim["verdict"] for claim in before} == {None}
    claims.judge(write_raw(tmp_path, two()), claims.published_files(), output)
    after = claims.list_claims(output)
    assert [claim["id"] for claim in after] == [claim["id"] for claim in before]
    assert set(before[0]) <= set(after[0])


def test_missing_and_broken_verdicts_are_told_apart(tmp_path):
    with pytest.raises(UsageError, match="make figures"):
        claims.read_verdicts(tmp_path / "claims.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(UsageError, match="cannot read verdicts"):
        claims.read_verdicts(broken)


def test_an_unknown_comparator_is_an_error_that_lists_them(tmp_path):
    path = tmp_path / "published.yaml"
    path.write_text("paper: x\nclaims: [{id: one, comparator: vibes}]\n")
    with pytest.raises(UsageError, match="'vibes'.*ordering"):
        claims.read_published(path)
