"""Ctrl-C that is not lost while the compiler works.

LLVM compiles a kernel in one call, in which Python cannot raise anything. What it raises afterwards
comes up in the first Python code that runs, which is a callback of the compiler; and an exception
in a callback is printed and dropped. So a Ctrl-C that falls there would do nothing at all.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

# Long enough that the callback has ended, and far too short for a person to notice.
AGAIN_SECONDS = 0.02


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    """Send Ctrl-C again, a little later, where a ``KeyboardInterrupt`` was dropped in the context.

    It goes to the main thread. What else Python drops is shown as ever.
    """
    shown = sys.unraisablehook

    def hook(dropped) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            shown(dropped)
            return
        main = threading.main_thread().ident
        again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = shown
