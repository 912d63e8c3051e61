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
from experiments.records.files import write_file
from figures import load, panel, style
from figures.cells import csv_of, with_cells
from figures.files import EXTENDED, KINDS, form_name, forms_of
from figures.footers import line_of
from figures.stated import with_stated
from figures.table import panel_of
from figures.view import View

# Omits the time of drawing and the versions of libraries, which would differ between runs.
METADATA = {
    "pdf": {"CreationDate": None, "Producer": "Millrace", "Creator": "Millrace"},
    "svg": {"Date": None, "Creator": "Millrace"},
    "png": {"Software": "Millrace"},
}


@dataclass(frozen=True)
class Drawing:
    """A figure and the table it was drawn from; a notebook displays it directly.

    Attributes
    ----------
    figure : Figure
    table : DataFrame
        In the form of ``figures.cells``; saved as the CSV of the figure.
    notes : tuple of str
        Statements of the footer that are not printed below the figure; the head of the CSV.
    """

    figure: Figure
    table: pd.DataFrame
    notes: tuple[str, ...]

    def bytes_of(self, kind: str) -> bytes:
        """Return the file of this `kind`: one of ``figures.files.KINDS``."""
        if kind == "csv":
            return csv_of(self.table, self.notes).encode()
        return saved(self.figure, kind)

    def _repr_png_(self) -> bytes:
        return self.bytes_of("png")


def saved(figure: Figure, kind: str) -> bytes:
    """Return a figure as one of ``figures.files.PICTURES``: equal figures, equal bytes."""
    target = io.BytesIO()
    # A low compression level is much faster, and the pixels pack nearly as small.
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
        Result of ``figures.load.read``, or paths of raw results; rows that the figure does not
        show are ignored.
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
    results = raw if isinstance(raw, load.Results) else load.read(raw, claims_file)
    return _drawn(View(figure, extended), results, claims_file)


def _drawn(view: View, results: load.Results, claims_file: str | Path | None) -> Drawing:
    form = form_of(view.figure)
    table = with_stated(form.select(results, view), view)
    told = load.footer_of(results, view, claims_file)
    with matplotlib.rc_context(style.PARAMETERS):
        picture = form.draw(table, view, [line_of(told), *told])
        for axes in picture.axes:
            panel.space_numbers(axes)
    noted = [name for name in view.figure.noted if name not in view.quantities]
    cells = [cell for name in noted for cell in panel_of(results, view, name, ties=False)]
    return Drawing(picture, with_cells(table, cells), tuple(picture.notes))


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
    """Draw a figure in each of its forms into `folder`; return the paths of all files.

    There is an extended form where it adds something to the paper's form
    (``figures.files.forms_of``). Each is written as ``.pdf``, ``.svg``, ``.png`` and ``.csv``.
    Parameters are those of ``draw``.
    """
    figure = papers.figure(paper, figure_id)
    results = raw if isinstance(raw, load.Results) else load.read(raw, claims_file)
    stem = Path(folder) / stem_of(figure_id)
    written = []
    for form in forms_of(figure):
        drawing = _drawn(View(figure, extended=form == EXTENDED), results, claims_file)
        written += [write_file(f"{stem}{form}.{kind}", drawing.bytes_of(kind)) for kind in KINDS]
    return written


def draw_figures(
    paper: str,
    figure_ids: Iterable[str],
    raw_files: Iterable[str | Path],
    claims_file: str | Path | None,
    folder: str | Path,
) -> list[Path]:
    """Draw figures of a paper in each of their forms; return the paths of all files.

    The raw results are read once for all figures. The noise floors are those of the verdicts.

    Parameters
    ----------
    paper : str
    figure_ids : iterable of str
    raw_files : iterable of path
        All files of the set of results that concern the paper.
    claims_file, folder
        As for ``draw_forms``.
    """
    results = load.read(raw_files, claims_file)
    drawn = (draw_forms(paper, each, results, claims_file, folder) for each in figure_ids)
    return [path for paths in drawn for path in paths]
