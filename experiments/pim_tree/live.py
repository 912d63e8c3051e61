"""The paper's indexes at work on a few dozen tuples, for a notebook: snapshots, and short runs.

``search_tree``, ``merge_pim_tree`` and ``expire_chain`` call the measured operations, interpreted
and one at a time, and return snapshots of an index. ``joins_by_window`` runs joins compiled, as a
bench does, only much shorter. ``inserts_by_subindex`` inserts drifting keys into the window of a
join, compiled too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from datasets.band_join_keys.keys import LEAST_KEY, MOST_KEY, PHASES, drifting_keys
from datasets.in_memory import InMemory
from experiments import families
from experiments.dataset_of import dataset_path
from experiments.families.join import loops, threads
from experiments.pim_tree.snapshots import (
    ChainSnapshot,
    Entries,
    Entry,
    InnerNode,
    Inserts,
    JoinRun,
    MergeSnapshot,
    PimSnapshot,
    SearchSnapshot,
    Step,
    Subindex,
    TreeSnapshot,
)
from experiments.timing import isolation
from experiments.timing.bench import Request
from operators import registry
from operators.contract import UsageError
from operators.core.layout import aligned_words
from operators.index import chain, immutable_tree, pim_tree
from operators.index.b_plus_tree import entries_of, leaves_of
from operators.index.family import is_live, position_of
from operators.index.forest import Forest
from operators.index.immutable_tree import BEGINS, COUNT, ImmutableTrees, levels_of, nodes_at, own
from operators.index.node import rank_in
from operators.index.window import NEWEST, OLDEST
from operators.join.feed import in_turns

# Of all drawn structures: small, so that a few dozen tuples have more than one level.
FAN_OUT = 4
# Keys of two digits, without duplicates, in the order of arrival.
KEYS = tuple(np.random.default_rng(76).permutation(np.arange(10, 99)).tolist())
SEARCHED = 79
IN_TREE = 38
WINDOW, MERGE_RATIO, DEPTH = 40, 0.3, 1
CHAIN_WINDOW, CHAIN_LENGTH = 18, 4
# Tuple counts after which to take a snapshot of the chain: oldest partly expired, wholly, and gone.
LOOKS = (21, 24, 25)
JOINS = ("nested-loop-scalar", "b-plus-tree", "im-tree", "pim-tree")
WINDOWS = (1 << 8, 1 << 10, 1 << 12, 1 << 14)
LIVE_SECONDS = 0.05
MADE_UP_ROWS = 1 << 17
DRIFTS = (0.0, 1.0)
DRIFT_WINDOW = 1 << 15


# --- what an index looks like ---------------------------------------------------------------------


def _entry(key: int, sequence: int, words: np.ndarray) -> Entry:
    position = int(position_of(int(sequence), int(words[NEWEST])))
    return Entry(int(key), position, bool(is_live(int(sequence), int(words[OLDEST]))))


def _inner(keys: Sequence[int], last_key: int, children: int) -> InnerNode:
    return InnerNode(tuple(None if key == last_key else int(key) for key in keys), children)


def _immutable(trees: ImmutableTrees, slot: int, words: np.ndarray) -> TreeSnapshot:
    """Return a snapshot of an immutable tree."""
    fan_out, levels = trees.kind.fan_out, []
    for depth in range(int(levels_of(trees, slot))):
        begin = int(trees.words[own(slot) + BEGINS + depth])
        below = int(nodes_at(trees, slot, depth + 1))
        nodes = []
        for node in range(int(nodes_at(trees, slot, depth))):
            first = begin + node * fan_out
            keys = trees.separators[first : first + fan_out]
            children = min(below - node * fan_out, fan_out)
            nodes.append(_inner(keys, trees.kind.last_key, children))
        levels.append(tuple(nodes))
    first = slot * trees.room
    end = first + int(trees.words[own(slot) + COUNT])
    leaves = []
    for begin in range(first, end, fan_out):
        part = slice(begin, min(begin + fan_out, end))
        both = zip(trees.keys[part], trees.sequences[part], strict=True)
        leaves.append(tuple(_entry(key, sequence, words) for key, sequence in both))
    return TreeSnapshot(fan_out, tuple(levels), tuple(leaves))


def _leaves(forest: Forest, tree: int, words: np.ndarray) -> tuple[Entries, ...]:
    return tuple(
        tuple(_entry(key, sequence, words) for key, sequence in entries_of(forest, leaf))
        for leaf in leaves_of(forest, tree)
    )


def _mutable(forest: Forest, tree: int, words: np.ndarray) -> TreeSnapshot:
    """Return a snapshot of a B+-Tree."""
    levels, nodes = [], [int(forest.roots[tree])]
    for _ in range(int(forest.heights[tree])):
        found, below = [], []
        for node in nodes:
            # An inner node's last key is +oo, and so is the unused room.
            keys, children = zip(*entries_of(forest, node), strict=True)
            room = (forest.kind.last_key,) * (forest.kind.fan_out - len(keys))
            found.append(_inner(keys + room, forest.kind.last_key, len(children)))
            below += children
        levels.append(tuple(found))
        nodes = below
    return TreeSnapshot(forest.kind.fan_out, tuple(levels), _leaves(forest, tree, words))


# --- structures at work ---------------------------------------------------------------------------


def search_tree(key: int = SEARCHED, keys: Sequence[int] = KEYS[:IN_TREE]) -> SearchSnapshot:
    """Build an immutable tree over keys, and search for a key.

    Parameters
    ----------
    key : int
    keys : sequence of int
        In any order; duplicates are allowed.

    Returns
    -------
    SearchSnapshot
    """
    trees = immutable_tree.make_trees(1, len(keys), np.int32, FAN_OUT)
    order = np.argsort(keys, kind="stable")
    trees.keys[: len(keys)] = np.asarray(keys)[order]
    trees.sequences[: len(keys)] = order
    immutable_tree.build(trees, 0, len(keys))
    node, steps = 0, []
    levels = int(levels_of(trees, 0))
    for depth in range(levels):
        begin = int(trees.words[own(0) + BEGINS + depth]) + node * FAN_OUT
        steps.append(Step(node, int(rank_in(trees.kind, trees.separators, begin, key))))
        node = int(immutable_tree.descend(trees, 0, node, depth, depth + 1, key))
    steps.append(Step(node, int(rank_in(trees.kind, trees.keys, node * FAN_OUT, key))))
    words = np.zeros(max(OLDEST, NEWEST) + 1, dtype=np.int64)
    words[NEWEST] = len(keys) - 1
    return SearchSnapshot(key, _immutable(trees, 0, words), tuple(steps))


def merge_pim_tree(
    window: int = WINDOW,
    merge_ratio: float = MERGE_RATIO,
    depth: int = DEPTH,
    keys: Sequence[int] = KEYS,
) -> tuple[PimSnapshot, MergeSnapshot, PimSnapshot]:
    """Insert tuples into a PIM-Tree until the window and T_I are full, and merge.

    Parameters
    ----------
    window : int
    merge_ratio : float
        Share of the window: tuples of T_I at which it is merged.
    depth : int
        Depth of the subindexes.
    keys : sequence of int
        Keys of the tuples; more than window and T_I have.

    Returns
    -------
    tuple of PimSnapshot, MergeSnapshot and PimSnapshot
        Before the merge, with half of T_I merged, and after it.

    Raises
    ------
    UsageError
        When there are too few keys.
    """
    state = pim_tree.make_state(window, 32, merge_ratio, depth, FAN_OUT)
    tuples = state.limit * (-(-window // state.limit) + 1)
    if tuples > len(keys):
        raise UsageError(f"{tuples} keys are needed, received {len(keys)}")
    # The last insert sees a higher limit: T_I is then full, and not yet merged.
    waiting = state._replace(limit=state.limit + 1)
    for position, key in enumerate(keys[:tuples]):
        if position >= window:
            pim_tree.remove(state, keys[position - window], position - window)
        pim_tree.insert(waiting if position + 1 == tuples else state, key, position)
    before = _pim_tree(state, f"before: T_I has its {state.limit} tuples")
    pim_tree.merge(state)
    after = _pim_tree(state, "after: T_S has every tuple of the window, every B_i is empty")
    return before, _half_way(before, after), after


def _pim_tree(state: pim_tree.PimTree, event: str) -> PimSnapshot:
    words = state.words
    stable = _immutable(state.stable, int(words[pim_tree.SLOT]), words)
    subindexes = tuple(
        _leaves(state.fresh, tree, words) for tree in range(int(words[pim_tree.SUBINDEXES]))
    )
    return PimSnapshot(event, stable, int(words[pim_tree.DEPTH]), subindexes)


def _half_way(before: PimSnapshot, after: PimSnapshot) -> MergeSnapshot:
    """Return a merge with half of T_I taken, derived from the states before and after it."""
    stable = tuple(entry for leaf in before.stable.leaves for entry in leaf)
    fresh = tuple(entry for tree in before.subindexes for leaf in tree for entry in leaf)
    result = tuple(entry for leaf in after.stable.leaves for entry in leaf)
    half = -(-len(fresh) // 2)
    taken = sum(entry.key <= fresh[half - 1].key for entry in stable)
    written = sum(entry.live for entry in (*stable[:taken], *fresh[:half]))
    event = "during (put together from before and after): the smaller next key is copied, if live"
    return MergeSnapshot(event, stable, fresh, taken, half, result[:written], len(result))


def expire_chain(
    window: int = CHAIN_WINDOW,
    length: int = CHAIN_LENGTH,
    looks: Sequence[int] = LOOKS,
    keys: Sequence[int] = KEYS,
) -> list[ChainSnapshot]:
    """Insert tuples into a chain of B+-Trees, and take snapshots.

    Parameters
    ----------
    window, length : int
        Tuples of the window, indexes of the chain.
    looks : sequence of int
        Tuple counts after which to take a snapshot, ascending.
    keys : sequence of int
        Keys of the tuples.

    Returns
    -------
    list of ChainSnapshot
    """
    state = chain.make_b_chain(window, 32, length, FAN_OUT)
    found: list[ChainSnapshot] = []
    for position, key in enumerate(keys[: max(looks)]):
        if position >= window:
            chain.remove(state, keys[position - window], position - window)
        active = int(state.words[chain.ACTIVE])
        chain.insert_b(state, key, position)
        if position + 1 in looks:
            found.append(_chain(state, position + 1, active != int(state.words[chain.ACTIVE])))
    return found


def _chain(state: chain.BChain, tuples: int, moved: bool) -> ChainSnapshot:
    words, length = state.words, state.length
    active = int(words[chain.ACTIVE])
    order = [(active + 1 + place) % length for place in range(length)]
    kinds = ["oldest", *["archived"] * (length - 2), "active"]
    trees = [_mutable(state.trees, tree, words) for tree in order]
    oldest = [entry for leaf in trees[0].leaves for entry in leaf]
    gone = sum(not entry.live for entry in oldest)
    event = f"after {tuples} tuples: the active subindex has {int(words[chain.FILLED])} of"
    event += f" {state.limit}, of the oldest {gone} of {len(oldest)} have expired"
    if moved:
        event = f"after {tuples} tuples: the oldest was emptied at once, and is the active one now"
    return ChainSnapshot(event, tuple(map(Subindex, kinds, trees)))


# --- short runs -----------------------------------------------------------------------------------


@cache
def made_up_keys() -> InMemory:
    """Return uniform keys of two streams from a seed, in the form of the dataset of keys."""
    random = np.random.default_rng(1)
    r, s = random.integers(LEAST_KEY, MOST_KEY, (2, MADE_UP_ROWS), np.int32, endpoint=True)
    return InMemory("made-up keys", "keys", {"uniform": {"r": r, "s": s}})


def joins_by_window(
    variants: Sequence[str] = JOINS, windows: Sequence[int] = WINDOWS
) -> list[JoinRun]:
    """Run each join over growing windows, for an instant each.

    Parameters
    ----------
    variants : sequence of str
        Ids of variants.
    windows : sequence of int

    Returns
    -------
    list of JoinRun
        In the order in which they ran.
    """
    keys = _keys()
    benches = [
        families.ready("join", name, {"window": window, "dataset": keys})
        for window in windows
        for name in variants
    ]
    found = []
    with isolation.alone():
        for bench in benches:
            seen = bench.run(Request(LIVE_SECONDS))
            place = (bench.variant.id, bench.settings["window"])
            found.append(JoinRun(*place, seen["throughput_tps"], seen["valid"]))
    return found


def _keys() -> Path | InMemory:
    """Return the dataset of keys, or made-up keys if there is none."""
    try:
        return dataset_path(None, "keys")
    except UsageError:
        return made_up_keys()


def inserts_by_subindex(
    drifts: Sequence[float] = DRIFTS, window: int = DRIFT_WINDOW, seed: int = 1
) -> list[Inserts]:
    """Insert drifting keys into a PIM-Tree with m = 1, and count the inserts during the drift.

    Parameters
    ----------
    drifts : sequence of float
        The paper's r.
    window : int
    seed : int
        Seed of the random normal variates.

    Returns
    -------
    list of Inserts
        One per drift.
    """
    rows = window * sum(PHASES)
    normal = np.random.default_rng(seed).standard_normal(rows)
    shift = np.clip((np.arange(rows) / window - PHASES[0]) / PHASES[1], 0.0, 1.0)
    operations = registry.variant("join", "pim-tree").operations
    parameters = registry.variant("join", "pim-tree").settings({"merge_ratio": 1.0})
    found = []
    for drift in drifts:
        keys = drifting_keys(normal, shift, drift)
        state = operations.make_state(window, 0, two_way=False, **parameters)
        session = aligned_words(loops.SESSION_WORDS)
        counts, end = [], 0
        for phase in PHASES[:2]:
            end += phase * window
            feed = in_turns(keys, keys, end, two_way=False, probing=False, notes=session)
            threads.fill(operations, operations.make_step(), state, session, feed)
            counts.append(operations.inserted(state).copy())
        found.append(Inserts(drift, tuple((counts[1] - counts[0]).tolist())))
    return found
