"""What a page tells of a paper: its declaration, its verdicts, its results and drawn figures."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from experiments import papers
from experiments.declare import Figure, Paper, stem_of
from experiments.judging.claims import UsageError, read_verdicts
from experiments.judging.pool import DIRECTIONS
from experiments.records.results import Raw
from figures import load
from figures.files import EXTENDED


@dataclass(frozen=True)
class Told:
    """What the page tells of one paper.

    Attributes
    ----------
    paper : Paper
    verdicts : mapping
    results : Results
    folder : Path
        Of its drawn figures.
    """

    paper: Paper
    verdicts: Mapping[str, Any]
    results: load.Results
    folder: Path

    def svg(self, figure: Figure, extended: bool = False) -> Path:
        """Return the picture of a figure, drawn or not."""
        return self.folder / f"{stem_of(figure.id)}{EXTENDED if extended else ''}.svg"

    @property
    def drawn(self) -> list[Figure]:
        """The figures that are drawn, in the order of the declaration."""
        return [figure for figure in self.paper.figures if self.svg(figure).is_file()]

    def anchor(self, figure_id: str) -> str:
        """Return the id of a figure's section on the page."""
        return f"{self.paper.id}-{figure_id}"

    def claim_anchor(self, claim_id: str) -> str:
        """Return the id of a statement's place on the page, under its finding."""
        return f"{self.paper.id}-says-{claim_id}"

    @property
    def claims(self) -> dict[str, Mapping[str, Any]]:
        """The judged statements by id."""
        return {claim["id"]: claim for claim in self.verdicts["claims"]}


def read_told(folder: str | Path) -> list[Told]:
    """Return what there is to tell of each judged paper in a set of results, by paper.

    Raises
    ------
    UsageError
        When there are no verdicts or no raw results.
    """
    folder = Path(folder)
    found = []
    for file in sorted((folder / "claims").glob("*.json")):
        results = load.read(load.judged_files(file))
        if results.rows.empty:
            raise UsageError(f"no raw results below {folder}: measure with `make figures`")
        paper = papers.paper(file.stem)
        found.append(Told(paper, read_verdicts(file), results, folder / "figures" / paper.id))
    if not found:
        raise UsageError(f"no verdicts in {folder / 'claims'}: measure with `make figures`")
    return found


def grouped(told: Told) -> list[tuple[str, str, list[Figure]]]:
    """Return heading, sentence and figures of each heading that has drawn figures, in order."""
    found = []
    for heading in told.paper.headings:
        members = [figure for figure in told.drawn if figure.heading == heading.id]
        found.append((heading.title, heading.sentence, members))
    return [group for group in found if group[2]]


def together(told: Sequence[Told]) -> load.Results:
    """Return the rows of all papers, for what the page tells of them together.

    Papers that share a group share rows, each of which counts once. They may have been measured at
    different times, under different conditions, which only a paper's own results may not.
    """
    rows = {json.dumps(row, sort_keys=True): row for each in told for row in each.results.raw.rows}
    provenances = {k: v for each in told for k, v in each.results.raw.provenances.items()}
    return load.Results(Raw(list(rows.values()), provenances))


def tally_of(verdicts: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many findings of some papers have each answer."""
    counts: Counter[str] = Counter()
    for each in verdicts:
        counts.update(each["answers"])
    return {direction: counts[direction] for direction in DIRECTIONS}


def picks_of(paper: str) -> ModuleType | None:
    """Return the paper's module with a section of its own, None where it has none.

    It has ``heading(results)`` and ``section(results)``, empty when it has nothing to say.
    """
    return _module_of(paper, "picks")


def explained_of(paper: str) -> ModuleType | None:
    """Return the paper's module with pictures of its subject, None where it has none.

    It has ``HEADING`` and ``explained()``: sentences, each with a ``figures.pictures.Picture``.
    """
    return _module_of(paper, "explained")


def _module_of(paper: str, name: str) -> ModuleType | None:
    name = f"figures.{paper}.{name}"
    if find_spec(f"figures.{paper}") is None or find_spec(name) is None:
        return None
    return importlib.import_module(name)
