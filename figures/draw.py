"""Writes a figure: vector, pixels and the numbers in it; equal data give equal bytes."""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from experiments.harness.claims import UsageError
from figures import load, style

KINDS = ("pdf", "svg", "png")
EXTENDED = "_extended"
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
        """Return the file of this `kind`: one of ``KINDS``, or ``csv``."""
        if kind == "csv":
            return self.table.to_csv(index=False, float_format="%.6g").encode()
        return saved(self.figure, kind)

    def _repr_png_(self) -> bytes:
        return self.bytes_of("png")


def saved(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file of this `kind`, one of ``KINDS``: equal figures, equal bytes."""
    target = io.BytesIO()
    with matplotlib.rc_context(style.PARAMETERS):
        figure.savefig(target, format=kind, metadata=METADATA[kind])
    return target.getvalue()


def draw(
    paper: str,
    figure: str,
    raw: load.Results | Iterable[str | Path],
    claims_file: str | Path | None = None,
) -> Drawing:
    """Return one figure of a paper, drawn from raw results.

    Parameters
    ----------
    paper : str
        Folder below ``figures``.
    figure : str
        For example ``fig_13``, or ``fig_13_extended`` for its extended form.
    raw : Results, or iterable of path
        What ``figures.load.read`` returned, or raw results; other figures are passed over.
    claims_file : path or None
        Verdicts to count in the footer.

    Raises
    ------
    UsageError
        When there is no such figure, or a file cannot be read.
    """
    own = figure.removesuffix(EXTENDED)
    module = _module(paper, own)
    results = raw if isinstance(raw, load.Results) else load.read(raw)
    extended = figure.endswith(EXTENDED)
    table = module.select(results, extended=extended)
    footer = load.footer_of(results, own, claims_file)
    with matplotlib.rc_context(style.PARAMETERS):
        return Drawing(module.draw(table, footer, extended=extended), table)


def _module(paper: str, figure: str):
    folder = Path(__file__).parent / paper
    there = sorted(path.stem for path in folder.glob("fig_*.py"))
    if figure not in there:
        raise UsageError(
            f"there is no figure {figure!r} of paper {paper!r};"
            f" there are: {', '.join(there) or 'none'}"
        )
    return importlib.import_module(f"figures.{paper}.{figure}")


def draw_forms(
    paper: str,
    figure: str,
    raw_files: Iterable[str | Path],
    claims_file: str | Path | None,
    output_stem: str | Path,
) -> list[Path]:
    """Draw one figure and its extended form as ``draw_figure`` does; return the paths of all."""
    raw, stem = load.read(raw_files), Path(output_stem)
    written = []
    for form in ("", EXTENDED):
        path = stem.with_name(f"{stem.name}{form}")
        written += draw_figure(paper, f"{figure}{form}", raw, claims_file, path)
    return written


def draw_figure(
    paper: str,
    figure: str,
    raw: load.Results | Iterable[str | Path],
    claims_file: str | Path | None,
    output_stem: str | Path,
) -> list[Path]:
    """Draw one figure and write ``.pdf``, ``.svg``, ``.png`` and ``.csv``; return their paths.

    Parameters are those of ``draw``; `output_stem` is the path of the files without their ending.
    """
    drawing = draw(paper, figure, raw, claims_file)
    stem = Path(output_stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in (*KINDS, "csv"):
        path = stem.with_name(f"{stem.name}.{kind}")
        unfinished = path.with_name(f".{path.name}.partial")
        unfinished.write_bytes(drawing.bytes_of(kind))
        os.replace(unfinished, path)
        written.append(path)
    return written
