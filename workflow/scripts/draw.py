"""Adapter of the rules of figures."""

from experiments.commands.job_log import kept_log
from figures.draw import draw_figures

with kept_log(snakemake.log[0]):
    draw_figures(
        snakemake.params.paper,
        snakemake.params.figures,
        snakemake.input.raw,
        snakemake.input.claims,
        snakemake.params.folder,
    )
