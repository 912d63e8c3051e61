"""A structure after one step, in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HiveWinset:
    """A winset of a W-Hive.

    Attributes
    ----------
    label : str
        "F" for the front, else "w" and the winset's number.
    start, end : int or None
        The time that the winset's windows cover, the end excluded; None for the front.
    height : int
        Number of levels that contain the winset.
    windows : dict of str to int
        Key to the number of tuples counted in the key's window.
    state : str
        "out" once put out, "ready" to be put out, or "open" for updates.
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
    event : str
        The step in words.
    winsets : tuple of HiveWinset
        From the insertion head on, in the order of level 0.
    levels : int
    written : dict of str to int or None
        By thread letter, the number of the first winset of the thread's last tuple. None before the
        first tuple; a number beyond all winsets once the thread has ended.
    read_head, insert_head : int
        Indices into `winsets`.
    rows : tuple of str
        The rows put out in this step: "[0, 4) x: 2".
    """

    event: str
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
        Every variant runs once per round.
    throughput_tps : float
    valid : bool
        Whether the output was correct.
    threads, cores : int
    """

    variant: str
    round: int
    throughput_tps: float
    valid: bool
    threads: int
    cores: int
