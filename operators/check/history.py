"""What the threads of one run were told: a list of finished calls, each with its interval."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

# The answer of a call that never returned: its thread was stopped inside it.
PENDING = "pending"
NEVER = sys.maxsize


class HistoryOperation(NamedTuple):
    """One call.

    Attributes
    ----------
    thread : int
    name : str
    arguments : tuple of int
    answer : hashable
        What it returned, or PENDING.
    began, ended : int
        Times of its invocation and its response on one clock; ``ended`` is NEVER when PENDING. A
        call precedes another when it ended before the other began.
    """

    thread: int
    name: str
    arguments: tuple
    answer: Any
    began: int
    ended: int
