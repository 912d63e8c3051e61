"""What read_published refuses, and the findings that it makes whole."""

from __future__ import annotations

import pytest
import yaml

from experiments import papers
from experiments.judging import published
from experiments.judging.published import read_published
from operators.contract import UsageError
from tests.invented import PAPER, PUBLISHED, claim_about

SLIPS = {
    "comparator: vibes": "unknown comparator 'vibes'; there are: .*ordering",
    "quantity: speed_kmh": "unknown quantity 'speed_kmh'.*throughput_tps",
    "direction: sideways": "unknown direction 'sideways'; there are: higher, ",
    "kind: rumour": "unknown kind 'rumour'; there are: result, expectation, purpose, definition",
    "kind: purpose": "a purpose needs a kind_why, which says why it is no result",
    "repeats: another": "repeats 'another', which is no claim that stands by itself",
    'figures: ["99"]': "there is no figure '99' of multiway_aggregation; there are: 7,",
    "figures: [fig_13]": "there is no figure 'fig_13'",
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_unknown_name_in_a_claim_is_an_error_that_lists_what_there_is(
    slip, tmp_path, monkeypatch
):
    publish(tmp_path, monkeypatch, claims=[claim_about() | yaml.safe_load(slip)])
    with pytest.raises(UsageError, match=f"'a-claim': {SLIPS[slip]}"):
        read_published(PAPER)


def publish(folder, monkeypatch, **said):
    """Have the paper's statements read from a file that says this, None for nothing."""
    whole = {key: value for key, value in (PUBLISHED | said).items() if value is not None}
    path = folder / "published.yaml"
    path.write_text(yaml.safe_dump(whole))
    monkeypatch.setattr(papers, "published_file", lambda paper: path)


@pytest.mark.parametrize("name", published.SAID)
def test_what_a_paper_does_not_say_is_named(name, tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, **{"claims": [claim_about()], name: None})
    with pytest.raises(UsageError, match=f"published.yaml: lacks {name}$"):
        read_published(PAPER)


@pytest.mark.parametrize("name", published.CLAIMED)
def test_what_a_claim_does_not_say_is_named(name, tmp_path, monkeypatch):
    asked = {key: value for key, value in claim_about().items() if key != name}
    publish(tmp_path, monkeypatch, claims=[claim_about(), asked])
    with pytest.raises(UsageError, match=f"published.yaml, claim 2: lacks {name}$"):
        read_published(PAPER)


def test_the_statements_of_another_paper_are_refused(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, paper="another", claims=[claim_about()])
    with pytest.raises(UsageError, match=f"is of 'another', not of '{PAPER}'"):
        read_published(PAPER)


def test_a_statement_repeats_one_that_stands_by_itself(tmp_path, monkeypatch):
    said = [claim_about(id=name) for name in ("one", "two", "three")]
    said[1]["repeats"] = "one"
    publish(tmp_path, monkeypatch, claims=said)
    assert read_published(PAPER)["claims"][1]["repeats"] == "one"
    said[2]["repeats"] = "two"
    publish(tmp_path, monkeypatch, claims=said)
    with pytest.raises(UsageError, match="'three': repeats 'two', which is no claim that stands"):
        read_published(PAPER)


def finding(name, *statements):
    return {"id": name, "question": f"Is it {name}?", "statements": list(statements)}


def test_a_statement_under_no_finding_is_one_of_its_own(tmp_path, monkeypatch):
    said = [claim_about(id=name, quote=f"it is {name}") for name in ("one", "two")]
    publish(tmp_path, monkeypatch, claims=said, findings=[finding("so", "two")])
    assert read_published(PAPER)["findings"] == [
        finding("so", "two"),
        {"id": "one", "question": "it is one", "statements": ["one"]},
    ]
    publish(tmp_path, monkeypatch, claims=said)
    assert [each["id"] for each in read_published(PAPER)["findings"]] == ["one", "two"]


@pytest.mark.parametrize(
    ("findings", "problem"),
    [
        ([finding("so", "none")], "a finding names 'none', which is no claim"),
        ([finding("so", "one"), finding("too", "one")], "claim 'one' stands under 2 findings"),
        ([{"id": "so", "statements": ["one"]}], "finding 1: lacks question"),
    ],
)
def test_findings_name_each_statement_once(findings, problem, tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, claims=[claim_about(id="one")], findings=findings)
    with pytest.raises(UsageError, match=problem):
        read_published(PAPER)
