"""Adapter of rule front."""

from experiments.commands.job_log import kept_log
from figures.index_page import write_front

with kept_log(snakemake.log[0]):
    write_front("results", snakemake.output.page)
