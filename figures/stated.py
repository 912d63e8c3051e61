"""A paper's published values as cells of its figures, never drawn as if they were measured.

By ``drawn`` a claim says that its value belongs in the claim's figures (``docs/claims.md``): a
point at the settings where the claim is read, or a level, which holds wherever the figure has
points. Lines and panels without a measured point get no published value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from numbers import Real
from pathlib import Path

import pandas as pd
import yaml

from experiments import papers
from experiments.declare import Figure, Series, Sweep
from experiments.judging.claim_types import ALL, Claim
from experiments.judging.published import claim_of
from experiments.records.quantities import quantity
from figures.cells import LEVEL, PUBLISHED, Cell, having, readable_values, with_cells
from figures.view import View

SOURCE = "the paper's own value"


def with_stated(table: pd.DataFrame, view: View) -> pd.DataFrame:
    """Return `table` with the published values appended; an extended form is left as it is."""
    if view.extended:
        return table
    figure = view.figure
    found = [cell for claim in claims_of(figure) for cell in _cells(claim, figure, table)]
    return with_cells(table, list(dict.fromkeys(found)))


def claims_of(figure: Figure) -> list[Claim]:
    """Return the claims whose values are drawn in a figure."""
    file = papers.published_file(figure.paper)
    every = _drawn(figure.paper, file) if file.is_file() else ()
    return [claim for claim in every if figure.id in claim.figures]


@cache
def _drawn(paper: str, file: Path) -> tuple[Claim, ...]:
    """Return the claims of a paper's file that are drawn; the file is read once a job.

    The judge checks the file as a whole.
    """
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    return tuple(claim_of(paper, each) for each in written["claims"] if each.get("drawn"))


def _cells(claim: Claim, figure: Figure, table: pd.DataFrame) -> Iterator[Cell]:
    """Yield the cells of a claim: one a line and panel, or for a level one at each measured x."""
    shown = readable_values(table)
    own = shown[(shown["panel"] == claim.quantity) & shown["variant"].isin(claim.reads.variants)]
    at = dict(claim.reads.at)
    place = at.pop(figure.x.setting, ALL) if isinstance(figure.x, Sweep) else ALL
    for (subject, line, variant), members in own.groupby(["subject", "line", "variant"]):
        named = {*subject.split(", "), *line.split(", ")}
        if not all(_holds(figure, setting, value, named) for setting, value in at.items()):
            continue
        level = claim.drawn == "level"
        for x in dict.fromkeys(members["x"]) if level else [place]:
            yield Cell(
                figure.paper, figure.id, claim.quantity, subject, Series(variant), line, x,
                value=claim.value, spread=SOURCE, unit=quantity(claim.quantity).unit,
                states=(PUBLISHED, LEVEL) if level else (PUBLISHED,),
            )  # fmt: skip


def _holds(figure: Figure, setting: str, value: object, named: set[str]) -> bool:
    """Return whether a setting of a claim applies to a line and panel with the names `named`."""
    if value == ALL or figure.settings.get(setting) == value:
        return True
    return isinstance(value, Real | str) and figure.setting_text(setting, value) in named


def apart(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table without the published values, and the published values."""
    stated = having(table, PUBLISHED)
    return table[~stated], table[stated]
