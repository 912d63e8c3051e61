"""Runs a paper's notebook on one set of results; it is stored without outputs."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from experiments.records.files import write_file
from figures import page
from figures.load import LABEL


def execute(source: str | Path, label: str, output: str | Path) -> Path:
    """Run the notebook `source` on the results called `label`, and write it with outputs.

    A copy for a browser, which needs no network, has the same name and ends with ``.html``.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell fails.
    """
    notebook = nbformat.read(source, as_version=4)
    os.environ[LABEL] = label
    NotebookClient(notebook, resources={"metadata": {"path": "."}}).execute()
    output = Path(output)
    nbformat.write(notebook, output)
    write_file(output.with_suffix(".html"), _page_of(notebook, output.stem).encode())
    return output


def _page_of(notebook: nbformat.NotebookNode, paper: str) -> str:
    """Return an executed notebook as a page."""
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    back = f"../{paper}.html"
    header = f'<p class="soft"><a href="{escape(back)}">The page of the paper</a></p>'
    return page.document(f"{paper}: notebook", header, f'<div class="notebook">{body}</div>', "")
