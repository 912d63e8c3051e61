"""What a structure looked like after one step, in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HiveWinset:
    """A winset of a W-Hive.

    Attributes
    ----------
    label : str
        "F" for the front, else "w" and its number.
    start, end : int or None
        The time that its windows cover, the end excluded; None for the front.
    height : int
        Levels that it is on.
    windows : dict of str to int
        Key to the tuples counted in its window.
    state : str
        "out" when it was put out, "ready" to be, or "open" for updates.
    """

    label: str
    start: int | None
    end: int | None
    height: int
    windows: dict[str, int]
    state: str


@dataclass(frozen=True)
class HiveSnapshot:
    """A W-Hive after a step.

    Attributes
    ----------
    told : str
        The step in words.
    winsets : tuple of HiveWinset
        From the insertion head on, in the order of level 0.
    levels : int
    written : dict of str to int or None
        A thread's letter to the number of the first winset of its last tuple. None before its
        first tuple; a number beyond all winsets once it has ended.
    read_head, insert_head : int
        Places in `winsets`.
    rows : tuple of str
        What was put out in this step: "[0, 4) x: 2".
    """

    told: str
    winsets: tuple[HiveWinset, ...]
    levels: int
    written: dict[str, int | None]
    read_head: int
    insert_head: int
    rows: tuple[str, ...]


@dataclass(frozen=True)
class LiveRun:
    """One short run of a gate.

    Attributes
    ----------
    variant : str
    round : int
        Every variant runs once a round.
    throughput_tps : float
    valid : bool
        Whether its output was the right one.
    threads, cores : int
    """

    variant: str
    round: int
    throughput_tps: float
    valid: bool
    threads: int
    cores: int
