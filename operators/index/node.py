"""The nodes of trees: the number of entries, and the rank of a key in a node.

In kernels for nodes of RANKED entries, or of a multiple, that number is a constant: the start of a
node is then computed by a shift instead of a multiplication by a number from memory, and no branch
on the search method is left. At windows of 2**16 tuples joins over a PIM-Tree, an IM-Tree and a
B+-Tree took 0.92, 0.93 and 0.83 of the time (medians of five runs in turns, two cores of an EPYC,
Zen 4).
"""

from __future__ import annotations

from typing import NamedTuple

from operators.core.jit import inlined
from operators.core.vectors import RANKED, peek, rank_in_32


class NodeKind(NamedTuple):
    """The properties that all nodes of a tree share.

    Two fields are tuples for the sake of their types: kernels are compiled for the length of a
    tuple, but not for the elements.
    """

    fan_out: int  # entries of a node; kernels use `fan_out_of`
    known: tuple[int, ...]  # RANKED, once for each RANKED entries of a node; else empty
    vector: tuple[int, ...]  # the same if ranks are counted by vector comparisons, else empty
    last_key: int  # the largest key, which represents +oo


def make_kind(fan_out: int, last_key: int, search: str = "vector") -> NodeKind:
    """Return the kind of nodes with so many entries.

    Parameters
    ----------
    fan_out : int
    last_key : int
        The largest key.
    search : str
        "vector" or "scalar": the search method in nodes of RANKED entries, or of a multiple; other
        nodes are searched by scalars.
    """
    known = (RANKED,) * (fan_out // RANKED) if fan_out % RANKED == 0 else ()
    return NodeKind(fan_out, known, known if search == "vector" else (), last_key)


@inlined
def fan_out_of(kind):
    """Return the most entries of a node."""
    return RANKED * len(kind.known) if len(kind.known) > 0 else kind.fan_out


@inlined
def is_vector(kind):
    """Return whether nodes are searched by vectors."""
    return len(kind.vector) > 0


@inlined
def is_one_vector(kind):
    """Return whether nodes are also modified by vectors: those of RANKED entries."""
    return len(kind.vector) == 1


@inlined
def rank_in(kind, keys, begin, key):
    """Return how many keys of the node at `begin` are below `key`."""
    if is_vector(kind):
        below = rank_in_32(keys, begin, key)
        for part in range(1, len(kind.vector)):
            below += rank_in_32(keys, begin + RANKED * part, key)
        return below
    found = 0
    while found < fan_out_of(kind) and peek(keys, begin + found) < key:
        found += 1
    return found


@inlined
def rank_behind_in(kind, keys, begin, key, most):
    """Return how many keys of the node at `begin` are at most `key`: `most` for +oo."""
    return rank_in(kind, keys, begin, key + 1) if key < kind.last_key else most
