"""Adapter of rule report."""

from experiments.commands.job_log import kept_log
from figures.set_page import write_set_page

with kept_log(snakemake.log[0]):
    write_set_page(snakemake.params.folder, snakemake.output.page)
