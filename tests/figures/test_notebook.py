"""The notebooks: stored without outputs, free of logic, and drawing the same as the figures."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from pathlib import Path

import nbformat
import pytest

from experiments import own_variant, papers
from experiments.judging import claims
from experiments.multiway_aggregation import live
from experiments.multiway_aggregation.snapshots import LiveRun
from figures import notebook
from figures.draw import Drawing
from figures.load import LABEL
from figures.pictures import Picture
from operators import registry
from operators.contract import UsageError
from tests.invented import of_every_figure as of_every_gate
from tests.invented import write_raw
from tests.joining import joined

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
OF_PAPERS = [path for path in NOTEBOOKS if path.stem in papers.paper_names()]
(OWN,) = (path for path in NOTEBOOKS if path not in OF_PAPERS)
# The first line of a cell that is the content of a file, and no code of the notebook.
FILE = re.compile(r"%%writefile \{gates\}/(\w+\.py)\n")
# A notebook loads, names and shows; code that decides or repeats belongs in the packages.
LOGIC = (ast.If, ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.With, ast.Try)


def code_of(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run_cell(source, names):
    """Run a cell and return the value of an expression at its end, as a notebook shows it."""
    *before, last = ast.parse(source).body
    shown = isinstance(last, ast.Expr)
    exec(compile(ast.Module([*before, *([] if shown else [last])], []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if shown else None


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path):
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code_of(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_has_no_logic(path):
    for cell in code_of(path):
        if path == OWN and FILE.match(cell.source):
            continue
        assert not [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, LOGIC)]


@pytest.mark.parametrize("path", OF_PAPERS, ids=lambda path: path.stem)
def test_it_draws_every_figure_from_a_folder_below(path, tmp_path, monkeypatch):
    # Found by the paper's name, so that a new paper brings a module.
    of_paper = importlib.import_module(f"tests.figures.{path.stem}.for_notebook")
    results = tmp_path / "results" / "quick"
    files = write_raw(results / "raw", of_paper.of_every_figure(repetitions=1))
    claims.judge(path.stem, files, results / "claims" / f"{path.stem}.json")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.delenv(LABEL, raising=False)
    of_paper.shorten(monkeypatch)
    names = {}
    shown = [run_cell(cell.source, names) for cell in code_of(path)]
    drawn = [value for value in shown if isinstance(value, Drawing)]
    titles = {drawing.figure.texts[0].get_text().partition(":")[0] for drawing in drawn}
    declared = papers.paper(path.stem).figures
    assert {f"Figure {figure.id}" for figure in declared} < titles
    assert drawn[0]._repr_png_().startswith(b"\x89PNG")
    assert len([value for value in shown if isinstance(value, Picture)]) == of_paper.PICTURES


def test_an_executed_notebook_has_a_page_that_loads_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(notebook.NotebookClient, "execute", lambda self: None)
    monkeypatch.setenv(LABEL, "before")
    cell = nbformat.v4.new_code_cell("1 < 2")
    cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "True & seen"})]
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A title"), cell])
    nbformat.write(written, tmp_path / "kept.ipynb")
    made = notebook.execute(tmp_path / "kept.ipynb", "quick", tmp_path / "pim_tree.ipynb")
    text = made.with_suffix(".html").read_text("utf-8")
    assert "A title" in text and "True &amp; seen" in text
    assert 'href="../pim_tree.html"' in text
    assert not re.search(r"https?:|<script [^>]*src", text)


def test_the_notebook_on_one_s_own_operator_finds_and_draws_it(tmp_path, monkeypatch):
    results = tmp_path / "results" / "quick"
    files = write_raw(results / "raw", of_every_gate(repetitions=1))
    claims.judge("multiway_aggregation", files, results / "claims" / "multiway_aggregation.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(LABEL, raising=False)
    asked = []

    def run(variants):
        # As the runs would: an id that is not in the registry is an error.
        asked.extend(registry.variant("gate", each) for each in variants)
        return [
            LiveRun(each, number, 1e6 * (place + number), True, 5, 2)
            for place, each in enumerate(variants)
            for number in (1, 2)
        ]

    def check(name, root):
        return f"{name}: {(root / 'operators' / 'gate' / 'lock_and_heap.py').stat().st_size} bytes"

    monkeypatch.setattr(live, "locks_against_no_locks", run)
    monkeypatch.setattr(own_variant, "check", check)
    names, shown = {}, []
    with joined(results.parent / "own"):
        for cell in code_of(OWN):
            file = FILE.match(cell.source)
            if file:
                (names["gates"] / file[1]).write_text(cell.source[file.end() :], encoding="utf-8")
            else:
                shown.append(run_cell(cell.source, names))
    pictures = [each for each in shown if isinstance(each, Picture)]
    assert [each.id for each in asked][-1] == "lock-and-heap"
    assert "Lock and heap came out ahead" in pictures[0].reading
    assert len(pictures) == 2 and pictures[1].reading.startswith("You said 0.50 times")


def test_a_failure_of_one_s_own_operator_is_said_with_the_report(monkeypatch, tmp_path):
    ended = subprocess.CompletedProcess([], 1, "gate/mine\n  lost a tuple", "")
    monkeypatch.setattr(own_variant.subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(UsageError, match="millrace check gate/mine found a failure:\n.*\n.*lost"):
        own_variant.check("gate/mine", tmp_path)
