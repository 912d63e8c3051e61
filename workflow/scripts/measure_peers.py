"""Adapter of the rules that measure peers."""

from experiments.commands.job_log import kept_log
from experiments.peers.measure import measure_named

with kept_log(snakemake.log[0]):
    measure_named(
        snakemake.params.paper,
        snakemake.config["profile"],
        snakemake.params.peers,
        snakemake.params.datasets,
        int(snakemake.wildcards.repetition),
        snakemake.output.rows,
    )
