"""``millrace cluster``: a master and workers of Spark on this machine, until they are ended."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.output import print_columns, print_json
from operators.running import standing_cluster
from operators.running.cluster import Size
from operators.running.standing_cluster import Status

NOT_READY = 1
REAL = """\
a real cluster needs instead: Spark 4.3.0 on each node, or YARN, or Kubernetes; a Python of our
version with requirements.lock at one path, which PYSPARK_PYTHON names; the archive that 'millrace
pack' makes, so that no node needs a checkout; and a folder that all nodes see for files in and out.
docs/cluster.md goes there step by step."""


def run(options: argparse.Namespace) -> int:
    """Start a cluster, end it, or show it; return 1 if processes or workers are missing."""
    folder = standing_cluster.home() if options.folder is None else Path(options.folder)
    if options.action == "up":
        size = Size(options.workers, options.cores, options.memory)
        there = standing_cluster.up(folder, size, options.port)
    elif options.action == "down":
        there = standing_cluster.down(folder)
    else:
        there = standing_cluster.status(folder)
    if options.json:
        print_json(_content(there, folder))
    elif options.action == "down":
        print(f"ended {there.master} and its {there.size.workers} workers")
    else:
        _show(there, folder)
    if options.action == "up" and not options.json:
        print(f"use it:   millrace replay ... --backend spark --master {there.master}")
        print("end it:   millrace cluster down")
        print(REAL)
    return 0 if options.action == "down" or there.ready else NOT_READY


def _content(there: Status, folder: Path) -> dict:
    """Return the content that --json prints."""
    missing = there.missing
    return {
        "master": there.master,
        "page": there.page,
        "folder": str(folder),
        "ready": there.ready,
        "workers": {**there.size._asdict(), "registered": there.registered},
        "processes": [
            {"name": each.name, "pid": each.pid, "runs": each.name not in missing}
            for each in there.daemons
        ],
    }


def _show(there: Status, folder: Path) -> None:
    """Print the state of a cluster."""
    print(f"master:   {there.master}, its page {there.page}")
    size = there.size
    print(
        f"workers:  {there.registered} of {size.workers} registered, each of {size.cores} cores and"
        f" {size.memory}"
    )
    print(f"logs:     {folder}")
    missing = there.missing
    print_columns(
        [
            (each.name, each.pid, "has ended" if each.name in missing else "runs")
            for each in there.daemons
        ]
    )
    if not there.ready:
        print("not ready: look into the logs, then 'millrace cluster down' and 'up'")
