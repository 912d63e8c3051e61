"""A theta join at a moment, in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Arrived(NamedTuple):
    """A delivered tuple.

    Attributes
    ----------
    name : str
        "t1", "t2", ... in the order in which tuples are processed.
    side : str
        "R" or "S".
    timestamp : int
    state : str
        "passed" when every thread has seen it; "ready"; or "waiting", when its stream has delivered
        nothing later, or an earlier tuple waits.
    """

    name: str
    side: str
    timestamp: int
    state: str


class Visit(NamedTuple):
    """The processing of a tuple by a thread.

    Attributes
    ----------
    name : str
        Name of the tuple.
    compared, matched : tuple of str
        The tuples compared with it here, and those of them that matched.
    stored : bool
        Whether the thread keeps it.
    removed : tuple of str
        The tuples that it purged from its side's window; if a thread took several tuples of a side
        at once, this is noted at the last one.
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
        The tuples seen by the thread, in order.
    r, s : tuple of str
        The contents of the thread's windows.
    comparisons : int
    """

    visits: tuple[Visit, ...]
    r: tuple[str, ...]
    s: tuple[str, ...]
    comparisons: int


class Pair(NamedTuple):
    """A pair found by some thread.

    Attributes
    ----------
    later, earlier : str
        The pair's tuples.
    thread : int
    state : str
        "passed" once taken, else "ready" or "waiting", as for tuples.
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
    event : str
        The events so far, in words.
    tuples : tuple of Arrived
        The tuples of the first gate, in its order.
    threads : tuple of Thread
    pairs : tuple of Pair
        The pairs of the second gate, in its order.
    """

    event: str
    tuples: tuple[Arrived, ...]
    threads: tuple[Thread, ...]
    pairs: tuple[Pair, ...]


class Core(NamedTuple):
    """A core of a chain; tuples are identified by their number in the stream, from 1.

    Attributes
    ----------
    r, s : tuple of int
        The tuples that the core holds, ascending.
    handed_on : tuple of int
        Tuples of S sent to the left and not yet acknowledged.
    from_left, from_right : tuple of int
        R and S tuples in flight to the core, the oldest message first.
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
    event : str
    cores : tuple of Core
        From left to right.
    newest : int
        The newest tuple of R.
    met : tuple of int
        The earlier tuples of S with which it was paired so far, where every pair matches.
    before : int
        Number of tuples it meets in the end: those in the window of S when it came.
    """

    variant: str
    event: str
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
        Share of each processing thread in all comparisons.
    valid : bool
        Whether the pairs were those of the oracle.
    oversubscribed : bool
        Whether the machine was oversubscribed, counting the threads that deliver and take pairs.
    """

    variant: str
    threads: int
    comparisons_ps: float
    shares: tuple[float, ...]
    valid: bool
    oversubscribed: bool
