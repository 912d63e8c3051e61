"""The content of a page on a paper: declaration, verdicts, results and drawn figures."""

from __future__ import annotations

import importlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments import papers
from experiments.declare import Figure, Paper, Series, stem_of
from experiments.judging.claims import UsageError, read_verdicts
from experiments.judging.pool import DIRECTIONS
from figures import load
from figures.files import EXTENDED


@dataclass(frozen=True)
class PageData:
    """The content of the page on one paper.

    Attributes
    ----------
    paper : Paper
    verdicts : mapping
    results : Results
    folder : Path
        Of the paper's drawn figures.
    """

    paper: Paper
    verdicts: Mapping[str, Any]
    results: load.Results
    folder: Path

    def svg(self, figure: Figure, extended: bool = False) -> Path:
        """Return the path of a figure's picture, drawn or not."""
        return self.folder / f"{stem_of(figure.id)}{EXTENDED if extended else ''}.svg"

    @property
    def label(self) -> str:
        """The label of the set of results: the name of the folder that the page lies in."""
        return self.folder.parents[1].name

    @property
    def profile(self) -> str:
        """The profile by which the set was measured."""
        return self.verdicts["profiles"][0]

    @property
    def label_option(self) -> str:
        """The label as a command has to be given it; empty where the profile names the set."""
        return "" if self.label == self.profile else self.label

    @property
    def drawn(self) -> list[Figure]:
        """The figures that are drawn, in the order of the declaration."""
        return [figure for figure in self.paper.figures if self.svg(figure).is_file()]

    def anchor(self, figure_id: str) -> str:
        """Return the id of a figure's section on the page."""
        return f"{self.paper.id}-{figure_id}"

    def claim_anchor(self, claim_id: str) -> str:
        """Return the id of a statement on the page, under the finding that it answers."""
        return f"{self.paper.id}-says-{claim_id}"

    def finding_anchor(self, finding_id: str) -> str:
        """Return the id of a finding on the page."""
        return f"{self.paper.id}-finding-{finding_id}"

    def run_anchor(self, figure: Figure, line: Series, settings: Mapping[str, Any]) -> str:
        """Return the id of the rows of a series at one setting of a figure."""
        swept = [f"{each.setting}-{settings.get(each.setting)}" for each in figure.free]
        text = re.sub(r"[^\w.-]+", "-", "-".join([line, *swept]))
        return f"{self.anchor(figure.id)}-run-{text}"

    @property
    def claims(self) -> dict[str, Mapping[str, Any]]:
        """The judged statements by id."""
        return {claim["id"]: claim for claim in self.verdicts["claims"]}


def read_page(folder: str | Path, paper: str) -> PageData:
    """Return the content of the page on one judged paper of a set of results.

    Raises
    ------
    UsageError
        When there are no verdicts or no raw results.
    """
    folder = Path(folder)
    file = folder / "claims" / f"{paper}.json"
    results = load.judged(file)
    if results.rows.empty:
        raise UsageError(f"no raw results below {folder}: measure with `make figures`")
    drawn = folder / "figures" / paper
    return PageData(papers.paper(paper), read_verdicts(file), results, drawn)


def read_pages(folder: str | Path) -> list[PageData]:
    """Return the content of the page on each judged paper in a set of results, by paper.

    Raises
    ------
    UsageError
        When there are no verdicts or no raw results.
    """
    names = sorted(file.stem for file in Path(folder, "claims").glob("*.json"))
    if not names:
        raise UsageError(f"no verdicts in {Path(folder, 'claims')}: measure with `make figures`")
    return [read_page(folder, name) for name in names]


def grouped(data: PageData) -> list[tuple[str, str, list[Figure]]]:
    """Return heading, sentence and figures of each heading that has drawn figures, in order."""
    found = []
    for heading in data.paper.headings:
        members = [figure for figure in data.drawn if figure.heading == heading.id]
        found.append((heading.title, heading.sentence, members))
    return [group for group in found if group[2]]


def rows_of(pages: Sequence[PageData]) -> list[Mapping[str, Any]]:
    """Return the rows of all papers, for the parts of the page that concern all of them.

    Papers that share a group share rows, each of which counts once.
    """
    rows = {json.dumps(row, sort_keys=True): row for each in pages for row in each.results.raw.rows}
    return list(rows.values())


def tally_of(verdicts: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many findings of some papers have each answer."""
    counts: Counter[str] = Counter()
    for each in verdicts:
        counts.update(each["answers"])
    return {direction: counts[direction] for direction in DIRECTIONS}


def recommendations_of(paper: str) -> ModuleType | None:
    """Return the paper's module for an extra section of the report, None where it has none.

    The module has ``heading(results)`` and ``section(results)``, which may be empty.
    """
    return _module_of(paper, "recommendations")


def explained_of(paper: str) -> ModuleType | None:
    """Return the paper's module with pictures of the subject, None where it has none.

    The module has ``HEADING`` and ``explained()``: sentences, each with a
    ``figures.pictures.Picture``.
    """
    return _module_of(paper, "explained")


def questions_of(paper: str) -> tuple[Any, ...]:
    """Return the questions about a paper's designs, none where the paper declares none.

    They are ``QUESTIONS`` of ``figures/<paper>/questions.py``: see ``figures.which_design``.
    """
    module = _module_of(paper, "questions")
    return () if module is None else module.QUESTIONS


def _module_of(paper: str, name: str) -> ModuleType | None:
    name = f"figures.{paper}.{name}"
    if find_spec(f"figures.{paper}") is None or find_spec(name) is None:
        return None
    return importlib.import_module(name)
