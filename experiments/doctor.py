"""Checks the machine before a run: Java, Python, cores, clock, disk, memory, caches.

A *problem* keeps Millrace from working; a *warning* makes numbers less trustworthy or a run slow.
Each comes with a remedy.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import psutil

import datasets
import experiments
import operators
from experiments import surroundings
from experiments.records import results
from experiments.timing import machine
from operators.contract import UsageError
from operators.core.jit import INTERPRETED
from operators.core.sources import KEPT, ROOT, cache_folder, user_folder
from operators.running import pinning
from operators.running.java import java_home, probe
from operators.running.spark_settings import unheeded

OK, WARNING, PROBLEM = "ok", "warning", "problem"
GIB = 1 << 30

LEAST_PYTHON = (3, 11)
# The laptop profile's data and results (20 M rows as Parquet, and Spark's scratch files).
WANTED_DISK_BYTES = 4 * GIB
LEAST_DISK_BYTES = GIB
# Spark's heap is 4 GiB; joins keep up to 8 GiB of filled windows in addition to the data.
WANTED_MEMORY_BYTES = 12 * GIB
LEAST_MEMORY_BYTES = 2 * GIB
# A clock that is read without entering the kernel takes some 20 ns, through the kernel 200 to 1000.
SLOW_CLOCK_NS = 300
CLOCK_READS = 20_000
QUICK_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen")
LOOK_SECONDS = 0.3
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
CGROUP_USED = Path("/sys/fs/cgroup/memory.current")
LARGE_CACHE_BYTES = GIB


class Finding(NamedTuple):
    """The result of one check.

    Attributes
    ----------
    name : str
    state : str
        ok, warning or problem.
    found : str
        One clause.
    remedy : str
        How to mend it; empty when all is well.
    """

    name: str
    state: str
    found: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Run every check.

    Returns
    -------
    list of Finding
        In a fixed order. Nothing is changed, except that cache folders are made, and a Java wrapper
        may be written to the user's folder.
    """
    return [check() for check in CHECKS]


def java() -> Finding:
    """Find the Java that Spark would run on."""
    try:
        home, origin = java_home()
    except UsageError as error:
        return Finding("java", PROBLEM, str(error), "install a Java 17 or later, or run make setup")
    version = probe(home / "bin" / "java").version
    return Finding("java", OK, f"{origin}: Java {version} at {home}")


def spark() -> Finding:
    """Find Spark, and the settings for another Spark on this machine that are ignored."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return Finding("spark", PROBLEM, "pyspark is not installed", "run make setup")
    found = f"{metadata.version('pyspark')} at {Path(spec.origin).parent}"
    if left_aside := unheeded(local=True):
        found += f"; {', '.join(left_aside)} are not heeded on local masters"
    return Finding("spark", OK, found)


def python() -> Finding:
    """Check the interpreter, and whether kernels are compiled at all."""
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] < LEAST_PYTHON:
        return Finding("python", PROBLEM, found, "install Python 3.11 or later and run make setup")
    if INTERPRETED:
        remedy = "unset NUMBA_DISABLE_JIT: interpreted kernels are about a hundred times slower"
        return Finding("python", WARNING, f"{found}, kernels interpreted", remedy)
    return Finding("python", OK, found)


def cores() -> Finding:
    """Count the cores this process may use, of those there are."""
    mine, all_of_them = pinning.cores(), os.cpu_count() or 1
    found = f"{mine} of {all_of_them} ({machine.cpu_model()})"
    if mine < 2:
        remedy = "threads take turns on one core: use a machine, or a container, with 2 or more"
        return Finding("cores", WARNING, found, remedy)
    return Finding("cores", OK, f"{found}; points with more threads are marked oversubscribed")


def governor() -> Finding:
    """Say whether the processor keeps its speed."""
    found = machine.governor()
    if found is None:
        return Finding("governor", OK, "not to be seen here (a virtual machine, or not Linux)")
    if found != "performance":
        remedy = "as root: cpupower frequency-set --governor performance"
        return Finding("governor", WARNING, f"{found}: the clock rate changes during runs", remedy)
    return Finding("governor", OK, found)


def clock() -> Finding:
    """Name the clock source, and measure how long a reading takes."""
    begin = time.perf_counter_ns()
    for _ in range(CLOCK_READS):
        time.monotonic_ns()
    cost = (time.perf_counter_ns() - begin) / CLOCK_READS
    source = machine.clock_source()
    found = f"{source or 'source not to be seen'}, {cost:.0f} ns a reading"
    remedy = (
        "reading the clock costs as much as a tuple; if tsc is among"
        " /sys/devices/system/clocksource/clocksource0/available_clocksource, boot with"
        " clocksource=tsc"
    )
    if cost > SLOW_CLOCK_NS or (source is not None and source not in QUICK_CLOCKS):
        return Finding("clock source", WARNING, found, remedy)
    return Finding("clock source", OK, found)


def load() -> Finding:
    """Say whether other programs use the cores now."""
    busy = machine.foreign_cores(LOOK_SECONDS)
    found = f"other programs use {busy:.2f} of {pinning.cores()} cores"
    if busy > machine.FOREIGN_LIMIT_CORES:
        return Finding("load", WARNING, found, "end them before measuring: rows are marked noisy")
    return Finding("load", OK, found)


def memory() -> Finding:
    """Check the free memory."""
    seen = psutil.virtual_memory()
    free = min(seen.available, _container_bytes())
    found = f"{free / GIB:.1f} GiB available of {seen.total / GIB:.1f}"
    remedy = "end other programs, or take the quick profile"
    if free < LEAST_MEMORY_BYTES:
        return Finding("memory", PROBLEM, found, remedy)
    if free < WANTED_MEMORY_BYTES:
        return Finding("memory", WARNING, f"{found}; the laptop profile wants 12", remedy)
    return Finding("memory", OK, found)


def _container_bytes() -> int:
    """Return the memory that is left in the container, where there is one with a limit."""
    try:
        limit = int(CGROUP_LIMIT.read_text())
        return max(limit - int(CGROUP_USED.read_text()), 0)
    except (OSError, ValueError):
        # No such file, or "max" in it.
        return sys.maxsize


def disk() -> Finding:
    """Check the space for results."""
    folder = results.root().absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    found = f"{free / GIB:.1f} GiB free at {folder}"
    remedy = "free some space, or make results a link to a folder on another disk"
    if not os.access(folder, os.W_OK):
        return Finding("disk", PROBLEM, f"{folder} cannot be written", remedy)
    if free < LEAST_DISK_BYTES:
        return Finding("disk", PROBLEM, found, remedy)
    if free < WANTED_DISK_BYTES:
        return Finding("disk", WARNING, f"{found}; the laptop profile wants 4", remedy)
    return Finding("disk", OK, found)


def _why_not(folder: Path) -> str:
    """Return why no file can be written in a folder, which is made; empty where one can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error.strerror
    return ""


def around() -> Finding:
    """Check the shell's settings: those that are ignored, and those that would do harm."""
    hidden = os.umask(0o077)
    os.umask(hidden)
    if hidden & 0o600:
        remedy = "umask 022: files that are written could not be read again"
        return Finding("surroundings", PROBLEM, f"umask {hidden:03o}", remedy)
    if why := _temporary():
        remedy = "name a folder that can be written with TMPDIR"
        return Finding("surroundings", PROBLEM, f"no temporary files: {why}", remedy)
    if why := _why_not(user_folder()):
        remedy = "name a folder that can be written with XDG_CACHE_HOME: it keeps Java's wrapper"
        return Finding("surroundings", WARNING, f"{user_folder()}: {why}", remedy)
    told = [f"{name} is not heeded" for name in surroundings.LEFT_ASIDE]
    told += [f"{folder} joins in" for folder in _joined()]
    return Finding("surroundings", OK, "; ".join(told) or "nothing that is not ours")


def _temporary() -> str:
    """Return why no temporary file can be written; empty where one can."""
    try:
        tempfile.TemporaryFile().close()
    except OSError as error:
        return error.strerror
    return ""


def _joined() -> list[str]:
    """Return the folders elsewhere on Python's path that have the names of our packages."""
    packages = (datasets, experiments, operators)
    return sorted({place for each in packages for place in each.__path__
                   if Path(place).resolve().parent != ROOT})  # fmt: skip


def numba_cache() -> Finding:
    """Say where compiled kernels are cached, and whether they can be written there."""
    folder = cache_folder()
    if why := _why_not(folder):
        remedy = "name a folder that can be written with NUMBA_CACHE_DIR: every start compiles anew"
        return Finding("numba cache", PROBLEM, f"{folder} cannot be written: {why}", remedy)
    files = _files(folder)
    size = sum(files)
    found = f"{len(files)} files, {size / (1 << 20):.0f} MiB at {folder}"
    if size > LARGE_CACHE_BYTES:
        return Finding("numba cache", WARNING, found, f"remove {folder}; it is made anew")
    return Finding("numba cache", OK, found)


def _files(folder: Path) -> list[int]:
    """Return the sizes of a folder's files; one that vanishes meanwhile has none."""
    sizes = []
    for path in (*folder.glob("*.nb?"), *folder.glob(KEPT)) if folder.is_dir() else ():
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue
    return sizes


CHECKS: tuple[Callable[[], Finding], ...] = (
    java,
    spark,
    python,
    cores,
    governor,
    clock,
    load,
    memory,
    disk,
    around,
    numba_cache,
)
