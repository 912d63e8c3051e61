"""Snakemake as a user starts it, but that what each start imports from others is there already.

That is 1.2 of the 2.0 seconds of a dry run. A process that has imported it and nothing of the
project (Python's fork server) is forked for each run, which finds the project in its own folders.
What is registered for the end of a process is done there too, which a fork leaves out.
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
    """Run ``snakemake`` in a folder and return what it said.

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
