"""Isolation: one measurement at a time on a machine, and none while a neighbour is busy.

Two concurrent measurements would halve each other, and no job scheduler sees measurements started
in a second terminal. So a measurement holds a lock of the whole host, and before it begins checks
the load of other processes. A busy neighbour is waited for once; then the rows are marked noisy.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from experiments.timing import machine

LOCK_NAME = "millrace-measurement.lock"
POLL_SECONDS = 0.5
LOOK_SECONDS = 0.3
PATIENCE_SECONDS = 5.0


def lock_path() -> Path:
    """Return the lock's file: in the system's folder for temporary files, common to all users.

    ``MILLRACE_LOCK`` names another one, for tests.
    """
    named = os.environ.get("MILLRACE_LOCK")
    return Path(named) if named else Path(tempfile.gettempdir()) / LOCK_NAME


def _say(message: str) -> None:
    print(f"millrace: {message}", file=sys.stderr, flush=True)


@contextmanager
def alone(say=_say) -> Iterator[None]:
    """Hold the host's measurement lock; while another process has it, say so and wait.

    Parameters
    ----------
    say : callable
        Takes the one message, printed when there is somebody to wait for.
    """
    path = lock_path()
    # All users may take the lock, whoever made the file.
    lock = filelock.FileLock(path, mode=0o666)
    told = False
    while True:
        try:
            lock.acquire(timeout=POLL_SECONDS)
            break
        except filelock.Timeout:
            if not told:
                say(f"another measurement runs on this machine ({path}): waiting until it ends")
                told = True
    try:
        yield
    finally:
        lock.release()


def wait_for_quiet(say=_say) -> bool:
    """Wait once, not longer than ``PATIENCE_SECONDS``, until other processes leave the cores alone.

    ``MILLRACE_PATIENCE`` names another number of seconds, for tests that run while others do.

    Returns
    -------
    bool
        False when the machine is still busy: rows measured now are marked noisy.
    """
    if machine.foreign_cores(LOOK_SECONDS) <= machine.FOREIGN_LIMIT_CORES:
        return True
    left = float(os.environ.get("MILLRACE_PATIENCE", PATIENCE_SECONDS))
    say(f"other programs use this machine: waiting up to {left:.0f} s")
    while left > 0:
        left -= LOOK_SECONDS
        if machine.foreign_cores(LOOK_SECONDS) <= machine.FOREIGN_LIMIT_CORES:
            return True
    return False
