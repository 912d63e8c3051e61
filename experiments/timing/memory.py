"""The memory of a run: the most that its process had resident, and the arrays of a state.

Linux keeps the most resident memory of a process and lets the process begin it anew. So each run
has a peak of its time alone, although many runs share a process. Processes that are started or
forked by a run, such as Java's, are not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Of linux/Documentation/filesystems/proc.rst: begin the peak anew at what is resident now.
BEGIN_PEAK = "5"
KIB = 1024


class Memory(NamedTuple):
    """Resident memory of this process in bytes; None where the system does not tell.

    Attributes
    ----------
    peak_rss_bytes : int or None
        The most during a run.
    rss_before_bytes : int or None
        Just before it.
    """

    peak_rss_bytes: int | None
    rss_before_bytes: int | None


def begin() -> int | None:
    """Begin the peak anew, and return the resident bytes now; None where that is not possible."""
    try:
        CLEAR.write_text(BEGIN_PEAK, encoding="ascii")
    except OSError:
        # Another system, or one that does not let a process do this: the peak would be that of
        # earlier runs.
        return None
    return _status("VmRSS")


def since(before: int | None) -> Memory:
    """Return the memory of a run, given the result of ``begin``."""
    return Memory(None if before is None else _status("VmHWM"), before)


def _status(name: str) -> int | None:
    for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{name}:"):
            return KIB * int(line.split()[1])
    return None


def bytes_of(state: Any, without: Iterable[Any] = ()) -> int:
    """Return the bytes of all arrays of a state; an array shared by threads counts once.

    Parameters
    ----------
    state : tuple, ndarray or object
        Tuples may contain tuples; whatever is no array counts nothing.
    without : iterable
        Parts of it, of the same form, that do not count: inputs, logs of the driver.
    """
    found = _arrays_of(state)
    for each in without:
        for start in _arrays_of(each):
            found.pop(start, None)
    return sum(found.values())


def _arrays_of(state: Any) -> dict[int, int]:
    """Return the bytes of each array by start address."""
    if isinstance(state, tuple):
        found: dict[int, int] = {}
        for each in state:
            found |= _arrays_of(each)
        return found
    return {state.ctypes.data: state.nbytes} if isinstance(state, np.ndarray) else {}
