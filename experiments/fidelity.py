"""What differs from the papers: printed algorithms that were mended, gaps, and other experiments.

``experiments/<paper>/fidelity.yaml`` holds a paper's *deviations*, and nothing else says them: the
report shows them under the figures that they touch, and ``docs/fidelity.md`` is what ``page``
returns. ``python -m experiments.fidelity`` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from experiments import papers
from experiments.judging import fields
from experiments.judging.published import EachKeyOnce
from experiments.records.files import write_file
from operators.contract import UsageError
from operators.core.sources import ROOT

PAGE = ROOT / "docs" / "fidelity.md"
ALL, NONE = "all", "none"
HEAD = """# What differs from the papers

Generated from `experiments/<paper>/fidelity.yaml` by `python -m experiments.fidelity`: edit those
files, and not this page.

A paper's algorithm is printed with faults and gaps, and its experiment was made on another machine,
in another language, on data that cannot be had. For each paper the table says what it has, what
Millrace does instead and where, what that does to a result, and in whose favour: *nobody* where all
that is compared has it alike or no result depends on it, *unknown* where it was not measured. What
touches every figure stands first, what touches none last. Figures whose number ends with x, y or s
are ours.
"""
COLUMNS = (
    "what the paper has",
    "what is done here",
    "what that does to a result",
    "in favour of",
    "figures",
    "where",
)


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """One thing that differs from a paper.

    Attributes
    ----------
    id : str
    paper : str
        What is printed, with section, algorithm or figure.
    here : str
        What is done instead.
    files : tuple of str
        Where, from the root of the repository.
    figures : "all", "none" or tuple of str
        Which of the paper's figures it touches.
    effect : str
        What it does to a result.
    favours : tuple of str, "nobody" or "unknown"
        The designs that look better for it, by the paper's names of published.yaml.
    """

    id: str
    paper: str
    here: str
    files: tuple[str, ...]
    figures: Literal["all", "none"] | tuple[str, ...]
    effect: str
    favours: Literal["nobody", "unknown"] | tuple[str, ...]

    def touches(self, figure: str) -> bool:
        """Say whether it touches a figure of its paper."""
        return self.figures == ALL or (self.figures != NONE and figure in self.figures)

    @property
    def figures_in_words(self) -> str:
        """The figures that it touches."""
        return self.figures if isinstance(self.figures, str) else ", ".join(self.figures)

    @property
    def in_favour_of(self) -> str:
        """The designs that it favours, in words."""
        return self.favours if isinstance(self.favours, str) else ", ".join(self.favours)


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """What differs from one paper."""

    paper: str
    deviations: tuple[Deviation, ...]


@cache
def read_fidelity(paper: str) -> tuple[Deviation, ...]:
    """Return what differs from a paper, as its fidelity.yaml has it; nothing where there is none.

    Raises
    ------
    UsageError
        When it cannot be read, a field is missing, unknown or there twice, two deviations have one
        id, it is another paper's, or it names a file or figure that does not exist.
    """
    path = papers.fidelity_file(paper)
    if not path.is_file():
        return ()
    try:
        written = yaml.load(path.read_text(encoding="utf-8"), EachKeyOnce)
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read what differs from a paper {path}: {error}") from error
    try:
        return deviations_of(paper, written)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def deviations_of(paper: str, written: object) -> tuple[Deviation, ...]:
    """Return the content of a paper's file, checked; see `read_fidelity` for what is refused."""

    def deviation(entry: object, number: int) -> Deviation:
        name = entry.get("id", number) if isinstance(entry, Mapping) else number
        try:
            return _checked(paper, fields.read(Deviation, entry))
        except UsageError as error:
            raise UsageError(f"deviation {name!r}: {error}") from error

    told = fields.read(Fidelity, written, readers={Deviation: deviation})
    if told.paper != paper:
        raise UsageError(f"it is of {told.paper!r}, not of {paper!r}")
    ids = [each.id for each in told.deviations]
    for name in ids:
        if ids.count(name) > 1:
            raise UsageError(f"there are two deviations {name!r}")
    return told.deviations


def _checked(paper: str, deviation: Deviation) -> Deviation:
    """Return a deviation all of whose files and figures are there."""
    root = papers.folder_of(paper).parents[1]
    for name in deviation.files:
        if not (root / name).is_file():
            raise UsageError(f"there is no file {name!r}")
    if not deviation.files or not deviation.figures or not deviation.favours:
        raise UsageError("files, figures and favours name one at least")
    if not isinstance(deviation.figures, str):
        for name in deviation.figures:
            papers.figure(paper, name)
    return deviation


def page() -> str:
    """Return docs/fidelity.md: a table for each paper of this repository that has a file."""
    here = Path(__file__).parent
    own = [each for each in papers.papers() if papers.folder_of(each.id).parent == here]
    parts = [_table(each.title, read_fidelity(each.id)) for each in own if read_fidelity(each.id)]
    return "\n".join((HEAD, *parts))


def _table(title: str, deviations: Iterable[Deviation]) -> str:
    """Return a paper's heading and its table, what touches every figure first."""
    ordered = sorted(deviations, key=lambda each: (each.figures != ALL, each.figures == NONE))
    lines = [f"## {title}", "", _row(COLUMNS), _row(["---"] * len(COLUMNS))]
    lines += [_row(_cells(each)) for each in ordered]
    return "\n".join(lines) + "\n"


def _cells(each: Deviation) -> tuple[str, ...]:
    where = "<br>".join(f"`{name}`" for name in each.files)
    return (each.paper, each.here, each.effect, each.in_favour_of, each.figures_in_words, where)


def _row(cells: Iterable[str]) -> str:
    told = [" ".join(cell.split()).replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(told)} |"


if __name__ == "__main__":
    write_file(PAGE, page().encode())
