"""docs/claims.md describes each field of published.yaml, and no other."""

from __future__ import annotations

import re
from dataclasses import MISSING

import pytest
import yaml

from experiments import papers
from experiments.judging import fields
from experiments.judging.claim_types import Claim, Comparison, From, Reads
from experiments.judging.comparators import COMPARATORS, comparators_of
from experiments.judging.published import (
    Finding,
    Hardware,
    NotJudged,
    Published,
    read_published,
)
from operators.core.sources import ROOT
from tests.invented import claim_about
from tests.published import written

PAGE = (ROOT / "docs" / "claims.md").read_text("utf-8")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
EXAMPLE = re.compile(r"Example \(`(\w+)`\):\n\n```yaml\n(.+?)```", re.DOTALL)
DEFAULTS = {"null": None, "false": False, "[]": (), "{}": {}}


def sections() -> dict[str, str]:
    """Return the text under each heading of the page."""
    parts = HEADING.split(PAGE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = sections()
RECORDS = {
    "The file": Published,
    "Hardware": Hardware,
    "A finding": Finding,
    "A statement that is not judged": NotJudged,
    "Every claim": Claim,
}


def described(kind, prefix=""):
    """Return the fields of a record by name: their types in words, and their defaults."""
    found = {}
    for name, (own, hint) in fields.fields_of(kind).items():
        default = own.default if own.default_factory is MISSING else own.default_factory()
        told = "required" if default is MISSING else default
        found[prefix + name] = (" or ".join(fields.types_in_words(hint)), told)
    return found


def described_claim(kind):
    """Return the fields of a kind of claim, those that it reads too."""
    return described(kind) | described(fields.fields_of(kind)["reads"][1], "reads.")


def rows(section):
    """Return the same as the page has it."""
    return {
        name: (types, DEFAULTS.get(default, default))
        for name, types, default, _ in ROW.findall(SECTIONS[section])
    }


@pytest.mark.parametrize("section", RECORDS)
def test_the_page_has_every_field_of_a_record(section):
    assert rows(section) == described(RECORDS[section])


def test_the_page_has_what_claims_share():
    reads = described(Reads, "reads.") | described(From, "reads.at.*.")
    assert rows("What every claim reads") == reads
    own = described(Comparison).items() - described(Claim).items()
    assert rows("The direction of a claim") == dict(own)


KINDS = {(paper, name) for paper in papers.paper_names() for name in comparators_of(paper)}
# Those that several papers have are described once.
ONCE = sorted({(None if name in COMPARATORS else paper, name) for paper, name in KINDS}, key=str)


@pytest.mark.parametrize(("paper", "name"), ONCE)
def test_the_page_has_what_a_comparator_adds(paper, name):
    kind = (COMPARATORS if paper is None else comparators_of(paper))[name].claim
    shared = Comparison if issubclass(kind, Comparison) else Claim
    added = described_claim(kind).items() - described_claim(shared).items()
    assert rows(f"`{name}`") == dict(added)
    assert ("It adds no field." in SECTIONS[f"`{name}`"].replace("\n", " ")) == (not added)
    group = PAGE[: PAGE.index(f"## `{name}`")].rpartition("\n# ")[2].partition("\n")[0]
    assert group == f"Comparators of {paper or 'all papers'}"


def test_the_page_has_no_other_section():
    assert SECTIONS.keys() == {
        *RECORDS, "What every claim reads", "The direction of a claim",
        *(f"`{name}`" for _, name in ONCE),
    }  # fmt: skip


@pytest.mark.parametrize("name", [name for _, name in ONCE])
def test_the_example_of_a_comparator_is_a_claim_of_its_paper(name, tmp_path, monkeypatch):
    ((paper, text),) = EXAMPLE.findall(SECTIONS[f"`{name}`"])
    example = yaml.safe_load(text)
    asked = {**claim_about(direction=None), **example}
    assert example["comparator"] == name
    path = tmp_path / "published.yaml"
    path.write_text(yaml.safe_dump({**written(paper), "claims": [asked], "findings": []}))
    monkeypatch.setattr(papers, "published_file", lambda paper: path)
    (claim,) = read_published(paper).claims
    assert isinstance(claim, comparators_of(paper)[name].claim)
