"""The number of cores, and binding threads to cores."""

from __future__ import annotations

import os


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pin_this_thread(place: int) -> bool:
    """Bind the calling thread to the `place`-th core of this process; return whether it worked.

    The threads of a run are pinned only if there is a core for each: two threads bound to one core
    would wait for each other where the scheduler would have moved one.
    """
    if not hasattr(os, "sched_setaffinity"):
        return False
    allowed = sorted(os.sched_getaffinity(0))
    # On Linux 0 means the calling thread, not the process.
    os.sched_setaffinity(0, {allowed[place % len(allowed)]})
    return True
