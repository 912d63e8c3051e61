"""Adapter of rule page."""

from experiments.commands.job_log import kept_log
from figures.report import write_page

with kept_log(snakemake.log[0]):
    write_page(
        snakemake.params.folder,
        snakemake.wildcards.paper,
        snakemake.output.page,
        snakemake.params.notebook,
        peers=snakemake.params.peers,
    )
