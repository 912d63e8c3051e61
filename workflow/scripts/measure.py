"""Adapter of rule measure."""

from experiments.commands.job_log import kept_log
from experiments.timing.runner import run_figure

with kept_log(snakemake.log[0]):
    run_figure(
        paper=snakemake.wildcards.paper,
        figure=snakemake.wildcards.figure,
        profile_path=snakemake.input.profile,
        repetition=int(snakemake.wildcards.repetition),
        datasets=snakemake.input.datasets,
        output=snakemake.output.rows,
    )
