"""Finds every paper: a folder of ``experiments`` with a ``figures.py`` that ends with ``PAPER``.

The folder also has ``published.yaml`` (the paper's statements), ``second_reading.yaml`` and, where
needed, ``fidelity.yaml`` (deviations from the paper), ``comparators.py``, ``quantities.py`` and
other modules of this paper only.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import experiments
from experiments.declare import Figure, Paper
from operators.contract import UsageError
from operators.declaring import declares


@cache
def _folders() -> dict[str, Path]:
    found = {
        file.parent.name: file.parent
        for folder in experiments.__path__
        for file in Path(folder).glob("*/figures.py")
        if declares(file, "PAPER")
    }
    return dict(sorted(found.items()))


def paper_names() -> list[str]:
    """Return the ids of the papers, by name."""
    return list(_folders())


def folder_of(paper_id: str) -> Path:
    """Return the folder of a paper.

    Raises
    ------
    UsageError
        When there is no such paper.
    """
    if paper_id not in _folders():
        raise UsageError(f"unknown paper {paper_id!r}; papers are: {', '.join(paper_names())}")
    return _folders()[paper_id]


def published_file(paper_id: str) -> Path:
    """Return the published.yaml of a paper."""
    return folder_of(paper_id) / "published.yaml"


def fidelity_file(paper_id: str) -> Path:
    """Return the fidelity.yaml of a paper, which says what differs from it; some have none."""
    return folder_of(paper_id) / "fidelity.yaml"


@cache
def paper(paper_id: str) -> Paper:
    """Return one paper.

    Raises
    ------
    UsageError
        When there is no such paper, or the declaration bears another name than the folder.
    """
    folder_of(paper_id)
    declared: Paper = importlib.import_module(f"experiments.{paper_id}.figures").PAPER
    if declared.id != paper_id:
        raise UsageError(f"the paper in experiments/{paper_id} calls itself {declared.id!r}")
    return declared


def papers() -> list[Paper]:
    """Return every paper, by name."""
    return [paper(name) for name in paper_names()]


def figure(paper_id: str, figure_id: str) -> Figure:
    """Return one figure.

    Raises
    ------
    UsageError
        When paper or figure is unknown.
    """
    there = {each.id: each for each in paper(paper_id).figures}
    if figure_id not in there:
        raise UsageError(
            f"there is no figure {figure_id!r} of {paper_id}; there are: {', '.join(there)}"
        )
    return there[figure_id]


def own_module(paper_id: str, name: str) -> ModuleType | None:
    """Return a module of a paper's folder, None where the paper has none of that name."""
    full = f"experiments.{paper_id}.{name}"
    return importlib.import_module(full) if find_spec(full) else None
