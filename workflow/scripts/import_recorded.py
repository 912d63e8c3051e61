"""Adapter of rule import_recorded."""

from datasets.imported import import_dataset
from experiments.commands.job_log import kept_log

with kept_log(snakemake.log[0]):
    import_dataset(
        snakemake.input.mapping,
        snakemake.output.folder,
        master=snakemake.config["spark_master"],
    )
