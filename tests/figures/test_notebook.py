"""The notebooks: stored without outputs, free of logic, and drawing what the figures draw."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from experiments import papers
from experiments.judging import claims
from experiments.multiway_aggregation import live
from experiments.multiway_aggregation.snapshots import LiveRun
from experiments.ordered_processing import live as ordered_live
from experiments.ordered_processing.snapshots import TimeSpent
from experiments.pim_tree import live as pim_live
from experiments.pim_tree.snapshots import Inserts, JoinRun
from experiments.scalejoin import live as scalejoin_live
from experiments.scalejoin.snapshots import JoinRun as ThetaRun
from figures.draw import Drawing
from figures.load import LABEL
from figures.pictures import Picture
from tests import invented, invented_ordered, invented_pim_tree, invented_scalejoin
from tests.invented import write_raw

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
# Loading, naming and showing; whatever decides or repeats belongs into the packages.
LOGIC = (ast.If, ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.With, ast.Try)


INVENTED = {
    "multiway_aggregation": invented.of_every_figure,
    "ordered_processing": invented_ordered.of_every_figure,
    "pim_tree": invented_pim_tree.of_every_figure,
    "scalejoin": invented_scalejoin.of_every_figure,
}
# How many pictures each shows beside the figures.
PICTURES = {"multiway_aggregation": 3, "ordered_processing": 3, "pim_tree": 5, "scalejoin": 6}


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
    results = tmp_path / "results" / "quick"
    files = write_raw(results / "raw", INVENTED[path.stem](repetitions=1))
    claims.judge(path.stem, files, results / "claims" / f"{path.stem}.json")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.delenv(LABEL, raising=False)
    # What it runs live has a test of its own; here it only has to be shown.
    run = LiveRun("t-gate", 1, 1e6, True, 5, 2)
    monkeypatch.setattr(live, "locks_against_no_locks", lambda: [run])
    spent = TimeSpent("ct", {"1 one": 0.4, "2 two": 0.6}, 1e6, True)
    monkeypatch.setattr(ordered_live, "worker_time", lambda: [spent])
    monkeypatch.setattr(ordered_live, "find_frauds", lambda: [(0, 3)])
    join = JoinRun("pim-tree", 1 << 8, 1e6, True)
    monkeypatch.setattr(pim_live, "joins_by_window", lambda: [join])
    monkeypatch.setattr(pim_live, "inserts_by_subindex", lambda: [Inserts(0.0, (1, 1))])
    theta = ThetaRun("scale-join", 2, 1e9, (0.5, 0.5), True, True)
    monkeypatch.setattr(scalejoin_live, "compare_joins", lambda **given: [theta])
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
    assert len([value for value in shown if isinstance(value, Picture)]) == PICTURES[path.stem]
