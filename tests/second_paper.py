"""A second paper, made in a test: some figure ids equal the first paper's, some have panels."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from experiments import papers
from experiments.declare import LINES, OFFERED_RATE, Figure, Heading, Paper, Sweep
from experiments.records import quantities
from tests.invented import PUBLISHED, claim_about

SECOND = "second_paper"
SIZES = ("quick", "laptop", "paper")
THROUGHPUT, MEAN = "throughput_tps", "latency_ms_mean"


def sweep(setting: str, *values: Any, words: str = "") -> Sweep:
    """Return a sweep of the same values in every size."""
    return Sweep(setting, dict.fromkeys(SIZES, values), words or setting)


def figure(figure_id: str, query: str = "w-OS", **given: Any) -> Figure:
    """Return a figure of MQ and TuMLSC over inputs; `given` replaces fields."""
    said = {
        "id": figure_id,
        "title": f"{query}: a figure of a test",
        "caption": f"{query} in a test",
        "subject": query,
        "family": "aggregation",
        "lines": ("mq", "tumlsc"),
        "x": sweep("inputs", 1, 4, 20),
        "form": "curves",
        "heading": "all",
        "quantities": (THROUGHPUT, MEAN),
        "extended_quantities": (THROUGHPUT, MEAN),
        "settings": {"query": query},
        "paper": SECOND,
    }
    return Figure(**said | given)


def at_twenty(figure_id: str, form: str, **given: Any) -> Figure:
    """Return a figure in which each line has a single point, at 20 inputs."""
    settings = {"query": "w-OS", "inputs": 20}
    return figure(figure_id, x=LINES, form=form, **{"settings": settings} | given)


# Ids that the first paper has too, and panels; 8 and 8a have the same query and share rows.
FIGURES = (
    figure("5f", "k-OS"),
    figure("8"),
    at_twenty("8a", "bars", quantities=(THROUGHPUT,), extended_quantities=(THROUGHPUT,)),
    figure("10c", x=OFFERED_RATE, form="over_rate", settings={"query": "w-OS", "inputs": 20}),
)
CLAIMS = [
    claim_about(id="tumlsc-is-faster", quote="TuMLSC is faster in eight", figures=["8"]),
    claim_about(id="panels", quote="TuMLSC is faster in the panels", figures=["5f", "8a", "10c"]),
]


def second(*figures: Figure) -> Paper:
    """Return the second paper, with these figures or the usual ones."""
    heading = Heading("all", "All of it", "What the second paper shows.")
    return Paper(SECOND, "A second paper", (heading,), figures or FIGURES)


def add_module(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    """Let a module with this content be importable; one without content is a package."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None, is_package=not content)
    vars(module).update(content or {"__path__": []})
    monkeypatch.setitem(sys.modules, name, module)


def join(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    paper: Paper | None = None,
    claims: Sequence[Mapping[str, Any]] = CLAIMS,
    **modules: Mapping[str, Any],
) -> Paper:
    """Let a second paper join the first one until `monkeypatch` is undone.

    Parameters
    ----------
    monkeypatch : MonkeyPatch
    folder : Path
        The folder for published.yaml.
    paper : Paper, optional
    claims : sequence of mapping
    **modules : mapping
        The content of further modules of the paper's folder, such as
        ``comparators={"COMPARATORS": {...}}``.
    """
    paper = paper or second()
    own = folder / "experiments" / paper.id
    own.mkdir(parents=True)
    published = {**PUBLISHED, "paper": paper.id, "claims": list(claims)}
    text = yaml.safe_dump(published, allow_unicode=True)
    (own / "published.yaml").write_text(text, encoding="utf-8")
    add_module(monkeypatch, f"experiments.{paper.id}")
    for name, content in {"figures": {"PAPER": paper}, **modules}.items():
        add_module(monkeypatch, f"experiments.{paper.id}.{name}", **content)
    found = {**papers._folders(), paper.id: own}
    monkeypatch.setattr(papers, "_folders", lambda: found)
    # Values cached in the test are forgotten after it.
    monkeypatch.setattr(papers, "paper", cache(papers.paper.__wrapped__))
    monkeypatch.setattr(quantities, "every", cache(quantities.every.__wrapped__))
    monkeypatch.setattr(quantities, "of_family", cache(quantities.of_family.__wrapped__))
    return paper
