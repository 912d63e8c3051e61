"""Runs a paper's notebook on one set of results; it is stored without outputs."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from figures.load import LABEL


def execute(source: str | Path, label: str, output: str | Path) -> Path:
    """Run the notebook `source` on the results called `label`, and write it with its outputs.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell fails.
    """
    notebook = nbformat.read(source, as_version=4)
    os.environ[LABEL] = label
    NotebookClient(notebook, resources={"metadata": {"path": "."}}).execute()
    nbformat.write(notebook, output)
    return Path(output)
