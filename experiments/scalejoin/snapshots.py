"""What a theta join looked like at a moment, in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Arrived(NamedTuple):
    """A tuple that was delivered.

    Attributes
    ----------
    name : str
        "t1", "t2", ... in the order in which tuples are processed.
    side : str
        "R" or "S".
    timestamp : int
    state : str
        "passed" when every thread has seen it; "ready"; or "waiting", when its stream has delivered
        nothing later, or one before it waits.
    """

    name: str
    side: str
    timestamp: int
    state: str


class Visit(NamedTuple):
    """What a thread did with a tuple.

    Attributes
    ----------
    name : str
        Of the tuple.
    compared, matched : tuple of str
        What it was compared with here, and what of these it was paired with.
    stored : bool
        Whether the thread keeps it.
    removed : tuple of str
        What left its own window behind it: of several tuples of a side that a thread took at once,
        behind the last one.
    """

    name: str
    compared: tuple[str, ...]
    matched: tuple[str, ...]
    stored: bool
    removed: tuple[str, ...]


class Thread(NamedTuple):
    """A processing thread.

    Attributes
    ----------
    visits : tuple of Visit
        What it has seen, in order.
    r, s : tuple of str
        What its windows have.
    comparisons : int
    """

    visits: tuple[Visit, ...]
    r: tuple[str, ...]
    s: tuple[str, ...]
    comparisons: int


class Pair(NamedTuple):
    """A pair that some thread has found.

    Attributes
    ----------
    later, earlier : str
        Its tuples.
    thread : int
    state : str
        "passed" when it was taken, else "ready" or "waiting", as for tuples.
    """

    later: str
    earlier: str
    thread: int
    state: str


@dataclass(frozen=True)
class JoinSnapshot:
    """A ScaleJoin.

    Attributes
    ----------
    told : str
        What has happened, in words.
    tuples : tuple of Arrived
        Those of the first gate, in its order.
    threads : tuple of Thread
    pairs : tuple of Pair
        Those of the second gate, in its order.
    """

    told: str
    tuples: tuple[Arrived, ...]
    threads: tuple[Thread, ...]
    pairs: tuple[Pair, ...]


class Core(NamedTuple):
    """A core of a chain; tuples are told by their numbers in their streams, from 1.

    Attributes
    ----------
    r, s : tuple of int
        Those that it has, ascending.
    handed_on : tuple of int
        Of S, those that it has sent to the left and that were not acknowledged yet.
    from_left, from_right : tuple of int
        R and S tuples under way to it, the oldest message first.
    """

    r: tuple[int, ...]
    s: tuple[int, ...]
    handed_on: tuple[int, ...]
    from_left: tuple[int, ...]
    from_right: tuple[int, ...]


@dataclass(frozen=True)
class ChainSnapshot:
    """A handshake join.

    Attributes
    ----------
    variant : str
    told : str
    cores : tuple of Core
        From left to right.
    newest : int
        The newest tuple of R.
    met : tuple of int
        The tuples of S that came before it and that it was paired with so far, where every pair
        matches.
    before : int
        How many it meets in the end: those in the window of S when it came.
    """

    variant: str
    told: str
    cores: tuple[Core, ...]
    newest: int
    met: tuple[int, ...]
    before: int


@dataclass(frozen=True)
class JoinRun:
    """One short run of a theta join.

    Attributes
    ----------
    variant : str
    threads : int
        Processing threads.
    comparisons_ps : float
    shares : tuple of float
        Of each processing thread, of all comparisons.
    valid : bool
        Whether its pairs were those of the oracle.
    crowded : bool
        Whether there were more threads than cores, those that deliver and take pairs among them.
    """

    variant: str
    threads: int
    comparisons_ps: float
    shares: tuple[float, ...]
    valid: bool
    crowded: bool
