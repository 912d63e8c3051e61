"""Reports of unforeseen errors: that the error is our fault, and where the trace is.

A request that cannot be met is a ``UsageError``, and a person can do something about a file that
vanishes or a disk that is full. Any other error that reaches the command is a mistake of ours: it
is reported in one line, and the whole trace is saved for a report.

With ``MILLRACE_TRACEBACK=1`` such an error is raised unchanged; so tests see it.
"""

from __future__ import annotations

import errno
import os
import platform
import sys
import tempfile
import time
import traceback
from importlib import metadata
from pathlib import Path

from experiments.commands.arguments import version
from operators.core.sources import ROOT

SHOWN = "MILLRACE_TRACEBACK"
COMPANIONS = ("numba", "numpy", "pyarrow", "pyspark")
# A person can do something about these.
_REMEDIES = {
    errno.ENOSPC: "free some space, and begin again",
    errno.EDQUOT: "free some space, and begin again",
    errno.EFBIG: "allow larger files (ulimit -f), or take a disk that has them",
    errno.EMFILE: "allow more open files: ulimit -n 4096",
    errno.ENFILE: "end other programs: the machine has no more open files",
    errno.ENOMEM: "give less data, or end other programs",
    errno.EAGAIN: "end other programs, or allow more processes: ulimit -u",
    errno.EACCES: "take another path, or change who may use it",
    errno.EPERM: "take another path, or change who may use it",
    errno.EROFS: "take a path on a disk that can be written",
    errno.EIO: "look after the disk",
    errno.ENOENT: "something took it away in the meantime: begin again",
    errno.ENOTDIR: "a file is where a folder was expected: take another path",
    errno.EISDIR: "a folder is where a file was expected: take another path",
    errno.ENAMETOOLONG: "take a shorter name",
    errno.ESTALE: "something took it away in the meantime: begin again",
}
_NEED_A_NAME = (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR)


def shown() -> bool:
    """Return whether unforeseen errors are raised unchanged."""
    return os.environ.get(SHOWN, "") not in ("", "0")


def of_the_system(error: Exception) -> str | None:
    """Return the problem with a file or a limit of the system, and the remedy.

    None where no user of Millrace can do anything.
    """
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return f"{error}; allow more processes (ulimit -u) or memory (ulimit -v), or end others"
    remedy = _REMEDIES.get(error.errno) if isinstance(error, OSError) else None
    if remedy is None:
        return None
    named = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else None
    said = error.strerror or os.strerror(error.errno)
    # pyarrow puts the file's name into the words.
    if error.errno in _NEED_A_NAME and named is None and said == os.strerror(error.errno):
        return None
    return f"{named}: {said}; {remedy}" if named else f"{said}; {remedy}"


def of_ours(error: BaseException, kept_in: Path | None = None) -> str:
    """Return one line about an error, with the file that has the whole trace.

    Parameters
    ----------
    error : BaseException
    kept_in : Path, optional
        A file that has the trace already. Else one is written into the folder for temporary files;
        where that is impossible, the trace goes to stderr.
    """
    kept = f"the whole trace is in {kept_in or _keep(error)}"
    return f"{summary(error)}; {kept}: {HOW_TO_REPORT}"


def _keep(error: BaseException) -> str:
    trace = "".join(traceback.format_exception(error))
    about = f"{versions()}\n{time.strftime('%Y-%m-%dT%H:%M:%S%z')}\n{' '.join(sys.argv)}\n\n{trace}"
    try:
        handle, path = tempfile.mkstemp(prefix="millrace-fault-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(about)
    except OSError:
        print(about, file=sys.stderr)
        return "what is printed above, since no file could be written"
    return path


HOW_TO_REPORT = "please report it with that and with your command, as CONTRIBUTING.md says"


def summary(error: BaseException) -> str:
    """Return a clause about an error as a fault of Millrace, with its origin and the versions."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return f"a fault of Millrace, not of yours: {what:.200} ({_where(error)}; {versions()})"


def versions() -> str:
    """Return the versions of Millrace, Python, the system, and the packages that matter."""
    found = [f"millrace {version()}", f"Python {platform.python_version()}"]
    for name in COMPANIONS:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join([*found, f"{platform.system()} {platform.machine()}"])


def _where(error: BaseException) -> str:
    """Return the last line of a trace that is in a file of this project."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if each.filename.startswith(f"{ROOT}{os.sep}")
            and "site-packages" not in each.filename.removeprefix(str(ROOT))]  # fmt: skip
    if not ours:
        return "outside our files"
    return f"{os.path.relpath(ours[-1].filename, ROOT)}:{ours[-1].lineno}"
