"""Adapter of rule claims."""

from experiments.commands.job_log import kept_log
from experiments.judging.claims import judge

with kept_log(snakemake.log[0]):
    judge(
        snakemake.wildcards.paper,
        snakemake.input.raw,
        snakemake.output.verdicts,
        snakemake.input.machine,
    )
