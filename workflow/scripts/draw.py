"""Adapter of rule figure."""

from experiments.commands.job_log import kept_log
from figures.draw import draw_forms

with kept_log(snakemake.log[0]):
    draw_forms(
        snakemake.wildcards.paper,
        snakemake.params.figure,
        snakemake.input.raw,
        snakemake.input.claims,
        snakemake.params.folder,
    )
