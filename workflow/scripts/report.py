"""Adapter of rule report."""

from experiments.commands.job_log import kept_log
from figures.report import write_report

with kept_log(snakemake.log[0]):
    write_report(snakemake.params.folder, snakemake.output.page)
