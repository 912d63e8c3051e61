"""What each named thing of a paper is, in a sentence: for readers who meet the name first.

Nothing is written for it: the sentence of a variant is the first one of the docstring of the
variant's module. A module with a table of variants has a definition list there::

    b-chain
        The chained index of B+-Trees.

A table that is made from the variants of another family takes theirs, by id: the join over an index
is explained as the index. The sentence of a query is the query's description.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

from experiments.declare import Paper
from experiments.records.asked import families_asked
from operators import registry
from operators.contract import Variant


@cache
def summary_of(family: str, variant_id: str) -> str:
    """Return what a variant is, in a sentence; empty where the variant is unknown or says nothing.

    Examples
    --------
    >>> summary_of("gate", "multi-queue-lock-free")
    "MQLF's S-Merge: MQ's queues without their locks."
    """
    for module, variant in _declared((family,)):
        if (variant.family, variant.id) == (family, variant_id):
            return _sentence(module, variant)
    return ""


def names_of(paper: Paper) -> dict[str, str]:
    """Return the sentence of each design and query of a paper's families, by title.

    Of two with one title, as an index and the join over it, the first family's is taken.
    """
    families = dict.fromkeys(figure.family for figure in paper.figures)
    found: dict[str, str] = {}
    for module, variant in _declared(families):
        sentence = _sentence(module, variant)
        # "T-Gate (ScaleGate): ...": the other name of the same thing has the same sentence.
        other = re.match(rf"{re.escape(variant.title)} \((\w+)\)", sentence)
        for name in (variant.title, *(other.groups() if other else ())):
            if sentence:
                found.setdefault(name, sentence)
    for family in families:
        for name, query in registry.family(family).queries.items():
            found.setdefault(name, f"Query: {_first_small(query.description)}.")
    return found


def _declared(families: Iterable[str]) -> list[tuple[ModuleType, Variant]]:
    """Return the variants that lie in the folders of some families, and their modules."""
    return [
        (module, variant)
        for family in families
        for module in registry.modules_of(family)
        for variant in registry.declared_by(module)
    ]


def _sentence(module: ModuleType, variant: Variant) -> str:
    """Return what a variant that a module declares is; empty where nothing is said."""
    text = module.__doc__ or ""
    if getattr(module, "VARIANT", None) is variant:
        return " ".join(text.partition("\n\n")[0].split())
    entry = re.search(rf"^{re.escape(variant.id)}\n((?: {{4}}.*\n)+)", text, re.MULTILINE)
    if entry:
        return re.split(r"(?<=\.)\s", " ".join(entry[1].split()))[0]
    asked = families_asked(Path(module.__file__))
    return next(filter(None, (summary_of(each, variant.id) for each in asked)), "")


def _first_small(text: str) -> str:
    return text[:1].lower() + text[1:]
