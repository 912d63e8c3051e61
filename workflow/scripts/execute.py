"""Adapter of rule notebook."""

import nbformat
from nbclient import NotebookClient

from experiments.commands.job_log import kept_log

with kept_log(snakemake.log[0]):
    notebook = nbformat.read(snakemake.input.notebook, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": "."}}).execute()
    nbformat.write(notebook, snakemake.output.executed)
