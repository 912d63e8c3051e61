"""Adapter of rule kernels."""

from experiments.commands.job_log import kept_log
from experiments.kernels import compile_groups

# The processes that compile import this script once more, under another name.
if __name__ == "__main__":
    with kept_log(snakemake.log[0]):
        compile_groups(**snakemake.params.asked, cores=snakemake.threads, say=print)
