"""How the tests of the core run a structure: in both forms, and by real threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from operators.core.jit import INTERPRETED

# Interpreted, an atomic costs a hundred times as much, and the interpreter lock leaves little to
# race: the threads then show that the source runs as Python, in a fraction of the rounds.
ROUNDS = 2_000 if INTERPRETED else 100_000


def forms(kernel: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return `kernel` compiled and interpreted; without a compiler, the one form there is."""
    return [kernel] if INTERPRETED else [kernel, kernel.py_func]


def run_threads(*calls: Callable[[], Any]) -> None:
    """Run `calls`, each in a thread of its own, and raise what the first failing one raised."""
    errors: list[BaseException] = []

    def guarded(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: B036 - raised again in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
