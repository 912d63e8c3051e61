"""The processor time of all descendants of this process: of Java, and of the others.

The time of a process that was waited for is added to that of the waiting parent, so nothing is lost
when a worker ends, and no sum ever decreases.
"""

from __future__ import annotations

from typing import NamedTuple

import psutil


class Used(NamedTuple):
    """Processor seconds of processes since they started.

    Attributes
    ----------
    java : float
        Time of Java itself.
    others : float
        Time of the processes that Java has started, and of all others: with Spark, the Python
        workers.
    """

    java: float
    others: float

    def since(self, before: Used) -> Used:
        """Return the time used since `before`."""
        return Used(self.java - before.java, self.others - before.others)


def used() -> Used:
    """Return the time that all descendants of this process have used so far."""
    java = others = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            with process.oneshot():
                times, is_java = process.cpu_times(), process.name() == "java"
        except psutil.NoSuchProcess:
            continue  # it ended during this loop
        own = times.user + times.system
        java += own if is_java else 0.0
        others += times.children_user + times.children_system + (0.0 if is_java else own)
    return Used(java, others)
