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
from figures import load, plot, style
from figures.cells import csv_of
from figures.files import EXTENDED, KINDS, form_name
from figures.view import View

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
        In the form of ``figures.cells``; the CSV beside the figure.
    """

    figure: Figure
    table: pd.DataFrame

    def bytes_of(self, kind: str) -> bytes:
        """Return the file of this `kind`: one of ``figures.files.KINDS``."""
        if kind == "csv":
            return csv_of(self.table).encode()
        return saved(self.figure, kind)

    def _repr_png_(self) -> bytes:
        return self.bytes_of("png")


def saved(figure: Figure, kind: str) -> bytes:
    """Return a figure as one of ``figures.files.PICTURES``: equal figures, equal bytes."""
    target = io.BytesIO()
    # Pixels pack nearly as small when little time is taken for it.
    more = {"pil_kwargs": {"compress_level": 3}} if kind == "png" else {}
    with matplotlib.rc_context(style.PARAMETERS):
        figure.savefig(target, format=kind, metadata=METADATA[kind], **more)
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
    results = raw if isinstance(raw, load.Results) else load.read(raw)
    table = _selected(View(figure), results)
    if extended:
        return _extended(figure, results, claims_file, table)
    return _drawn(View(figure), results, claims_file, table)


def _selected(view: View, results: load.Results) -> pd.DataFrame:
    return form_of(view.figure).select(results, view)


def _drawn(
    view: View, results: load.Results, claims_file: str | Path | None, table: pd.DataFrame
) -> Drawing:
    footer = load.footer_of(results, view, claims_file)
    with matplotlib.rc_context(style.PARAMETERS):
        picture = form_of(view.figure).draw(table, view, footer)
    return Drawing(picture, table)


def _extended(
    figure: Declared,
    results: load.Results,
    claims_file: str | Path | None,
    papers_own: pd.DataFrame,
) -> Drawing:
    """Return the extended form, or the word that it would show what the paper's form does."""
    view = View(figure, extended=True)
    table = _selected(view, results)
    if not repeats(table, papers_own):
        return _drawn(view, results, claims_file, table)
    with matplotlib.rc_context(style.PARAMETERS):
        return Drawing(plot.repeated(view), table.iloc[:0])


def repeats(extended: pd.DataFrame, papers_own: pd.DataFrame) -> bool:
    """Say whether an extended form would show what the paper's form shows, and no more."""
    names = ["panel", "line", "x"]
    own, other = (set(each[names].itertuples(index=False)) for each in (extended, papers_own))
    return bool(own) and own <= other


def form_of(figure: Declared) -> ModuleType:
    """Return the module that draws a figure; see ``figures.files.form_name``."""
    return importlib.import_module(form_name(figure))


def draw_forms(
    paper: str,
    figure_id: str,
    raw: load.Results | Iterable[str | Path],
    claims_file: str | Path | None,
    folder: str | Path,
) -> list[Path]:
    """Draw one figure and its extended form into `folder`; return the paths of all files.

    Each is written as ``.pdf``, ``.svg``, ``.png`` and ``.csv``. Parameters are those of ``draw``.
    """
    figure = papers.figure(paper, figure_id)
    results = raw if isinstance(raw, load.Results) else load.read(raw)
    table = _selected(View(figure), results)
    stem = Path(folder) / stem_of(figure_id)
    drawings = (
        (stem, _drawn(View(figure), results, claims_file, table)),
        (Path(f"{stem}{EXTENDED}"), _extended(figure, results, claims_file, table)),
    )
    return [
        write_whole(f"{path}.{kind}", drawing.bytes_of(kind))
        for path, drawing in drawings
        for kind in KINDS
    ]


def draw_figures(
    paper: str,
    figure_ids: Iterable[str],
    raw_files: Iterable[str | Path],
    claims_file: str | Path | None,
    folder: str | Path,
) -> list[Path]:
    """Draw figures of a paper, both forms of each; return the paths of all files.

    The raw results are read once and not once a figure, and all of them give the floors of noise.

    Parameters
    ----------
    paper : str
    figure_ids : iterable of str
    raw_files : iterable of path
        All of the set of results that concern the paper.
    claims_file, folder
        As for ``draw_forms``.
    """
    results = load.read(raw_files)
    drawn = (draw_forms(paper, each, results, claims_file, folder) for each in figure_ids)
    return [path for paths in drawn for path in paths]
