"""Handles Ctrl-C, SIGTERM and SIGHUP: none is lost while the compiler works, and runs clean up.

LLVM compiles a kernel in one call, during which Python cannot raise an exception. A pending
``KeyboardInterrupt`` is raised afterwards in the first Python code that runs, a callback of the
compiler, and exceptions in callbacks are printed and dropped. Without this module, a Ctrl-C at that
time would have no effect.

SIGTERM and SIGHUP, sent by a scheduler, a service or a closed terminal, end a Python process at
once, without the code that cleans up after a run.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

# Long enough for the callback to end, and too short for a person to notice.
AGAIN_SECONDS = 0.02
ENDING = (signal.SIGTERM, signal.SIGHUP)
BEYOND = 128
"""The offset between a signal's number and a shell's exit status."""


class Ended(KeyboardInterrupt):
    """A terminating signal has arrived; it unwinds the stack as Ctrl-C does.

    Parameters
    ----------
    number : int
        The signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def how_it_ended(error: KeyboardInterrupt) -> tuple[str, int]:
    """Return the message for an interrupt, and the exit status.

    Examples
    --------
    >>> how_it_ended(Ended(15))
    ('ended by SIGTERM', 143)
    """
    if isinstance(error, Ended):
        return f"ended by {error}", BEYOND + error.number
    return "interrupted", BEYOND + signal.SIGINT


def raise_as_of(status: int) -> None:
    """Raise the interrupt that ended a child process, if its status says that a signal did.

    Parameters
    ----------
    status : int
        As in ``subprocess``: negative if the signal itself ended the process.

    Raises
    ------
    KeyboardInterrupt
    """
    number = -status if status < 0 else status - BEYOND
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    if number in ENDING:
        raise Ended(number)


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise `Ended` in the context, and lose neither them nor Ctrl-C.

    After a dropped ``KeyboardInterrupt``, the signal is sent to the main thread again, a little
    later. Other dropped exceptions are shown as usual. A signal that is ignored, as under
    ``nohup``, or that has a handler, keeps that disposition.
    """
    shown = sys.unraisablehook

    def hook(dropped) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            shown(dropped)
            return
        number = getattr(dropped.exc_value, "number", signal.SIGINT)
        main = threading.main_thread().ident
        again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main, number))
        again.daemon = True
        again.start()

    taken = []
    if threading.current_thread() is threading.main_thread():
        taken = [each for each in ENDING if signal.getsignal(each) is signal.SIG_DFL]
    sys.unraisablehook = hook
    for each in taken:
        signal.signal(each, _raise_ended)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)
        sys.unraisablehook = shown


def _raise_ended(number: int, frame: FrameType | None) -> NoReturn:
    raise Ended(number)
