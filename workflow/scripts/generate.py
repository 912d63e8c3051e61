"""Adapter of rule generate."""

from datasets.generate import generate
from experiments.commands.job_log import kept_log

with kept_log(snakemake.log[0]):
    generate(
        snakemake.wildcards.dataset,
        rows=snakemake.params.rows,
        seed=snakemake.params.seed,
        output=snakemake.output.folder,
        master=snakemake.config["spark_master"],
    )
