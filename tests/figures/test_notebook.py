"""The notebooks: stored without outputs, free of logic, and drawing what the figures draw."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import nbformat
import pytest

from experiments import papers
from experiments.judging import claims
from figures.draw import Drawing
from figures.load import LABEL
from figures.pictures import Picture
from tests.invented import write_raw

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
# Loading, naming and showing; whatever decides or repeats belongs into the packages.
LOGIC = (ast.If, ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.With, ast.Try)


def code_of(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path):
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code_of(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_has_no_logic(path):
    for cell in code_of(path):
        assert not [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, LOGIC)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_draws_every_figure_from_a_folder_below(path, tmp_path, monkeypatch):
    # By the paper's name, so that a new paper brings its own.
    of_paper = importlib.import_module(f"tests.figures.{path.stem}.for_notebook")
    results = tmp_path / "results" / "quick"
    files = write_raw(results / "raw", of_paper.of_every_figure(repetitions=1))
    claims.judge(path.stem, files, results / "claims" / f"{path.stem}.json")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.delenv(LABEL, raising=False)
    of_paper.shorten(monkeypatch)
    names, shown = {}, []
    for cell in code_of(path):
        *before, last = ast.parse(cell.source).body
        exec(compile(ast.Module(before, []), str(path), "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), str(path), "eval"), names))
        else:
            exec(compile(ast.Module([last], []), str(path), "exec"), names)
    drawn = [value for value in shown if isinstance(value, Drawing)]
    titles = {drawing.figure.texts[0].get_text().partition(":")[0] for drawing in drawn}
    declared = papers.paper(path.stem).figures
    assert {f"Figure {figure.id}" for figure in declared} < titles
    assert drawn[0]._repr_png_().startswith(b"\x89PNG")
    assert len([value for value in shown if isinstance(value, Picture)]) == of_paper.PICTURES
