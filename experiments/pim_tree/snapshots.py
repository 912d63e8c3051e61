"""An index at a moment, in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Entry(NamedTuple):
    """A tuple in an index.

    Attributes
    ----------
    key, position : int
        `position` is the tuple's position in the stream.
    live : bool
        Whether the tuple is still in the window.
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
        All keys for which the node has room; None is +oo.
    children : int
        Number of children.
    """

    keys: tuple[int | None, ...]
    children: int


@dataclass(frozen=True)
class TreeSnapshot:
    """A tree.

    Attributes
    ----------
    fan_out : int
        Maximum number of entries of a leaf.
    levels : tuple of tuple of InnerNode
        From the root down; empty if the root is a leaf.
    leaves : tuple of tuple of Entry
        From left to right.
    """

    fan_out: int
    levels: tuple[tuple[InnerNode, ...], ...]
    leaves: tuple[Entries, ...]


class Step(NamedTuple):
    """A search in one node.

    Attributes
    ----------
    node : int
        The node's number on its level.
    rank : int
        Number of keys below the key searched for.
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
        One per level, the last in a leaf.
    """

    key: int
    tree: TreeSnapshot
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class PimSnapshot:
    """A PIM-Tree.

    Attributes
    ----------
    event : str
        The events so far, in words.
    stable : TreeSnapshot
        T_S.
    depth : int
        Depth of the nodes of T_S that have subindexes.
    subindexes : tuple of tuple of tuple of Entry
        The leaves of each subindex, in the order of T_I's list.
    """

    event: str
    stable: TreeSnapshot
    depth: int
    subindexes: tuple[tuple[Entries, ...], ...]


@dataclass(frozen=True)
class MergeSnapshot:
    """A merge in progress, derived from the states before and after it.

    Attributes
    ----------
    event : str
    stable, fresh : tuple of Entry
        The entries of T_S and T_I, in the order of their keys.
    stable_taken, fresh_taken : int
        How many of these are taken.
    written : tuple of Entry
        The entries that the buffer has got from both.
    room : int
        Final number of entries in the buffer.
    """

    event: str
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
    event : str
    subindexes : tuple of Subindex
        From the oldest to the active one.
    """

    event: str
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
        Whether the pairs were those of the oracle.
    """

    variant: str
    window: int
    throughput_tps: float
    valid: bool


@dataclass(frozen=True)
class Inserts:
    """The distribution of inserts over subindexes while that of the keys moved.

    Attributes
    ----------
    drift : float
        The paper's r: the total drift.
    counts : tuple of int
        Inserts into subindex 0, 1, ...
    """

    drift: float
    counts: tuple[int, ...]
