"""``millrace generate``: a data set, made by Spark on this machine or on a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.output import print_json
from operators.running.outputs import to_be_made


def run(options: argparse.Namespace) -> int:
    """Make the set; report in one line on stderr, and with --json the set on stdout."""
    # Loads Spark's Python side; mistakes in the options are reported before that.
    from datasets.generate import generate

    with to_be_made(Path(options.output)) as output:
        info = generate(
            options.dataset,
            rows=options.rows,
            seed=options.seed,
            output=output,
            master=options.master,
            partitions=options.partitions,
            overwrite=options.overwrite,
        )
    if options.json:
        print_json(info)
    return 0
