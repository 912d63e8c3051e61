"""Writes a figure: vector, pixels and the numbers in it; equal data give equal bytes."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from experiments import papers
from experiments.declare import Figure as Declared
from experiments.declare import stem_of
from experiments.records.results import write_whole
from figures import load, style
from figures.files import EXTENDED, KINDS, form_name

# What would carry the time of drawing or the version of a library into the file.
METADATA = {
    "pdf": {"CreationDate": None, "Producer": "Millrace", "Creator": "Millrace"},
    "svg": {"Date": None, "Creator": "Millrace"},
    "png": {"Software": "Millrace"},
}


@dataclass(frozen=True)
class Drawing:
    """A figure and the table it was drawn from; a notebook shows it as it is.

    Attributes
    ----------
    figure : Figure
    table : DataFrame
        In the form of ``figures.load``; the CSV beside the figure.
    """

    figure: Figure
    table: pd.DataFrame

    def bytes_of(self, kind: str) -> bytes:
        """Return the file of this `kind`: one of ``figures.files.KINDS``."""
        if kind == "csv":
            return self.table.to_csv(index=False, float_format="%.6g").encode()
        return saved(self.figure, kind)

    def _repr_png_(self) -> bytes:
        return self.bytes_of("png")


def saved(figure: Figure, kind: str) -> bytes:
    """Return a figure as one of ``figures.files.PICTURES``: equal figures, equal bytes."""
    target = io.BytesIO()
    with matplotlib.rc_context(style.PARAMETERS):
        figure.savefig(target, format=kind, metadata=METADATA[kind])
    return target.getvalue()


def draw(
    paper: str,
    figure_id: str,
    raw: load.Results | Iterable[str | Path],
    claims_file: str | Path | None = None,
    extended: bool = False,
) -> Drawing:
    """Return one figure of a paper, drawn from raw results.

    Parameters
    ----------
    paper, figure_id : str
        For example "multiway_aggregation", "13".
    raw : Results, or iterable of path
        What ``figures.load.read`` returned, or raw results; what the figure does not show is
        passed over.
    claims_file : path or None
        Verdicts to count in the footer.
    extended : bool
        Whether to draw the ``_extended`` form.

    Raises
    ------
    UsageError
        When there is no such figure or form, or a file cannot be read.
    """
    figure = papers.figure(paper, figure_id)
    form = form_of(paper, figure)
    results = raw if isinstance(raw, load.Results) else load.read(raw)
    table = form.select(results, paper, figure, extended=extended)
    footer = load.footer_of(results, paper, figure, claims_file)
    with matplotlib.rc_context(style.PARAMETERS):
        return Drawing(form.draw(table, figure, footer, extended=extended), table)


def form_of(paper: str, figure: Declared) -> ModuleType:
    """Return the module that draws a figure; see ``figures.files.form_name``."""
    return importlib.import_module(form_name(paper, figure))


def draw_forms(
    paper: str,
    figure_id: str,
    raw_files: Iterable[str | Path],
    claims_file: str | Path | None,
    folder: str | Path,
) -> list[Path]:
    """Draw one figure and its extended form into `folder`; return the paths of all files."""
    raw, stem = load.read(raw_files), Path(folder) / stem_of(figure_id)
    written = []
    for extended in (False, True):
        path = stem.with_name(f"{stem.name}{EXTENDED if extended else ''}")
        written += draw_figure(paper, figure_id, raw, claims_file, path, extended)
    return written


def draw_figure(
    paper: str,
    figure_id: str,
    raw: load.Results | Iterable[str | Path],
    claims_file: str | Path | None,
    output_stem: str | Path,
    extended: bool = False,
) -> list[Path]:
    """Draw one figure and write ``.pdf``, ``.svg``, ``.png`` and ``.csv``; return their paths.

    Parameters are those of ``draw``; `output_stem` is the path of the files without their ending.
    """
    drawing = draw(paper, figure_id, raw, claims_file, extended)
    return [write_whole(f"{output_stem}.{kind}", drawing.bytes_of(kind)) for kind in KINDS]
