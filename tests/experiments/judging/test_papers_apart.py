"""Two papers with equal figure ids, two machines, two sources: nothing is mixed."""

from __future__ import annotations

import json

import pytest

from experiments import papers, plan
from experiments.declare import Quantity, stem_of
from experiments.judging import claims
from experiments.judging.claim_types import Claim, Comparator, Comparison, RivalComparison
from experiments.judging.comparators import COMPARATORS, comparators_of
from experiments.judging.lookup import figure_names
from experiments.judging.points import gather, points_of_paper
from experiments.judging.published import claim_of, read_published
from experiments.profiles import load
from experiments.records import quantities, results
from figures import draw as drawing
from operators.contract import UsageError
from tests.invented import (
    DECLARED,
    PAPER,
    as_in_the_paper,
    claim_about,
    floors,
    points_of_durations,
    points_over,
    row,
    two,
    write_raw,
)
from tests.second_paper import CLAIMS, FIGURES, SECOND, figure, join, second

THEIRS = FIGURES[1]


def rows_of_both():
    """Return rows of figure 8 of both papers: durations at K-OS, and w-OS over inputs."""
    rows = points_of_durations("8", "mq", (400.0, 5000.0), throughput=1e6, repetitions=1)
    rows += points_over(THEIRS, "mq", {20: (4e6, 5.0)}, repetitions=1)
    return rows + points_over(THEIRS, "tumlsc", {20: (8e6, 5.0)}, repetitions=1)


def throughputs(points):
    return {(p.paper, p.figure, p.variant, p.value)
            for p in points if p.quantity == "throughput_tps"}  # fmt: skip


def test_figures_of_one_id_in_two_papers_never_mix_points():
    rows = rows_of_both()
    ours, theirs = gather(rows, DECLARED["8"]), gather(rows, THEIRS)
    assert throughputs(ours) == {(PAPER, "8", "mq", 1e6)}
    assert throughputs(theirs) == {(SECOND, "8", "mq", 4e6), (SECOND, "8", "tumlsc", 8e6)}
    assert not {point.identity for point in ours} & {point.identity for point in theirs}


def test_two_papers_that_show_the_same_setting_share_its_rows_and_not_its_points():
    rows = two()
    theirs = [point for point in points_of_paper(rows, second()) if point.figure == "5f"]
    ours = gather(rows, DECLARED["13"])
    assert {point.paper for point in theirs} == {SECOND}
    assert [point.values for point in theirs] == [point.values for point in ours]
    assert not {point.identity for point in ours} & {point.identity for point in theirs}


def test_each_paper_is_judged_by_its_own_figures(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path)
    # In the first paper's figure 8 MQ is faster, in the second's TuMLSC.
    rows = rows_of_both() + points_of_durations(
        "8", "tumlsc", (800.0, 1100.0), throughput=1e5, repetitions=1
    )
    (found, _) = claims.judge_paper(SECOND, rows)
    assert (found["paper"], found["ratio"]) == (SECOND, pytest.approx(2.0))
    assert [part["where"] for part in found["parts"]] == ["w-OS, 20 inputs: TuMLSC over MQ"]


def test_judging_one_paper_leaves_the_verdicts_on_the_other_alone(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path)
    files = write_raw(tmp_path / "raw", [*two(), *rows_of_both()])
    folder = tmp_path / "claims"
    written = [claims.judge(name, files, folder / f"{name}.json") for name in (PAPER, SECOND)]
    before = (folder / f"{PAPER}.json").read_bytes()
    claims.judge(SECOND, files[:1], folder / f"{SECOND}.json")
    assert (folder / f"{PAPER}.json").read_bytes() == before
    assert json.loads(before)["claims"] == json.loads(json.dumps(written[0]["claims"]))
    told = claims.list_claims(folder)
    assert {claim["paper"] for claim in told} == set(papers.paper_names())
    judged = [claim["direction"] for claim in told if claim["paper"] in (PAPER, SECOND)]
    assert judged and None not in judged
    asked = {finding["paper"] for finding in claims.list_findings(folder)}
    assert asked == set(papers.paper_names())
    # One paper is judged and the other is not: both are listed.
    (folder / f"{PAPER}.json").unlink()
    told = claims.list_claims(folder)
    assert {claim["direction"] is None for claim in told if claim["paper"] == PAPER} == {True}
    assert {claim["direction"] is None for claim in told if claim["paper"] == SECOND} == {False}


# Ids of panels.


def test_panels_go_through_judge_and_reasons(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path)
    rows = two() + points_over(THEIRS, "mq", {20: (1e6, 5.0)})
    rows += points_over(THEIRS, "tumlsc", {20: (2e6, 5.0)})
    (_, found) = claims.judge_paper(SECOND, rows, floors())
    # Figures 8a and 10c show the same runs, which count once.
    assert (found["direction"], found["missing"], len(found["parts"])) == ("holds", [], 2)
    (_, found) = claims.judge_paper(SECOND, two())
    assert found["missing"] == ["figure 8a", "figure 10c"]
    assert found["reason"].endswith("; not measured: figures 8a and 10c.")
    reads = CLAIMS[1]["reads"] | {"at": {"inputs": 4}}
    points = points_of_paper(rows, second())
    asked = claim_about(figures=["5f"], reads=reads)
    found = claims.judge_claim(claim_of(SECOND, asked), points, read_published(SECOND), FIGURES)
    assert "TuMLSC at 4 inputs in figure 5f" in found["reason"]


def test_panels_have_names_and_files_of_their_own():
    assert figure_names(["10c", "8", "8a", "5f", "9", "10"]) == "figures 5f, 8, 8a, 9, 10 and 10c"
    assert figure_names(["8c", "8b", "8a"]) == "figures 8a, 8b and 8c"
    stems = [stem_of(each) for each in ("5f", "8", "8a", "10c", "13")]
    assert stems == ["fig_05f", "fig_08", "fig_08a", "fig_10c", "fig_13"] == sorted(stems)


@pytest.mark.parametrize("slip", ["fig_08", "8A", "", "a8", "8.1"])
def test_an_id_that_no_file_could_go_by_is_refused(slip):
    with pytest.raises(ValueError, match="is no number with or without a letter"):
        figure(slip)


def test_a_paper_with_two_figures_of_one_id_is_refused():
    with pytest.raises(ValueError, match="second_paper has two figures with the id '8'"):
        second(figure("8"), figure("8a"), figure("8"))


def test_a_figure_under_a_heading_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="figure 8 of second_paper .*'elsewhere'; there are: all"):
        second(figure("8", heading="elsewhere"))


def test_a_paper_that_is_not_there_is_an_error_that_lists_those_there_are():
    with pytest.raises(
        UsageError, match="unknown paper 'none'; papers are: .*multiway_aggregation"
    ):
        papers.paper("none")


# Modules that a paper provides.


ALL_HOLD = Comparator(RivalComparison, lambda claim, lookup: [])


def test_a_paper_has_its_own_comparators_and_no_other_has_them(tmp_path, monkeypatch):
    asked = claim_about(figures=["8"], comparator="all-hold")
    join(monkeypatch, tmp_path, claims=[asked], comparators={"COMPARATORS": {"all-hold": ALL_HOLD}})
    assert comparators_of(SECOND) == COMPARATORS | {"all-hold": ALL_HOLD}
    assert {"bottleneck", "as-expected"} == comparators_of(PAPER).keys() - COMPARATORS.keys()
    (found,) = claims.judge_paper(SECOND, two())
    assert found["direction"] == "not measured here"


def test_a_comparator_of_another_paper_is_unknown(tmp_path, monkeypatch):
    asked = claim_about(figures=["8"], comparator="bottleneck")
    join(monkeypatch, tmp_path, claims=[asked])
    with pytest.raises(UsageError, match="claim 'a-claim': unknown comparator 'bottleneck'"):
        read_published(SECOND)


def test_a_comparator_whose_claims_have_no_direction_is_refused(tmp_path, monkeypatch):
    undirected = Comparator(Claim, lambda claim, lookup: [])
    join(monkeypatch, tmp_path, comparators={"COMPARATORS": {"vague": undirected}})
    with pytest.raises(
        UsageError,
        match=f"{SECOND} declares the comparator 'vague' with claims of type Claim, which lacks"
        " direction or tolerance: derive it from Comparison, or give it both",
    ):
        read_published(SECOND)


WRONG_TYPES = {
    "RivalReads": Comparator(Comparison, lambda claim, lookup: list(lookup.rivals(claim))),
    "CurveReads": Comparator(Comparison, lambda claim, lookup: lookup.over(claim, "8", "mq")),
}


@pytest.mark.parametrize("asked_for", WRONG_TYPES)
def test_a_comparator_that_asks_for_what_its_claims_lack_is_named(asked_for, tmp_path, monkeypatch):
    reads = {"variants": ["mq"], "at": {"inputs": "all"}}
    asked = claim_about(figures=["8"], comparator="mistyped", reads=reads)
    own = {"COMPARATORS": {"mistyped": WRONG_TYPES[asked_for]}}
    join(monkeypatch, tmp_path, claims=[asked], comparators=own)
    with pytest.raises(
        UsageError,
        match=f"^{SECOND}: claim 'a-claim': comparator 'mistyped' asks for {asked_for}, and its"
        " type of claim, Comparison, has Reads$",
    ):
        claims.judge_paper(SECOND, two())


def test_a_papers_comparator_may_not_shadow_a_common_one(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, comparators={"COMPARATORS": {"ordering": ALL_HOLD}})
    with pytest.raises(
        UsageError, match="declares the comparator 'ordering', which is there already"
    ):
        read_published(SECOND)


def of_the_paper(name="tuples_per_core", **given):
    said = {
        "unit": "t/s", "meaning": "throughput over cores", "words": "throughput a core",
        "label": "Throughput a core", "better": "higher", "phase": "closed",
        "compute": lambda row: row["throughput_tps"] / row["cores"],
    }  # fmt: skip
    return Quantity(name, **said | given)


def test_a_papers_own_quantity_is_judged_in_its_own_words(tmp_path, monkeypatch):
    asked = claim_about(figures=["5f"], quantity="tuples_per_core")
    join(monkeypatch, tmp_path, claims=[asked], quantities={"QUANTITIES": [of_the_paper()]})
    (found,) = claims.judge_paper(SECOND, two(cores=64), floors())
    assert (found["direction"], found["ratio"]) == ("holds", pytest.approx(2.0))
    assert found["reason"].startswith("Holds: throughput a core, k-OS, 20 inputs: ")


def test_a_quantity_is_declared_once(tmp_path, monkeypatch):
    again = of_the_paper("throughput_tps")
    join(monkeypatch, tmp_path, quantities={"QUANTITIES": [again]})
    with pytest.raises(UsageError, match="declares 'throughput_tps', which is there already"):
        quantities.quantity("throughput_tps")


def test_a_claim_about_an_unknown_quantity_is_an_error_that_names_it(tmp_path, monkeypatch):
    join(monkeypatch, tmp_path, claims=[claim_about(figures=["8"], quantity="tuples_per_core")])
    with pytest.raises(UsageError, match="'a-claim': unknown quantity 'tuples_per_core'; there"):
        claims.judge(SECOND, [], tmp_path / "claims.json")


@pytest.mark.parametrize("shown", ["quantities", "extended_quantities"])
def test_a_figure_with_an_unknown_quantity_is_an_error_that_names_both(
    shown, tmp_path, monkeypatch
):
    paper = second(figure("8a", **{shown: ("throughput_tps", "speed_kmh")}))
    join(monkeypatch, tmp_path, paper)
    told = "figure 8a of second_paper: unknown quantity 'speed_kmh'; there are: throughput_tps"
    with pytest.raises(UsageError, match=told):
        plan.plan(load("quick"), [SECOND])
    with pytest.raises(UsageError, match=told):
        drawing.draw(SECOND, "8a", write_raw(tmp_path, two()))


# Files.


def of_two_machines(folder):
    return [
        *write_raw(folder / "one", two(machine="one")),
        *write_raw(folder / "two", two(mq=5e6, machine="two")),
    ]


def test_files_of_two_machines_are_refused_in_one_line(tmp_path):
    files, output = of_two_machines(tmp_path), tmp_path / "claims.json"
    told = r"raw results of 2 machines \(one, two\) were given; read those of one[^\n]*$"
    with pytest.raises(UsageError, match=told):
        claims.judge(PAPER, files, output)
    assert not output.exists()
    with pytest.raises(UsageError, match=told):
        drawing.draw(PAPER, "13", files)
    assert claims.judge(PAPER, files[:3], output)["machine"] == "one"


def test_files_of_two_sources_are_refused_in_one_line(tmp_path):
    files = [
        *write_raw(tmp_path, two(repetitions=1)),
        *write_raw(tmp_path, two(mq=5e6, repetitions=1, key="cd" * 8)),
    ]
    with pytest.raises(UsageError, match="hold the same point .mq, closed, repetition 1.: copies"):
        claims.judge(PAPER, files, tmp_path / "claims.json")
    with pytest.raises(UsageError, match="hold the same point"):
        drawing.draw(PAPER, "13", files)


def test_rows_and_provenances_of_several_files_are_read_together(tmp_path):
    rows = points_over("13", "mq", {1: (1e6, 5.0)}, repetitions=2)
    raw = results.read_all(write_raw(tmp_path, rows))
    assert len(raw.rows) == 4
    assert list(raw.provenances) == ["0123456789abcdef"]
    assert raw.machines == ["invented9000"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match="repetition-9"):
        results.read_all([tmp_path / "repetition-9.jsonl"])


def test_what_the_judge_reads_lies_in_a_file_a_group_and_repetition(tmp_path):
    rows = as_in_the_paper(repetitions=2)
    names = [path.relative_to(tmp_path).as_posix() for path in write_raw(tmp_path, rows)]
    groups = ("few-keys-oi", "few-keys-os", "many-keys-oi", "many-keys-os")
    assert names == [
        f"aggregation-{group}/{row('13', 'mq', 1)['key']}/repetition-{n}.jsonl"
        for group in groups
        for n in (1, 2)
    ]
