"""Adapter of rule audit."""

from experiments.harness.audit import audit
from experiments.harness.job_log import kept_log

with kept_log(snakemake.log[0]):
    audit(snakemake.input.raw, snakemake.output.verdict)
