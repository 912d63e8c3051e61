"""Adapter of rule generate."""

from experiments.commands.job_log import kept_log
from experiments.generated import make_dataset

with kept_log(snakemake.log[0]):
    make_dataset(
        snakemake.wildcards.dataset,
        snakemake.output.folder,
        profile=snakemake.config["profile"],
        seed=snakemake.params.seed,
        generated=snakemake.config["generated"],
        master=snakemake.config["spark_master"],
    )
