"""Runners of the core's tests: a structure in both forms, and on real threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from operators.core.jit import INTERPRETED

# Interpreted, an atomic costs a hundred times as much, and the interpreter lock leaves few races.
# The threads then show, in a fraction of the rounds, that the source runs as Python.
ROUNDS = 2_000 if INTERPRETED else 100_000


def forms(kernel: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return `kernel` compiled and interpreted; without a compiler, only the interpreted form."""
    return [kernel] if INTERPRETED else [kernel, kernel.py_func]


def run_threads(*calls: Callable[[], Any]) -> None:
    """Run `calls`, each in a separate thread, and raise the exception of the first that failed."""
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
