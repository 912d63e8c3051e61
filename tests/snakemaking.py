"""Snakemake as a user starts it, except that the third-party imports are done in advance.

Those imports take 1.2 of the 2.0 seconds of a dry run. A process that has done them and has
imported nothing of the project (Python's fork server) is forked for each run, which finds the
project in its own folders. Exit handlers, which a fork skips, are run explicitly.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

TIMEOUT_SECONDS = 250
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["numba", "pandas", "pyarrow.parquet", "snakemake.api", "snakemake.cli", "snakemake.workflow"]
)


def run(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run ``snakemake`` in a folder and return its output.

    Raises
    ------
    TimeoutError
        When it has not ended in time.
    """
    with tempfile.TemporaryDirectory() as place:
        said = [Path(place, name) for name in ("out", "err")]
        for file in said:
            file.touch()
        child = _FORKS.Process(
            target=_snakemake, args=(list(arguments), folder, dict(environment), said)
        )
        child.start()
        child.join(TIMEOUT_SECONDS)
        if child.exitcode is None:
            child.kill()
            child.join()
            raise TimeoutError(f"snakemake {arguments} has not ended: {said[1].read_text()}")
        out, err = (file.read_text() for file in said)
    return subprocess.CompletedProcess(arguments, child.exitcode, out, err)


def _snakemake(
    arguments: list[str], folder: Path, environment: dict[str, str], said: list[Path]
) -> None:
    for number, file in enumerate(said, 1):
        os.dup2(os.open(file, os.O_WRONLY), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [str(folder), *filter(None, places)]
    sys.argv = ["snakemake", *arguments]
    from snakemake.cli import main

    try:
        main()
    finally:
        atexit._run_exitfuncs()
