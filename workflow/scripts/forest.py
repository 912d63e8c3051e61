"""Adapter of rule forest."""

from experiments.commands.job_log import kept_log
from figures.forest import write_forest

with kept_log(snakemake.log[0]):
    write_forest(snakemake.input.claims, snakemake.params.folder)
