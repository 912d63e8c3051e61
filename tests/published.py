"""Properties of the published statements of every paper: sense, sweeps, questions, quotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments import papers
from experiments.declare import Figure
from experiments.judging.comparators import comparators_of
from experiments.records.quantities import quantity
from tests.invented import PUBLISHED

# The papers' texts are not in the repository; if available, they lie next to it.
TEXTS = Path(__file__).resolve().parents[2] / "shared" / "papers"
# Settings of a claim that name no single value.
EVERY = {"all", "many"}


def written(paper: str) -> dict[str, Any]:
    """Return the published.yaml of a paper as it is written."""
    return yaml.safe_load(papers.published_file(paper).read_text("utf-8"))


def read_again(paper: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settled differences of two readings of a paper, and the second one, by claim."""
    path = papers.folder_of(paper) / "second_reading.yaml"
    second = yaml.safe_load(path.read_text("utf-8"))
    return second["settled"], second["second_reading"]


def publish(folder, monkeypatch, **said):
    """Make a paper's statements come from a file with these fields; None leaves a field out."""
    whole = {key: value for key, value in (PUBLISHED | said).items() if value is not None}
    path = folder / "published.yaml"
    path.write_text(yaml.safe_dump(whole))
    monkeypatch.setattr(papers, "published_file", lambda paper: path)


def reads(claim: Mapping[str, Any], key: str) -> list[str]:
    return claim["reads"].get(key, [])


def words_of(text: str) -> str:
    """Return a text as one line of words."""
    return " ".join(text.split())


def text_of(paper: str) -> str:
    """Return the text of a paper as one line; skip the test if the text is unavailable."""
    path = TEXTS / f"{paper}.txt"
    if not path.exists():
        pytest.skip("the text of the paper is not at hand")
    return words_of(path.read_text(encoding="utf-8"))


def assert_sense(
    claim: Mapping[str, Any],
    published: Mapping[str, Any],
    magnitudes: Mapping[str, tuple[float, float]],
    alike: Iterable[str] = ("near",),
) -> None:
    """Check a claim's comparator, unit and magnitude; directions in `alike` have a tolerance."""
    assert 2 <= len(claim["quote"].split()) <= 30
    assert claim["comparator"] in comparators_of(published["paper"])
    assert claim["unit"] in ("times", quantity(claim["quantity"]).unit)
    assert {*reads(claim, "variants"), *reads(claim, "rivals")} <= set(published["variants"])
    if claim["value"] is not None:
        least, most = magnitudes[claim["unit"]]
        assert least <= claim["value"] <= most
    # Values count as alike within a factor, which we chose and must state.
    assert ("tolerance" in claim) == (claim.get("direction") in alike)
    assert 1 < claim.get("tolerance", 1.25) <= 2
    assert "tolerance" not in claim or "assumed" in claim
    # A value of another machine has a size and no direction.
    assert (claim["comparator"] == "absolute") == ("direction" not in claim)
    assert claim["comparator"] != "absolute" or claim["value"] is not None


def assert_reads_what_is_there(claim: Mapping[str, Any], figures: Mapping[str, Figure]) -> None:
    """Check a claim's variants and settings against lines, sweeps and settings of its figures.

    The variants are lines of at least one of the figures, and values are in the paper's sweep.
    """
    own = [figures[name] for name in claim["figures"]]
    for kind in ("variants", "rivals"):
        assert set(reads(claim, kind)) <= {line for figure in own for line in figure.lines}
    for figure in own:
        if not set(reads(claim, "variants")) & set(figure.lines):
            continue
        swept = {sweep.setting: sweep.values["paper"] for sweep in figure.free}
        for name, value in claim["reads"]["at"].items():
            wanted = {*(value if isinstance(value, list) else [value])} - EVERY
            if name in swept:
                assert wanted <= set(swept[name]), (figure.id, name)
            else:
                assert wanted <= {figure.settings.get(name, *wanted)}, (figure.id, name)


def lines_read(figure: str, claims: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the lines of a figure that some claims read."""
    own = [claim for claim in claims if figure in claim["figures"]]
    return {name for claim in own for kind in ("variants", "rivals") for name in reads(claim, kind)}


def assert_no_results(claims: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    """Check that exactly these claims are no results, are of these kinds, and say why."""
    found = {name: claim["kind"] for name, claim in claims.items() if claim["kind"] != "result"}
    assert found == kinds
    assert all(len(claims[name]["kind_why"].split()) >= 6 for name in kinds)


def assert_one_question_each(paper: str, claims: Mapping[str, Any], least: int, most: int) -> None:
    """Check that every claim is under exactly one question, each of which a result answers."""
    findings = written(paper)["findings"]
    named = [name for finding in findings for name in finding["statements"]]
    assert sorted(named) == sorted(claims)
    assert least <= len(findings) <= most
    for finding in findings:
        assert finding["question"].endswith("?")
        members = [claims[name] for name in finding["statements"]]
        assert any(claim["kind"] == "result" and "repeats" not in claim for claim in members)


def assert_repeats(claim: Mapping[str, Any], published: Mapping[str, Any]) -> None:
    """Check that a claim says no more than the claim it repeats, on the same question."""
    (whole,) = [each for each in published["claims"] if each["id"] == claim["repeats"]]
    (finding,) = [each for each in published["findings"] if claim["id"] in each["statements"]]
    assert whole["id"] in finding["statements"]
    assert claim["kind"] == whole["kind"] == "result"
    for field in ("quantity", "direction"):
        assert claim[field] == whole[field]
    for kind in ("variants", "rivals"):
        assert set(reads(claim, kind)) <= set(reads(whole, kind))


def assert_why(given: Mapping[str, Any], published: Mapping[str, Any]) -> None:
    """Check that an unjudged statement gives section and reason, and is not judged."""
    assert {"quote", "section", "why"} == given.keys()
    assert len(given["why"].split()) >= 6
    assert given["quote"] not in {claim["quote"] for claim in published["claims"]}
