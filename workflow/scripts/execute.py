"""Adapter of rule notebook."""

from experiments.commands.job_log import kept_log
from figures.notebook import execute

with kept_log(snakemake.log[0]):
    execute(snakemake.input.notebook, snakemake.params.label, snakemake.output.executed)
