"""``millrace export``: a set of results as one archive, to be handed to others."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments import profiles
from experiments.commands.output import print_json
from experiments.records import archives
from experiments.records.sets import ResultSet, opened


def run(options: argparse.Namespace) -> int:
    """Write the archive and report its size."""
    output = Path(options.output)
    with opened(options.set) as found:
        label = options.label or label_of(found)
        about = archives.pack(label, found.files, output, options.overwrite, found.peers)
    size = output.stat().st_size
    if options.json:
        print_json({"archive": str(output), "bytes": size, **about})
        return 0
    print(
        f"{output}: {about['rows']:,} rows in {len(about['files'])} files, {size / 2**20:.2f} MiB;"
        f" millrace import {output} takes them in as {label}"
    )
    return 0


def label_of(found: ResultSet) -> str:
    """Return the label that a set has elsewhere: that of a profile gets the machine's hash."""
    if found.label not in profiles.names():
        return found.label
    return f"{found.label}-{'-'.join(found.every.machines)}"
