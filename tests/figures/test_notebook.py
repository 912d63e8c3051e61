"""The notebooks: stored without outputs, free of logic, and drawing what the figures draw."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from experiments.harness import claims
from figures.draw import Drawing
from tests.invented import as_in_the_paper, write_raw

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
    results = tmp_path / "results"
    files = write_raw(results / "raw", as_in_the_paper(repetitions=1))
    claims.judge(files, claims.published_files(), results / "claims.json")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    names, shown = {}, []
    for cell in code_of(path):
        tree = ast.parse(cell.source)
        exec(compile(tree, str(path), "exec"), names)
        if isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body[-1].value)
            shown.append(eval(compile(last, str(path), "eval"), names))
    drawn = [value for value in shown if isinstance(value, Drawing)]
    assert len(drawn) == 6
    assert drawn[0]._repr_png_().startswith(b"\x89PNG")
