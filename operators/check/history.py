"""The history of a run: a list of finished calls, each with the answer and an interval."""

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
        The returned value, or PENDING.
    began, ended : int
        Times of invocation and response on one clock; ``ended`` is NEVER if the call is PENDING. A
        call precedes another when it ended before the other began.
    """

    thread: int
    name: str
    arguments: tuple
    answer: Any
    began: int
    ended: int
