"""What an index looked like at a moment, in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Entry(NamedTuple):
    """A tuple in an index.

    Attributes
    ----------
    key, position : int
        `position` is its place in the stream.
    live : bool
        Whether it is in the window; an entry of a tuple that has left is not.
    """

    key: int
    position: int
    live: bool


Entries = tuple[Entry, ...]


class InnerNode(NamedTuple):
    """A node above the entries.

    Attributes
    ----------
    keys : tuple of int or None
        All that it has room for; None is +oo.
    children : int
        How many there are.
    """

    keys: tuple[int | None, ...]
    children: int


@dataclass(frozen=True)
class TreeSnapshot:
    """A tree.

    Attributes
    ----------
    fan_out : int
        Entries of a leaf at most.
    levels : tuple of tuple of InnerNode
        From the root down; none where the root is a leaf.
    leaves : tuple of tuple of Entry
        From left to right.
    """

    fan_out: int
    levels: tuple[tuple[InnerNode, ...], ...]
    leaves: tuple[Entries, ...]


class Step(NamedTuple):
    """What a search did in one node.

    Attributes
    ----------
    node : int
        Its number on its level.
    rank : int
        Its keys that are below the one searched.
    """

    node: int
    rank: int


@dataclass(frozen=True)
class SearchSnapshot:
    """A search in an immutable tree.

    Attributes
    ----------
    key : int
    tree : TreeSnapshot
    steps : tuple of Step
        One a level, the last in a leaf.
    """

    key: int
    tree: TreeSnapshot
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class PimSnapshot:
    """A PIM-Tree.

    Attributes
    ----------
    told : str
        What has happened, in words.
    stable : TreeSnapshot
        T_S.
    depth : int
        Of the nodes of T_S that have subindexes.
    subindexes : tuple of tuple of tuple of Entry
        The leaves of each, in the order of the list that T_I is.
    """

    told: str
    stable: TreeSnapshot
    depth: int
    subindexes: tuple[tuple[Entries, ...], ...]


@dataclass(frozen=True)
class MergeSnapshot:
    """A merge that is under way, put together from the states before and after it.

    Attributes
    ----------
    told : str
    stable, fresh : tuple of Entry
        What T_S and T_I have, in the order of their keys.
    stable_taken, fresh_taken : int
        How many of these are taken.
    written : tuple of Entry
        What the buffer has got from both.
    room : int
        Entries that the buffer has in the end.
    """

    told: str
    stable: Entries
    fresh: Entries
    stable_taken: int
    fresh_taken: int
    written: Entries
    room: int


class Subindex(NamedTuple):
    """One index of a chain.

    Attributes
    ----------
    kind : str
        "oldest", "archived" or "active".
    tree : TreeSnapshot
    """

    kind: str
    tree: TreeSnapshot


@dataclass(frozen=True)
class ChainSnapshot:
    """A chain of indexes.

    Attributes
    ----------
    told : str
    subindexes : tuple of Subindex
        From the oldest to the active one.
    """

    told: str
    subindexes: tuple[Subindex, ...]


@dataclass(frozen=True)
class JoinRun:
    """One short run of a window join.

    Attributes
    ----------
    variant : str
    window : int
        Tuples of each window.
    throughput_tps : float
    valid : bool
        Whether its pairs were those of the oracle.
    """

    variant: str
    window: int
    throughput_tps: float
    valid: bool


@dataclass(frozen=True)
class Inserts:
    """Where the inserts went while the distribution of keys moved.

    Attributes
    ----------
    drift : float
        The paper's r: how far it moved in all.
    counts : tuple of int
        Inserts into subindex 0, 1, ...
    """

    drift: float
    counts: tuple[int, ...]
