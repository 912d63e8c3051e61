"""docs/claims.md and the papers' claims.md describe each field of published.yaml, and no other."""

from __future__ import annotations

import re
from dataclasses import MISSING

import pytest
import yaml

from experiments import papers
from experiments.judging import fields
from experiments.judging.claim_types import (
    Claim,
    Comparator,
    Comparison,
    From,
    Reads,
    RivalComparison,
)
from experiments.judging.comparators import COMPARATORS, comparators_of
from experiments.judging.published import (
    Asked,
    Because,
    Finding,
    FirstScreen,
    Hardware,
    NotJudged,
    Published,
    Scaling,
    read_published,
)
from operators.core.sources import ROOT
from tests.invented import claim_about
from tests.published import written
from tests.second_paper import SECOND, join

PAGE = (ROOT / "docs" / "claims.md").read_text("utf-8")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
EXAMPLE = re.compile(r"Example \(`(\w+)`\):\n\n```yaml\n(.+?)```", re.DOTALL)
DEFAULTS = {"null": None, "false": False, "[]": (), "{}": {}}


def sections_of(page: str) -> dict[str, str]:
    """Return the text under each heading of a page."""
    parts = HEADING.split(page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def own_page(paper: str) -> str:
    """Return the page of a paper's special comparators; empty if there is none."""
    path = papers.published_file(paper).with_name("claims.md")
    return path.read_text("utf-8") if path.is_file() else ""


SECTIONS = sections_of(PAGE)
RECORDS = {
    "The file": Published,
    "Hardware": Hardware,
    "A finding": Finding,
    "What a finding asks": Asked,
    "Why a finding fails here": Because,
    "What a series gains": Scaling,
    "The first screen": FirstScreen,
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
    """Return the fields of a kind of claim, including the fields under ``reads``."""
    return described(kind) | described(fields.fields_of(kind)["reads"][1], "reads.")


def rows(section, sections=SECTIONS):
    """Return the same from a page."""
    return {
        name: (types, DEFAULTS.get(default, default))
        for name, types, default, _ in ROW.findall(sections[section])
    }


@pytest.mark.parametrize("section", RECORDS)
def test_the_page_has_every_field_of_a_record(section):
    assert rows(section) == described(RECORDS[section])


def test_the_page_has_what_claims_share():
    reads = described(Reads, "reads.") | described(From, "reads.at.*.")
    assert rows("What every claim reads") == reads
    own = described(Comparison).items() - described(Claim).items()
    assert rows("The direction of a claim") == dict(own)


def own_comparators(paper: str) -> dict[str, Comparator]:
    """Return the comparators that only this paper has."""
    found = comparators_of(paper)
    return {name: found[name] for name in found if name not in COMPARATORS}


# None for those of all papers, with the page of each.
OWNERS = [None, *papers.paper_names()]
ONCE = [
    (paper, name)
    for paper in OWNERS
    for name in sorted(COMPARATORS if paper is None else own_comparators(paper))
]


def assert_described(page: str, name: str, comparator: Comparator) -> None:
    """Compare the section of a comparator with the type of the comparator's claims."""
    kind, sections = comparator.claim, sections_of(page)
    shared = Comparison if issubclass(kind, Comparison) else Claim
    added = described_claim(kind).items() - described_claim(shared).items()
    assert rows(f"`{name}`", sections) == dict(added)
    assert ("It adds no field." in sections[f"`{name}`"].replace("\n", " ")) == (not added)


@pytest.mark.parametrize(("paper", "name"), ONCE)
def test_the_page_has_what_a_comparator_adds(paper, name):
    comparator = (COMPARATORS if paper is None else comparators_of(paper))[name]
    assert_described(PAGE if paper is None else own_page(paper), name, comparator)


def test_the_page_has_no_other_section():
    assert SECTIONS.keys() == {
        *RECORDS, "What every claim reads", "The direction of a claim",
        *(f"`{name}`" for name in COMPARATORS),
    }  # fmt: skip


@pytest.mark.parametrize("paper", papers.paper_names())
def test_the_page_of_a_paper_has_its_own_comparators_alone(paper):
    page, own = own_page(paper), own_comparators(paper)
    assert sections_of(page).keys() == {f"`{name}`" for name in own}
    assert page.startswith(f"# Comparators of {paper}\n") == bool(own)


def test_a_new_paper_describes_its_comparator_in_its_own_folder(tmp_path, monkeypatch):
    alike = Comparator(RivalComparison, lambda claim, lookup: [])
    join(monkeypatch, tmp_path, comparators={"COMPARATORS": {"all-hold": alike}})
    page = papers.published_file(SECOND).with_name("claims.md")
    field = "| `reads.rivals` | a list | required | the series that are compared |\n"
    page.write_text(f"# Comparators of {SECOND}\n\n## `all-hold`\n\nAll of it holds.\n\n{field}")
    assert own_comparators(SECOND) == {"all-hold": alike}
    test_the_page_of_a_paper_has_its_own_comparators_alone(SECOND)
    test_the_page_has_what_a_comparator_adds(SECOND, "all-hold")
    page.write_text(page.read_text().replace("rivals", "rival"))
    with pytest.raises(AssertionError):
        test_the_page_has_what_a_comparator_adds(SECOND, "all-hold")


@pytest.mark.parametrize(("owner", "name"), ONCE)
def test_the_example_of_a_comparator_is_a_claim_of_its_paper(owner, name, tmp_path, monkeypatch):
    page = PAGE if owner is None else own_page(owner)
    ((paper, text),) = EXAMPLE.findall(sections_of(page)[f"`{name}`"])
    assert owner in (None, paper)
    example = yaml.safe_load(text)
    asked = {**claim_about(direction=None), **example}
    assert example["comparator"] == name
    path = tmp_path / "published.yaml"
    alone = {**written(paper), "claims": [asked], "findings": []}
    path.write_text(yaml.safe_dump({**alone, "first_screen": None}))
    monkeypatch.setattr(papers, "published_file", lambda paper: path)
    (claim,) = read_published(paper).claims
    assert isinstance(claim, comparators_of(paper)[name].claim)
