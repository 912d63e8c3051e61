"""Handshake joins driven step by step: the positions of tuples in a chain of cores.

Every pair matches, so that the output pairs show which tuples have met. Everything else is read
from the windows of the cores and from the rings between them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from experiments.families.gate.steps import taken
from experiments.scalejoin.snapshots import ChainSnapshot, Core
from operators import registry
from operators.contract import READY
from operators.core.layout import aligned_words
from operators.core.spsc_ring import RING_WORDS, TAKEN, WRITTEN, slot_place
from operators.theta_join import handshake
from operators.theta_join.chain import KIND, POSITION, TUPLE, Chain, way_of
from operators.theta_join.family import R, S, Shape, State, make_extent
from operators.theta_join.number_predicates import bands, number_tables
from operators.theta_join.processing import partner_of, rank_of
from operators.theta_join.sort_buffer import HELD
from operators.theta_join.window import FIRST, NEXT, Window, place_of


def meet(
    variant: str, cores: int, window: int, tuples: int, steps: int, seed: int
) -> list[ChainSnapshot]:
    """Insert R and S tuples, in turn, into a chain of cores; take snapshots, the last one at rest.

    Parameters
    ----------
    variant : str
        Id of a handshake join.
    cores, window, tuples : int
        `window` tuples per window, `tuples` per stream.
    steps : int
        Steps of the driver and the cores together; 0 for a snapshot at rest only.
    seed : int
        Seed of the order in which they step.
    """
    operations = registry.variant("theta_join", variant).operations
    # All numbers are equal.
    same = np.zeros(tuples + 1, dtype=np.int64)
    predicate, tables = bands(1), number_tables(same, same, (0,))
    state = operations.make_state(
        predicate, tables, make_extent(count=window), Shape(1, 1, cores, window)
    )
    # A stream's last tuple is never ready: insert one more than are shown.
    for position in range(tuples + 1):
        for side in (R, S):
            time = 2 * position + side
            taken(operations.insert_tuple(state.shared, side, time, 0, position))
    step, get_output = operations.make_step(predicate), operations.make_get_output(predicate)
    doing = [partial(operations.drive, state.shared, state.driver)]
    doing += [partial(step, state.shared, core) for core in state.threads]
    random, out = np.random.default_rng(seed), aligned_words(2)
    met: set[int] = set()
    found, number, idle = [], 0, set()
    while len(idle) < len(doing):
        number += 1
        who = int(random.integers(len(doing)))
        # Any progress may give another one something to do.
        idle = set() if doing[who]() == READY else idle | {who}
        while get_output(state.shared, state.output, out) == READY:
            met.add(int(out[0]))
        if number == steps:
            found.append(_look(variant, state, met, window, "under way"))
    return [*found, _look(variant, state, met, window, "at rest")]


def _sorting(state: State) -> set[int]:
    """Return the keys of pairs that wait in a sort buffer, if there is one."""
    heap = getattr(state.output, "heap", None)
    return set() if heap is None else set(heap.keys[: int(heap.words[HELD])].tolist())


def _look(variant: str, state: State, met: set[int], window: int, told: str) -> ChainSnapshot:
    """Return a snapshot. R and S came in turn: ranks 2 p and 2 p + 1 have position p."""
    operations = registry.variant("theta_join", variant).operations
    newest = (int(operations.seen(state.driver)) - 1) // 2
    pairs = met | _sorting(state)
    partners = [int(partner_of(key)) for key in pairs if rank_of(key) == 2 * newest]
    return ChainSnapshot(
        variant,
        told,
        tuple(_look_into(variant, state.shared, core) for core in state.threads),
        newest + 1,
        tuple(sorted(rank // 2 + 1 for rank in partners)),
        max(min(window, newest), 0),
    )


def _look_into(variant: str, chain: Chain, core: Any) -> Core:
    kept, handed_on = _numbers(core.s), _numbers(core.flying)
    if variant == handshake.VARIANT.id:
        # Tuples handed on stay in this join's window.
        sent = int(core.words[handshake.SENT]) - int(core.s.words[FIRST])
        kept, handed_on = kept[sent:], kept[:sent]
    ways = (way_of(chain, side, core.number) for side in (R, S))
    return Core(_numbers(core.r), kept, handed_on, *(_in_flight(chain, ring) for ring in ways))


def _numbers(window: Window) -> tuple[int, ...]:
    """Return the numbers of the tuples in a window; the tuples' stamps are positions."""
    positions = range(int(window.words[FIRST]), int(window.words[NEXT]))
    return tuple(int(window.stamps[place_of(window, each)]) + 1 for each in positions)


def _in_flight(chain: Chain, ring: int) -> tuple[int, ...]:
    """Return the tuples in flight in a ring to a core; other messages are left out."""
    words = chain.ways.positions[ring * RING_WORDS : (ring + 1) * RING_WORDS]
    places = [
        slot_place(chain.ways, ring, position)
        for position in range(int(words[TAKEN]), int(words[WRITTEN]))
    ]
    records = chain.ways.records
    return tuple(int(records[at + POSITION]) + 1 for at in places if records[at + KIND] == TUPLE)
