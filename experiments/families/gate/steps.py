"""A T-Gate at work on a handful of tuples, for the notebooks of the papers that have one.

``fill_t_gate`` calls the measured operations, interpreted and one at a time, and returns a snapshot
of the gate after each; ``look_at`` inspects a gate filled by other code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.families.gate.snapshots import GateNode, GateSnapshot
from operators.contract import ACCEPTED, READY
from operators.core.layout import aligned_words
from operators.gate import t_gate as gates
from operators.gate.t_gate import VARIANT as T_GATE
from operators.gate.t_gate import TGateState

READ = ("reader", 0)


class GateLook(NamedTuple):
    """The list inside a quiescent T-Gate.

    Attributes
    ----------
    nodes : list of array
        The words of each node, from the anchor on, in the order of level 0.
    chain : list of int
        The nodes' numbers.
    written : list of int
        By source, the index of the source's last node.
    head : int
        The index of reader 0's position.
    stop : int
        The index of the first node that is not ready: it is its source's last.
    """

    nodes: list[np.ndarray]
    chain: list[int]
    written: list[int]
    head: int
    stop: int


def taken(status: int) -> None:
    """Raise RuntimeError unless a structure has accepted a tuple."""
    if status != ACCEPTED:
        raise RuntimeError(f"the structure is too small for this demonstration: status {status}")


def chain_of(words: np.ndarray, first: int, link: int, nil: int) -> list[int]:
    """Return the nodes of a list: `words` by node, `link` the word that leads to the next one."""
    chain = [first]
    while (after := int(words[chain[-1], link])) != nil:
        chain.append(after)
    return chain


def look_at(state: TGateState) -> GateLook:
    """Return the list inside a gate."""
    words = state.nodes.reshape(-1, state.stride)
    chain = chain_of(words, int(state.anchor[0]), gates.NEXT, gates.NIL)
    last = state.private[gates.FINGERS :: state.private_words]
    written = [chain.index(int(node)) for node in last[: state.sources]]
    head = chain.index(int(state.reading[gates.HEAD]))
    # A reader stops before the first tuple that is its source's last.
    return GateLook([words[node] for node in chain], chain, written, head, min(written))


def fill_t_gate(deliveries: Sequence[tuple[str, int]], levels: int) -> list[GateSnapshot]:
    """Deliver tuples to a T-Gate one by one, let a reader take ready ones, and take snapshots.

    Parameters
    ----------
    deliveries : sequence of (str, int)
        Letter of the source and timestamp, ascending within a source; READ is the reader's turn.
    levels : int
        Height of the tallest node.

    Returns
    -------
    list of GateSnapshot
        The empty gate, one after each step, and one after every source has closed.

    Raises
    ------
    RuntimeError
        When a delivery is not accepted.
    """
    operations = T_GATE.operations
    names = sorted({source for source, _ in deliveries} - {READ[0]})
    state = operations.make_state(len(names), 1, 24, levels)
    found = [_snapshot(state, names, f"{len(names)} sources, nothing delivered", ())]
    for source, timestamp in deliveries:
        got, event = (), f"{source} delivers a tuple at {timestamp}"
        if (source, timestamp) == READ:
            got, event = _read(state, operations, names), "the reader takes what is ready"
        else:
            taken(operations.insert_tuple(state, names.index(source), timestamp, 0, 0))
        found.append(_snapshot(state, names, event, got))
    for source in range(len(names)):
        taken(operations.close_source(state, source))
    got = _read(state, operations, names)
    return [*found, _snapshot(state, names, "every source ends, the reader takes the rest", got)]


def _read(state, operations, names: Sequence[str]) -> tuple[str, ...]:
    out, got = aligned_words(4), []
    while operations.get_next_ready_tuple(state, 0, out) == READY:
        got.append(f"{names[int(out[1])]} at {int(out[0])}")
    return tuple(got)


def _snapshot(
    state: TGateState, names: Sequence[str], event: str, delivered: tuple[str, ...]
) -> GateSnapshot:
    """Return a snapshot of a quiescent gate."""
    look = look_at(state)
    nodes = []
    for place, (words, node) in enumerate(zip(look.nodes, look.chain, strict=True)):
        source, timestamp = int(words[gates.SOURCE]), int(words[gates.TIMESTAMP])
        no_tuple = timestamp < 0 or timestamp == gates.END_TIMESTAMP
        done = no_tuple or place <= look.head
        nodes.append(
            GateNode(
                label="F" if source < 0 else f"{names[source]}{node % state.ring}",
                under="end" if timestamp > 0 and no_tuple else "" if no_tuple else str(timestamp),
                height=int(words[gates.HEIGHT]),
                state="passed" if done else "ready" if place < look.stop else "waiting",
            )
        )
    written = dict(zip(names, look.written, strict=True))
    return GateSnapshot(event, tuple(nodes), state.levels, written, look.head, delivered)
