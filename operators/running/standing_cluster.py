"""A Spark cluster on this machine that outlives the command that starts it.

A file in the cluster's folder lists the processes, for `status` and `down`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from operators.contract import UsageError
from operators.core.sources import user_folder
from operators.running.cluster import Daemon, LoopbackCluster, Size, end_processes, registered
from operators.running.whole import write_whole

PORT = 7077  # the usual port of a master
# The default memory of an executor: none would start on a worker with less.
EXECUTOR_MEMORY = 1 << 30
STATE = "cluster.json"
# Prints the process's number, and leaves the process running.
DETACHED = '"$@" </dev/null >"$0" 2>&1 & echo "$!"'


class Status(NamedTuple):
    """The state of a cluster."""

    master: str
    page: str
    size: Size
    daemons: list[Daemon]
    registered: int

    @property
    def missing(self) -> list[str]:
        """Names of the processes that have ended."""
        return [each.name for each in self.daemons if each.process() is None]

    @property
    def ready(self) -> bool:
        """Whether every process runs and every worker is registered."""
        return not self.missing and self.registered == self.size.workers


def home() -> Path:
    """Return the default folder of the cluster that commands start."""
    return user_folder() / "cluster"


def up(folder: Path, size: Size, port: int = PORT) -> Status:
    """Start a cluster that stays until `down`.

    Parameters
    ----------
    folder
        Folder for logs, for files of executors, and for the list of processes. It must be empty,
        not exist, or contain a cluster that has ended.
    size
        Number of workers, and cores and memory of each.
    port
        The master's; 0 for a free one.

    Returns
    -------
    Status

    Raises
    ------
    UsageError
        If a cluster already runs there, the folder contains something else, a worker is too small
        for an executor, or the cluster cannot start.
    """
    size.bytes()  # refuses values that are out of range for every cluster
    if size.heaps() < EXECUTOR_MEMORY:
        raise UsageError(
            f"memory of {size.memory} for a worker, and an executor asks for 1g; give 1g or more"
        )
    folder = folder.absolute()
    if (folder / STATE).is_file():
        there = _load(folder)
        if len(there.missing) < len(there.daemons):
            raise UsageError(
                f"a cluster runs already at {there.master or folder}; use it, or end it with"
                " 'millrace cluster down'"
            )
        shutil.rmtree(folder)
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} has something else in it; name another folder")
    cluster = LoopbackCluster(size, port=port)

    def note() -> None:
        """Record the processes: `down` would find them even if this process were killed now."""
        state = {
            "master": cluster.master,
            "page": cluster.page,
            "size": size._asdict(),
            "daemons": [daemon._asdict() for daemon in cluster.daemons],
        }
        write_whole(folder / STATE, (json.dumps(state, indent=1) + "\n").encode())

    try:
        cluster.start(folder, _detached, note)
    except BaseException:
        end_processes(cluster.daemons)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return status(folder)


def down(folder: Path) -> Status:
    """End the cluster of a folder, and remove the folder.

    Returns
    -------
    Status
        The status before.

    Raises
    ------
    UsageError
        If there is none.
    """
    there = status(folder)
    end_processes(there.daemons)
    shutil.rmtree(folder, ignore_errors=True)
    return there


def status(folder: Path) -> Status:
    """Return the status of the cluster of a folder.

    Raises
    ------
    UsageError
        If there is none.
    """
    there = _load(folder)
    # A master that is just starting has no page yet.
    return there._replace(registered=len(registered(there.page)) if there.page else 0)


def _load(folder: Path) -> Status:
    """Return the recorded status of a cluster, with no worker registered."""
    try:
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        daemons = [Daemon(**each) for each in state["daemons"]]
        return Status(state["master"], state["page"], Size(**state["size"]), daemons, 0)
    except OSError as error:
        raise UsageError(
            f"there is no cluster in {folder}; start one with 'millrace cluster up'"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder / STATE} is not as it was written; end what runs of the cluster (Java"
            " processes of org.apache.spark.deploy), and remove the folder"
        ) from error


def _detached(command: list[str], environment: dict[str, str], folder: Path, log: Path) -> int:
    """Start a process that outlives this one, and return the process's number."""
    started = subprocess.run(
        ["sh", "-c", DETACHED, str(log), *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=folder, env=environment,
        start_new_session=True, check=True,
    )  # fmt: skip
    return int(started.stdout)
