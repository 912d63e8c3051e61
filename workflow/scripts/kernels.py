"""Adapter of rule kernels; its processes import this file once more, under another name."""

from experiments.commands.job_log import kept_log
from experiments.kernels import compile_groups

if __name__ == "__main__":
    with kept_log(snakemake.log[0]):
        compile_groups(
            snakemake.params.groups,
            profile_path=snakemake.config["profile"],
            datasets=snakemake.params.datasets,
            cores=snakemake.threads,
            say=print,
        )
