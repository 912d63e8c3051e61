"""Ending of a workflow run by a signal: the jobs end with it, as after Ctrl-C.

A terminal sends Ctrl-C to all processes of a run. SIGTERM and SIGHUP reach Snakemake alone, which
then starts no more jobs, waits for the running ones, and removes their unfinished output.
"""

from __future__ import annotations

import signal
from types import FrameType

import psutil

from operators.running.interrupts import ENDING


def end_jobs_too() -> None:
    """Forward SIGTERM and SIGHUP to the jobs, after Snakemake's SIGTERM handler has run."""
    graceful = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: FrameType | None) -> None:
        if callable(graceful):
            graceful(number, frame)
        for job in psutil.Process().children(recursive=True):
            try:
                job.send_signal(signal.SIGTERM)
            except psutil.NoSuchProcess:
                continue  # It ended meanwhile.

    for each in ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, end)
