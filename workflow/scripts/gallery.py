"""Adapter of rule gallery."""

from experiments.commands.job_log import kept_log
from figures.gallery import write_gallery

with kept_log(snakemake.log[0]):
    write_gallery(snakemake.params.folder)
