"""A T-Gate after a step, in plain values: free of operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GateNode:
    """A node of a T-Gate.

    Attributes
    ----------
    label : str
        The source's letter and the tuple's number there, for example "a2"; "F" for the front.
    under : str
        The timestamp; "end" for a source's last node, empty for the front and the dummies, which
        are not tuples.
    height : int
        Number of levels that contain the node.
    state : str
        "passed" by the reader, "ready" for it, or "waiting". Nodes without a tuple are "passed".
    """

    label: str
    under: str
    height: int
    state: str


@dataclass(frozen=True)
class GateSnapshot:
    """A T-Gate with one reader after a step.

    Attributes
    ----------
    event : str
        The step in words.
    nodes : tuple of GateNode
        From the anchor on, in the order of level 0.
    levels : int
    written : dict of str to int
        By source letter, the index in `nodes` of the source's last delivered node.
    head : int
        The index of the reader's position.
    delivered : tuple of str
        The tuples that the reader got in this step: "a1 (3)".
    """

    event: str
    nodes: tuple[GateNode, ...]
    levels: int
    written: dict[str, int]
    head: int
    delivered: tuple[str, ...]
