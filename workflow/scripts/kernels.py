"""Adapter of rule kernels."""

from experiments.commands.job_log import kept_log
from experiments.measure import warm_up_group

with kept_log(snakemake.log[0]):
    warm_up_group(
        snakemake.wildcards.group,
        profile_path=snakemake.config["profile"],
        dataset=snakemake.input.get("dataset") or None,
    )
