"""The judge on invented rows: each verdict, each bound and each limit on a verdict."""

from __future__ import annotations

import json

import pytest
import yaml

from experiments import papers
from experiments.judging import claims
from experiments.judging.comparators import comparators_of
from operators.contract import UsageError
from tests.invented import (
    MACHINE,
    PAPER,
    PUBLISHED,
    claim_about,
    judged,
    points_over,
    row,
    two,
    write_raw,
)
from tests.invented_paper import paper_rows


def test_every_comparator_of_the_published_claims_is_one_of_ours_and_none_is_unused():
    names = papers.paper_names()
    used = {c["comparator"] for name in names for c in claims.read_published(name)["claims"]}
    assert used == {each for name in names for each in comparators_of(name)}


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
    rows = two() + points_over("13", "mqlf", {20: (4e6, 5.0)})
    reads = {"variants": ["tumlsc"], "rivals": ["mq", "mqlf"], "at": {"inputs": 20}}
    found = judged(rows, reads=reads)
    assert found["verdict"] == "partial"
    assert "Holds for throughput in 1 of 2" in found["reason"]
    assert "fails in 1 of 2" in found["reason"]
    # The weakest comparison is the one reported.
    assert found["measured"] == pytest.approx(0.5)


def test_a_few_failures_among_many_that_are_unclear_contradict_nothing():
    rows = two(mq=2e6, tumlsc=1e6)
    for rival in ("mqlf", "tumlmc"):
        rows += points_over("13", rival, {20: (1.01e6, 5.0)})
    reads = {"variants": ["tumlsc"], "rivals": ["mq", "mqlf", "tumlmc"], "at": {"inputs": 20}}
    assert judged(rows, reads=reads)["verdict"] == "not testable here"
    reads = reads | {"rivals": ["mq", "mqlf"]}
    assert judged(rows, reads=reads)["verdict"] == "contradicted"


def test_figures_that_are_not_measured_are_named_together():
    found = judged(two(), figures=["14", "15", "16", "18"])
    assert (found["verdict"], found["reason"]) == (
        "not testable here",
        "Not measured here: figures 14 to 16 and 18.",
    )
    found = judged(two(), figures=["13", "14"])
    assert found["verdict"] == "partial"
    assert found["reason"].endswith("; not measured: figure 14.")


def test_of_many_missing_points_the_first_few_are_named():
    rivals = ["mq", "mq-cached", "mqlf-rings", "tumlsc-batch", "tumlsc-panes"]
    reads = {"variants": ["tumlsc"], "rivals": rivals, "at": {"inputs": 20}}
    found = judged(two() + points_over("13", "mqlf-rings", {1: (1e6, 5.0)}), reads=reads)
    assert "tumlsc-batch at 20 inputs in figure 13, and 1 more" in found["reason"]
    assert len(found["missing"]) == 4


def test_missing_points_are_named():
    found = judged(points_over("13", "tumlsc", {4: (1e6, 5.0)}))
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
        rows.append(row("13", "mq", 20, repetition=repetition, throughput_tps=mq))
        rows.append(row("13", "tumlsc", 20, repetition=repetition, throughput_tps=tumlsc))
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


SIDE_BY_SIDE = {
    "figures": ["15"],
    "comparator": "monotone",
    "direction": "rises",
    "reads": {"variants": ["wiml"], "at": {"inputs": "all"}},
    "core_per_thread": True,
}


def test_threads_side_by_side_need_cores():
    rows = points_over("15", "wiml", {1: (1e6, 5.0), 20: (5e6, 5.0)}, cores=2)
    found = judged(rows, **SIDE_BY_SIDE)
    assert found["verdict"] == "not testable here"
    assert "21 threads had 2 cores" in found["reason"]
    assert "5.00 times" in found["reason"]


def test_threads_side_by_side_are_judged_by_the_points_with_cores():
    by_inputs = {1: (1e6, 5.0), 3: (3e6, 5.0), 20: (1e6, 5.0)}
    found = judged(points_over("15", "wiml", by_inputs, cores=4), **SIDE_BY_SIDE)
    assert found["verdict"] == "reproduced"
    assert found["measured_what"] == "k-OI: WiML at 3 inputs over 1"


def test_what_the_paper_does_not_run_is_not_judged(monkeypatch):
    published = PUBLISHED | {"claims": [claim_about(figures=["13", "15"])]}
    monkeypatch.setattr(claims, "read_published", lambda paper: published)
    rows = two() + points_over("15", "mq", {20: (1e6, 5.0)})
    # Drawn in the extended form of figure 15.
    rows += points_over("15", "tumlsc", {20: (2e5, 5.0)})
    (found,) = claims.judge_paper(PAPER, rows)
    # Nor is it missed.
    assert (found["verdict"], found["missing"]) == ("reproduced", [])


# Files.


@pytest.fixture(scope="module")
def two_cores(tmp_path_factory):
    """Return the files of invented rows of the whole paper on two cores."""
    return write_raw(tmp_path_factory.mktemp("two") / "raw", paper_rows(cores=2))


def test_all_published_claims_are_judged_and_written(tmp_path):
    files = write_raw(tmp_path / "raw", paper_rows(cores=64))
    output = tmp_path / "claims" / f"{PAPER}.json"
    written = claims.judge(PAPER, files, output)
    assert json.loads(output.read_text("utf-8")) == json.loads(json.dumps(written))
    assert sum(written["verdicts"].values()) == len(written["claims"])
    for claim in written["claims"]:
        assert claim["reason"].endswith(".")
        shown = claim["comparator"] == "absolute"
        assert claim["verdict"] == ("not testable here" if shown else "reproduced"), claim["id"]
        assert (claim["limits"], claim["missing"]) == ([], [])
    assert [(output.parent / file).resolve() for file in written["raw_files"]] == sorted(files)
    about = [written[name] for name in ("paper", "profiles", "repetitions", "machine", "cores")]
    assert about == [PAPER, ["quick"], 3, MACHINE, 64]


def test_nothing_about_twenty_inputs_is_reproduced_on_two_cores(two_cores, tmp_path):
    written = claims.judge(PAPER, two_cores, tmp_path / "claims.json")
    assert written["verdicts"]["contradicted"] == 0
    reproduced = [c["id"] for c in written["claims"] if c["verdict"] == "reproduced"]
    assert reproduced == ["keys-raise-output"]


def test_claims_are_listed_before_and_after_they_are_judged(tmp_path):
    before = claims.list_claims(tmp_path)
    assert {claim["verdict"] for claim in before} == {None}
    assert claims.list_claims(None) == before
    claims.judge(PAPER, write_raw(tmp_path, two()), tmp_path / f"{PAPER}.json")
    after = claims.list_claims(tmp_path)
    assert [claim["id"] for claim in after] == [claim["id"] for claim in before]
    assert set(before[0]) <= set(after[0])
    assert None not in {claim["verdict"] for claim in after}


def test_missing_and_broken_verdicts_are_told_apart(tmp_path):
    with pytest.raises(UsageError, match="make figures"):
        claims.read_verdicts(tmp_path / "claims.json")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(UsageError, match="cannot read verdicts"):
        claims.read_verdicts(broken)


# What read_published refuses.

SLIPS = {
    "comparator: vibes": "'vibes'.*ordering",
    "quantity: speed_kmh": "unknown quantity 'speed_kmh'.*throughput_tps",
    'figures: ["99"]': "no figure '99' of multiway_aggregation; there are: 7,",
    "figures: [fig_13]": "no figure 'fig_13'",
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_unknown_name_in_a_claim_is_an_error_that_lists_what_there_is(
    slip, tmp_path, monkeypatch
):
    asked = claim_about(figures=["13"], comparator="ordering") | yaml.safe_load(slip)
    publish(tmp_path, monkeypatch, claims=[asked])
    with pytest.raises(UsageError, match=SLIPS[slip]):
        claims.read_published(PAPER)


def publish(folder, monkeypatch, **said):
    """Have the paper's statements read from a file that says this, None for nothing."""
    whole = {key: value for key, value in (PUBLISHED | said).items() if value is not None}
    path = folder / "published.yaml"
    path.write_text(yaml.safe_dump(whole))
    monkeypatch.setattr(papers, "published_file", lambda paper: path)


@pytest.mark.parametrize("name", claims.SAID)
def test_what_a_paper_does_not_say_is_named(name, tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, **{"claims": [claim_about()], name: None})
    with pytest.raises(UsageError, match=f"published.yaml: lacks {name}$"):
        claims.read_published(PAPER)


@pytest.mark.parametrize("name", claims.CLAIMED)
def test_what_a_claim_does_not_say_is_named(name, tmp_path, monkeypatch):
    asked = {key: value for key, value in claim_about().items() if key != name}
    publish(tmp_path, monkeypatch, claims=[claim_about(), asked])
    with pytest.raises(UsageError, match=f"published.yaml, claim 2: lacks {name}$"):
        claims.read_published(PAPER)


def test_the_statements_of_another_paper_are_refused(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, paper="another", claims=[claim_about()])
    with pytest.raises(UsageError, match=f"is of 'another', not of '{PAPER}'"):
        claims.read_published(PAPER)
