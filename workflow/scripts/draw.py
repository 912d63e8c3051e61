"""Adapter of rule figure."""

from experiments.harness.job_log import kept_log
from figures.draw import draw_figure

with kept_log(snakemake.log[0]):
    draw_figure(
        snakemake.wildcards.paper,
        snakemake.wildcards.figure,
        snakemake.input.raw,
        snakemake.input.claims,
        snakemake.output[0].removesuffix(".pdf"),
    )
