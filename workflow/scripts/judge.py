"""Adapter of rule claims."""

from experiments.harness.claims import judge
from experiments.harness.job_log import kept_log

with kept_log(snakemake.log[0]):
    judge(snakemake.input.raw, snakemake.input.published, snakemake.output.verdicts)
