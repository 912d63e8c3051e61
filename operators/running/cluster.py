"""A Spark cluster on this machine: master and workers as separate processes, on 127.0.0.1.

Spark's Python package contains everything that a cluster needs, except a script that starts one. A
cluster in a program (`LoopbackCluster`) ends with the program, however the program ends: a shell
next to each process waits for the end of a pipe that this process holds. `standing_cluster` has one
that outlives a command.

Executors share nothing with this process but the Python installation and the disk: neither the
working folder nor any folder on the module path. In this respect they are like executors of a
remote cluster.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import ProxyHandler, build_opener

import psutil

from operators.contract import UsageError
from operators.running.java import java_home
from operators.running.spark_errors import reason
from operators.running.spark_settings import BRIEF, environment_of
from operators.running.whole import why

HOST = "127.0.0.1"
START_SECONDS = 120.0
STOP_SECONDS = 10.0
# Master and workers only keep lists; executors have separate heaps.
DAEMON_MEMORY = 512 << 20
LEAST_MEMORY = 512 << 20  # Spark starts no executor with less than some 450 MB.
MOST_WORKERS, MOST_CORES = 64, 1024
UNITS = {"m": 1 << 20, "g": 1 << 30}
EXECUTOR = "CoarseGrainedExecutorBackend"

# Prints the process's number, and ends the process when our pipe ends.
GUARDED = """\
exec 3<&0
"$@" </dev/null >"$0" 2>&1 3<&- &
own=$!
echo "$own"
exec >/dev/null 2>&1
(read -r nothing <&3; kill "$own"; sleep 10; kill -9 "$own") &
reader=$!
trap 'kill "$own"' TERM
while kill -0 "$own"; do wait "$own"; done
kill "$reader"
"""


def runs(process: psutil.Process) -> bool:
    """Return whether a process runs; an ended one stays listed, as a zombie, until it is reaped."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Daemon(NamedTuple):
    """A process of a cluster; the start time tells it from a later one of the same number."""

    name: str
    pid: int
    started: float

    def process(self) -> psutil.Process | None:
        """Return the process, or None if it has ended."""
        try:
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.started) < 1.0 and runs(process):
                return process
        except psutil.NoSuchProcess:
            pass  # It has ended, perhaps during this check.
        return None


class Size(NamedTuple):
    """The size of a cluster."""

    workers: int = 2
    cores: int = 1
    """Cores of each worker: the number of tasks that run on it at once."""
    memory: str = "1g"
    """Memory of each worker for the heaps of executors."""

    def bytes(self) -> int:
        """Return the memory of the whole cluster, in bytes, without the Python processes.

        Raises
        ------
        UsageError
            If a number is out of range.
        """
        if not 1 <= self.workers <= MOST_WORKERS or not 1 <= self.cores <= MOST_CORES:
            raise UsageError(
                f"{self.workers} workers of {self.cores} cores; give 1 to {MOST_WORKERS} workers of"
                f" 1 to {MOST_CORES} cores"
            )
        memory = self.heaps()
        if memory < LEAST_MEMORY:
            raise UsageError(f"memory of {self.memory} for a worker; give 512m or more, such as 1g")
        return self.workers * (memory + DAEMON_MEMORY) + DAEMON_MEMORY

    def heaps(self) -> int:
        """Return the bytes that a worker has for executors; 0 if `memory` is not a size."""
        found = re.fullmatch(r"([1-9][0-9]*)([mg])", self.memory)
        return int(found[1]) * UNITS[found[2]] if found else 0


class LoopbackCluster:
    """A master and workers on 127.0.0.1, as a context manager: they run within the context.

    Parameters
    ----------
    size
        Number of workers, and cores and memory of each.
    folder
        For logs and for the files of executors; a temporary folder by default, which is removed.
    port
        The master's; 0 for a free one.

    Attributes
    ----------
    master : str
        Spark's name for the master, `spark://127.0.0.1:port`.
    page : str
        The address of the master's page, which shows workers and applications.
    daemons : list of Daemon
        The master, and the workers in order.
    """

    def __init__(self, size: Size | None = None, *, folder: Path | None = None, port: int = 0):
        self.size = size or Size()
        self.master = self.page = ""
        self.daemons: list[Daemon] = []
        self._folder, self._port = folder, port
        self._guards: list[subprocess.Popen] = []
        self._temporary: tempfile.TemporaryDirectory | None = None

    def __enter__(self) -> LoopbackCluster:
        """Start the cluster; return when all workers are registered.

        Raises
        ------
        UsageError
            If there is too little memory, the port is in use, there is no Java, or a process ends
            before it is ready.
        """
        if self._folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="millrace-cluster-")
        folder = self._folder or Path(self._temporary.name)
        try:
            self.start(folder.absolute(), self._guarded)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes, including those of executors."""
        end_processes(self.daemons)
        for guard in self._guards:
            guard.stdin.close()
            guard.stdout.close()
            guard.wait()
        self.daemons, self._guards = [], []
        if self._temporary is not None:
            self._temporary.cleanup()

    def executors(self) -> list[psutil.Process]:
        """Return the running processes of executors."""
        found = []
        for each in _family(self.daemons[1:]):
            with suppress(psutil.NoSuchProcess):
                if EXECUTOR in " ".join(each.cmdline()):
                    found.append(each)
        return found

    def start(
        self, folder: Path, launch: Callable[..., int], note: Callable[[], None] = lambda: None
    ) -> None:
        """Start master and workers with `launch(command, environment, folder, log)`.

        `note` is called before the first process starts and after each start.
        """
        _check_memory(self.size)
        _check_port(self._port)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            note()
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {why(error)}") from error
        environment = _environment(folder)

        def run(name: str, kind: str, *arguments: object) -> None:
            script = Path(environment["SPARK_HOME"]) / "bin" / "spark-class"
            kind = f"org.apache.spark.deploy.{kind}"
            command = [str(script), kind, "--host", HOST, "--webui-port", "0"]
            command += map(str, arguments)
            pid = launch(command, environment, folder, folder / f"{name}.log")
            try:
                started = psutil.Process(pid).create_time()
            except psutil.NoSuchProcess:
                started = 0.0  # It has ended at once: the log has the reason.
            self.daemons.append(Daemon(name, pid, started))
            note()

        latest = time.monotonic() + START_SECONDS
        run("master", "master.Master", "--port", self._port)
        log = folder / "master.log"
        self.master = self._awaited(latest, folder, lambda: _said(log, r"master at (spark://\S+)"))
        port = self._awaited(
            latest, folder, lambda: _said(log, r"service 'MasterUI' on port (\d+)")
        )
        self.page = f"http://{HOST}:{port}"
        for number in range(1, self.size.workers + 1):
            run(
                f"worker-{number}", "worker.Worker", "--cores", self.size.cores,
                "--memory", self.size.memory, "--work-dir", folder / f"work-{number}", self.master,
            )  # fmt: skip
        self._awaited(latest, folder, lambda: len(registered(self.page)) == self.size.workers)

    def _awaited(self, latest: float, folder: Path, ask: Callable[[], Any]) -> Any:
        """Ask until there is an answer; fail when a process has ended or the time is over."""
        while not (answer := ask()):
            for daemon in self.daemons:
                if daemon.process() is None:
                    said = reason((folder / f"{daemon.name}.log").read_text(errors="replace"))
                    raise UsageError(
                        f"the {daemon.name} of the cluster has ended: {said}; mend that, or try"
                        " another port or MILLRACE_JAVA=packaged"
                    )
            if time.monotonic() > latest:
                raise UsageError(
                    f"the cluster is not ready after {START_SECONDS:.0f} s; end other programs,"
                    " or take fewer workers"
                )
            time.sleep(0.05)
        return answer

    def _guarded(
        self, command: list[str], environment: dict[str, str], folder: Path, log: Path
    ) -> int:
        guard = subprocess.Popen(
            ["sh", "-c", GUARDED, str(log), *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment,
            start_new_session=True,
        )  # fmt: skip
        self._guards.append(guard)
        return int(guard.stdout.readline())


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a cluster's processes, which executors inherit from the workers."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise UsageError("the package pyspark is not installed; run 'make setup'")
    empty = folder / "conf"
    empty.mkdir(exist_ok=True)
    home, _ = java_home()
    changes = environment_of(home, Path(spec.origin).parent, empty, local=True) | {
        "SPARK_DAEMON_MEMORY": f"{DAEMON_MEMORY >> 20}m",
        "SPARK_DAEMON_JAVA_OPTS": BRIEF,
        # For data of executors that does not fit in memory; the folder is removed with the rest.
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
    }
    return {name: value for name, value in (os.environ | changes).items() if value is not None}


def _check_memory(size: Size) -> None:
    wanted, free = size.bytes(), psutil.virtual_memory().available
    if wanted > free:
        raise UsageError(
            f"the cluster takes {wanted / (1 << 30):.1f} GiB of memory and {free / (1 << 30):.1f}"
            " are free; take fewer workers, or less memory for each"
        )


def _check_port(port: int) -> None:
    """Refuse a port in use: the master would silently take the next one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or error
            raise UsageError(
                f"port {port} of {HOST} cannot be had: {said}; end what has it, or give another one"
                " (0 for one that is free)"
            ) from error


def _said(log: Path, pattern: str) -> str | None:
    """Return the first group of a pattern in a log, which may not exist yet."""
    found = re.search(pattern, log.read_text(errors="replace") if log.is_file() else "")
    return found[1] if found else None


def registered(page: str) -> list[dict[str, Any]]:
    """Return the living workers from a master's page; empty if the page does not answer."""
    # Not through a proxy that the environment may name.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{page}/json/", timeout=STOP_SECONDS) as answer:
            workers = json.load(answer)["workers"]
    except OSError:
        return []
    return [worker for worker in workers if worker["state"] == "ALIVE"]


def _family(daemons: list[Daemon]) -> list[psutil.Process]:
    """Return the processes of a cluster and all their descendants."""
    found = []
    for daemon in daemons:
        process = daemon.process()
        if process is not None:
            found.append(process)
            with suppress(psutil.NoSuchProcess):
                found += process.children(recursive=True)
    return found


def end_processes(daemons: list[Daemon]) -> None:
    """End processes of a cluster, workers before the master, and all their descendants."""
    family = _family(daemons[::-1])
    for daemon in daemons[::-1]:
        process = daemon.process()
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
    for process in _left(family):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _left(family)


def _left(family: list[psutil.Process]) -> list[psutil.Process]:
    """Wait a while for processes to end, and return those that still run."""
    latest = time.monotonic() + STOP_SECONDS
    while (left := [each for each in family if runs(each)]) and time.monotonic() < latest:
        time.sleep(0.02)
    return left
