"""Adapter of the rules that draw peers."""

from experiments.commands.job_log import kept_log
from figures.peers import write_peers

with kept_log(snakemake.log[0]):
    write_peers(snakemake.input.rows, snakemake.params.folder)
