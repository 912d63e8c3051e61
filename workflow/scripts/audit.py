"""Adapter of rule audit."""

from experiments.commands.job_log import kept_log
from experiments.records.audit import audit

with kept_log(snakemake.log[0]):
    audit(snakemake.input.raw, snakemake.output.verdict)
