"""Findings: answered part by part, as the question asks, and never by a minority."""

from __future__ import annotations

import re

import pytest

from experiments import papers
from experiments.judging import findings, published
from tests.invented import PAPER


@pytest.mark.parametrize(
    ("directions", "answer"),
    [
        (["holds", "cannot tell", "holds"], "holds"),
        (["does not hold", "cannot tell"], "does not hold"),
        (["holds", "does not hold"], "mixed"),
        (["holds", "mixed"], "mixed"),
        (["mixed"], "mixed"),
        (["cannot tell", "cannot tell"], "cannot tell"),
        # A minority of the counted statements answers nothing, whatever the rest.
        (["holds", "cannot tell"], "holds"),
        (["holds", "cannot tell", "cannot tell"], "cannot tell"),
        (["does not hold", "not measured here", "cannot tell"], "cannot tell"),
        (["holds", "does not hold", "cannot tell", "cannot tell", "cannot tell"], "mixed"),
        (["mixed", "cannot tell", "cannot tell"], "cannot tell"),
        (["not measured here", "not measured here"], "not measured here"),
        (["not measured here", "cannot tell"], "cannot tell"),
        ([], "not measured here"),
    ],
)
def test_the_answer_of_a_finding(directions, answer):
    assert findings.answer_of(directions) == answer


def judged_claim(name, direction, **given):
    said = {"id": name, "kind": "result", "repeats": None, "comparator": "ordering", "size": name,
            "direction": direction, "ratio": 2.0, "interval": None, "interval_kind": None,
            "pairs": {"for": 3, "of": 4}, "regime": name, "evidence": None, "wanted": "higher",
            "reach": [1.5, 2.7]}  # fmt: skip
    return said | given


def test_only_results_that_repeat_no_other_count():
    members = [
        judged_claim("again", "does not hold", repeats="first"),
        judged_claim("hoped", "does not hold", kind="expectation"),
        judged_claim("untold", "cannot tell"),
        judged_claim("theirs", "cannot tell", comparator="absolute"),
        judged_claim("first", "holds"),
    ]
    asked = [
        published.Finding(
            id="one", question="Is it?", statements=tuple(each["id"] for each in members)
        )
    ]
    (found,) = findings.findings_of(PAPER, asked, members)
    assert (found["direction"], found["finding"], found["kind"]) == ("holds", "Is it?", "result")
    assert (found["counted"], found["leading"]) == (["untold", "first"], "first")
    assert (found["regime"], found["size"]) == ("first", "first")
    assert [part["direction"] for part in found["parts"]] == ["cannot tell", "holds"]
    assert found["statements"] == ["again", "hoped", "untold", "theirs", "first"]


def test_a_question_without_a_result_stays_out_of_the_headline():
    members = [judged_claim("made", "holds", kind="definition")]
    asked = [published.Finding(id="one", question="Is it?", statements=("made",))]
    (found,) = findings.findings_of(PAPER, asked, members)
    assert (found["kind"], found["direction"], found["counted"]) == ("definition", "holds", [])
    assert findings.headline(findings.tally([found])) == "0 findings: none"


def finding_of(*members, **given):
    """Return the finding of some judged claims."""
    names = tuple(each["id"] for each in members)
    asked = published.Finding(id="one", question="Is it?", statements=names, **given)
    return findings.findings_of(PAPER, [asked], members)[0]


def test_what_leads_says_what_the_finding_says():
    members = [
        judged_claim("open", "cannot tell"),
        judged_claim("against", "does not hold"),
        judged_claim("for", "holds"),
    ]
    # Mixed as a whole: the first statement with an answer leads.
    assert finding_of(*members)["leading"] == "against"
    found = finding_of(members[0], members[2])
    assert (found["direction"], found["leading"], found["size"]) == ("holds", "for", "for")


@pytest.mark.parametrize(
    ("asked", "reach", "answer"),
    [
        ({"least": 1.2}, [1.5, 2.7], "holds"),
        ({"least": 10}, [1.5, 2.7], "does not hold"),
        ({"least": 2}, [1.5, 2.7], "cannot tell"),
        ({"least": 1.2, "most": 2.5}, [1.5, 2.7], "cannot tell"),
        ({"most": 1.4}, [1.5, 2.7], "does not hold"),
        ({"least": 2}, None, "cannot tell"),
        # Three pairs of four are not everywhere.
        ({"every": True}, [1.5, 2.7], "mixed"),
        ({"every": True, "least": 10}, [1.5, 2.7], "does not hold"),
    ],
)
def test_a_part_is_judged_by_what_the_question_asks(asked, reach, answer):
    asks = (published.Asked(statement="faster", **asked),)
    found = finding_of(judged_claim("faster", "holds", reach=reach), asks=asks)
    (part,) = found["parts"]
    assert (found["direction"], part["direction"]) == (answer, answer)
    assert part["asked"].startswith("asked: ")


def test_what_is_lower_is_asked_to_be_so_many_times_less():
    less = judged_claim("less", "holds", wanted="lower", ratio=0.4, reach=[0.25, 0.5])
    found = finding_of(less, asks=(published.Asked(statement="less", least=100),))
    (part,) = found["parts"]
    assert part["direction"] == "does not hold"
    assert part["asked"] == "asked: 100 times or more, 2.5 here"


def test_more_is_asked_of_nothing_that_does_not_hold_anyway():
    asks = (published.Asked(statement="open", least=10),)
    (part,) = finding_of(judged_claim("open", "cannot tell"), asks=asks)["parts"]
    assert (part["direction"], part["asked"]) == ("cannot tell", "")


def test_the_headline_leaves_out_what_is_not_measured():
    members = [judged_claim("a", "holds"), judged_claim("b", "not measured here")]
    told = findings.tally([finding_of(each) for each in members])
    assert findings.headline(told) == "1 finding: 1 holds here; 1 more is not measured here"
    assert findings.headline({"not measured here": 3}) == "No finding is measured here, of 3"


@pytest.mark.parametrize(
    ("direction", "bounds", "is_told"),
    [
        ("does not hold", {"least": 1e6}, True),
        ("mixed", {"least": 1e6, "most": 3e6}, True),
        ("does not hold", {"least": 3e6}, False),
        ("does not hold", {"most": 1e6}, False),
        ("holds", {"least": 1e6}, False),
        ("cannot tell", {"least": 1e6}, False),
    ],
)
def test_what_explains_a_failure_is_told_where_the_rows_bear_it_out(direction, bounds, is_told):
    size = {"here": 2e6, "text": "2 M t/s here, 1 M t/s in the paper"}
    because = (published.Because(text="It is cheap", statement="rate", **bounds),)
    members = (
        judged_claim("scales", direction),
        judged_claim("rate", "not measured here", size=size),
    )
    told = finding_of(*members, because=because)["because"]
    assert told == ["It is cheap (2 M t/s here, 1 M t/s in the paper)"] * is_told


def test_without_a_size_nothing_is_explained():
    because = (published.Because(text="It is cheap", statement="scales", least=1.0),)
    found = finding_of(judged_claim("scales", "mixed", size=None), because=because)
    assert found["because"] == []


# Words in a question that ask for more than a direction.
MORE = re.compile(r"everywhere|orders of magnitude|ten times|twice|in proportion|square root")
# Directions with a tolerance; growth by a power of x is judged by the power.
WITHIN = ("near", "kept")


@pytest.mark.parametrize("paper", papers.paper_names())
def test_a_question_that_names_a_size_is_judged_by_it(paper):
    stated = published.read_published(paper)
    own = {claim.id: claim for claim in stated.claims}
    for finding in stated.findings:
        if MORE.search(finding.question):
            members = [own[name] for name in finding.statements]
            sized = [
                claim.direction in WITHIN or hasattr(claim.reads, "power") for claim in members
            ]
            assert finding.asks or any(sized), finding.question
