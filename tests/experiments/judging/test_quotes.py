"""Every quote of every paper is verbatim, checked if the paper's text is available."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from experiments import papers
from tests.published import text_of, words_of, written


def quotes(published: Any) -> Iterator[str]:
    """Yield each text under "quote", however deep."""
    if isinstance(published, dict):
        yield from (text for name, text in published.items() if name == "quote")
    inside = published.values() if isinstance(published, dict) else published
    for each in inside if isinstance(published, dict | list) else ():
        yield from quotes(each)


@pytest.mark.parametrize("paper", papers.paper_names())
def test_quotes_are_the_words_of_the_paper(paper):
    found = list(quotes(written(paper)))
    assert len(found) > 20
    text = text_of(paper)
    assert [quote for quote in found if words_of(quote) not in text] == []
