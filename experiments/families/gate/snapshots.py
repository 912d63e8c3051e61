"""What a T-Gate looked like after a step, in plain values: free of operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GateNode:
    """A node of a T-Gate.

    Attributes
    ----------
    label : str
        Its source's letter and its number there, for example "a2"; "F" for the front.
    under : str
        The timestamp; "end" for a source's last node, empty for the front and the dummies, which
        are no tuples.
    height : int
        Levels that it is on.
    state : str
        "passed" by the reader, "ready" for it, or "waiting". What is no tuple is "passed".
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
    told : str
        The step in words.
    nodes : tuple of GateNode
        From the anchor on, in the order of level 0.
    levels : int
    written : dict of str to int
        A source's letter to the place, in `nodes`, of its last delivered node.
    head : int
        The place where the reader stands.
    delivered : tuple of str
        What the reader got in this step: "a1 (3)".
    """

    told: str
    nodes: tuple[GateNode, ...]
    levels: int
    written: dict[str, int]
    head: int
    delivered: tuple[str, ...]
