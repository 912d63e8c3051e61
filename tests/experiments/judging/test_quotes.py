"""Every quote of every paper is the paper's own words, where its text is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from experiments import papers
from operators.core.sources import ROOT
from tests.published import text_of, words_of


def quotes(published: Any) -> Iterator[str]:
    """Yield each text under "quote", however deep."""
    if isinstance(published, dict):
        yield from (text for name, text in published.items() if name == "quote")
    inside = published.values() if isinstance(published, dict) else published
    for each in inside if isinstance(published, dict | list) else ():
        yield from quotes(each)


@pytest.mark.parametrize("paper", papers.paper_names())
def test_quotes_are_the_words_of_the_paper(paper):
    file = ROOT / "experiments" / paper / "published.yaml"
    found = list(quotes(yaml.safe_load(file.read_text(encoding="utf-8"))))
    assert len(found) > 20
    text = text_of(paper)
    assert [quote for quote in found if words_of(quote) not in text] == []
