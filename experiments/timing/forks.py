"""A forked child for a measurement, with all loaded data and compiled code.

Children share the state of the parent (data, kernels, expected outputs) page by page, until
somebody writes to it. The state that a run creates (threads, the operator's memory) is private to
each child.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection

from operators.running.run_threads import RunFailed

PR_SET_PDEATHSIG = 1  # of linux/prctl.h


def in_child(do: Callable[[], None]) -> None:
    """Call `do` in a child of this process, and wait for its end.

    Parameters
    ----------
    do : callable
        Takes and returns nothing. Only files that it writes remain.

    Raises
    ------
    Exception
        The exception that `do` raised.
    run_threads.RunFailed
        When the child ended without a message, as by a signal.
    """
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=_call, args=(do, theirs))
    with warnings.catch_warnings():
        # Idle threads of libraries that read data remain in the parent, and no child calls those;
        # threads of runs have ended.
        warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork")
        child.start()
    theirs.close()
    try:
        told = ours.recv() if ours.poll(None) else None
    except EOFError:
        child.join()
        raise RunFailed(f"a child that measures ended with status {child.exitcode}") from None
    finally:
        if child.is_alive():
            child.join(timeout=1.0)
        if child.is_alive():
            # An interrupted parent does not wait for a run.
            child.kill()
        child.join()
        ours.close()
    if told is not None:
        raise told


def _call(do: Callable[[], None], to: Connection) -> None:
    """Call `do`, and send the exception that it raised, or None."""
    _end_with_parent()
    try:
        do()
    except Exception as error:
        to.send(error)
    except BaseException:
        # A signal that ends the child also ends the parent, which reports it.
        os._exit(1)
    else:
        to.send(None)


def _end_with_parent() -> None:
    """Have Linux kill this process when the parent dies: an orphan would go on writing rows."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
