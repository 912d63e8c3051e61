"""Adapter of rule measure."""

from experiments.commands.job_log import kept_log
from experiments.job import measure_group

with kept_log(snakemake.log[0]):
    measure_group(
        snakemake.wildcards.group,
        profile_path=snakemake.config["profile"],
        started=int(snakemake.wildcards.repetition),
        dataset=snakemake.input.get("dataset") or None,
        output=snakemake.output.rows,
    )
