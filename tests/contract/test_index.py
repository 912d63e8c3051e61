"""The requirement on every index of a window: answer like a sorted list of the window."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators import registry
from operators.contract import UsageError, Variant
from operators.core.jit import INTERPRETED
from operators.index.window import SIZE
from tests import covering
from tests.covering import compiled_few, interpreted_is_enough
from tests.operators.index import scripts
from tests.operators.index.scripts import ENTER, LEAVE, SEARCH

INDEXES = registry.variants("index")
NAMES = [variant.id for variant in INDEXES]


def for_one_worker(variant: Variant, *values, name: str | None = None):
    """Return a parameter; two workers with the same variant would compile the same kernels."""
    mark = pytest.mark.xdist_group(variant.id)
    return pytest.param(variant, *values, id=name or variant.id, marks=mark)


# Parameters of each index in addition to the defaults: the smallest nodes, every depth of a small
# window, merges after each tuple and after a whole window, long chains.
SETTINGS = {
    "b-plus-tree": [{"fan_out": 4}, {"fan_out": 6}, {"search": "scalar"}],
    "b-chain": [{"fan_out": 4}, {"chain_length": 3}, {"chain_length": 9, "fan_out": 4}],
    "ib-chain": [{"fan_out": 4}, {"chain_length": 3}, {"chain_length": 9, "fan_out": 4}],
    "im-tree": [{"fan_out": 4}, {"merge_ratio": 1}, {"merge_ratio": 0.001}, {"fan_out_ratio": 2}],
    "pim-tree": [
        {"fan_out": 4, "insertion_depth": depth, "merge_ratio": ratio}
        for depth in (0, 1, 2, 3)
        for ratio in (0.125, 1)
    ]
    + [{"insertion_depth": 1}, {"insertion_depth": 6, "merge_ratio": 0.01}, {"pages": "huge"}]
    + [{"fan_out": 4, "fan_out_ratio": 3}, {"fan_out_ratio": 2, "insertion_depth": 1}],
    "pim-tree-parallel": [
        {"fan_out": 4, "insertion_depth": depth, "merge_ratio": ratio, "reads": reads}
        for depth, reads in ((0, "locked"), (1, "versioned"), (2, "locked"), (3, "versioned"))
        for ratio in (0.125, 1)
    ]
    + [{"insertion_depth": 6, "merge_ratio": 0.01}, {"reads": "versioned"}]
    + [{"fan_out": 4, "attached": "blocks", "merge_ratio": 0.5, "reads": "versioned"}]
    + [{"fan_out": 4, "fan_out_ratio": 2, "merge_ratio": 0.5}],
    "olc-tree": [{"fan_out": 4}, {"fan_out": 6}],
    "bw-tree": [
        {"leaf_size": 4, "inner_size": 4, "leaf_chain": 2, "inner_chain": 1},
        {"leaf_size": 9, "inner_size": 5, "leaf_chain": 7, "inner_chain": 3},
        {"leaf_size": 16, "leaf_chain": 24},
    ],
}
EACH = [
    for_one_worker(variant, own, name=f"{variant.id} {own}" if own else variant.id)
    for variant in INDEXES
    for own in ({}, *SETTINGS.get(variant.id, ()))
]
ALONE = [for_one_worker(variant) for variant in INDEXES]
WINDOWS = (1, 2, 3, 50, 300)
# A normal run compiles only these for nodes of any size, which need separate kernels: one deletes
# from nodes, the other does not, and the second has the parts of the other trees. Interpreted, all
# indexes are tried.
COMPILED = ("b-plus-tree", "pim-tree")
# Parameters that need separate kernels. Searches of a parallel PIM-Tree under a version are
# compiled by the tests of that tree, and by the contract of joins.
KERNELS = {"fan_out", "fan_out_ratio", "reads"}
INT32 = np.iinfo(np.int32)


def streams(limits: np.iinfo) -> dict[str, tuple[np.ndarray, int]]:
    """Return keys by name, each with a half width."""
    random = np.random.default_rng(7)
    count = 900
    moving = np.linspace(0, 1e6, count).astype(np.int64)
    ends = np.array([limits.min, limits.min + 1, -1, 0, limits.max - 1, limits.max])
    return {
        "random": (random.integers(-1_000_000, 1_000_000, count), 4_000),
        "tied": (random.integers(0, 12, count), 1),
        "equal": (np.full(count, 5), 0),
        "rising": (np.arange(count) * 3, 10),
        "falling": (np.arange(count)[::-1] * 3, 10),
        "drifting": (moving + random.integers(0, 50_000, count), 900),
        "extreme": (random.choice(ends, count), 1),
        "skewed": ((random.pareto(1.0, count) * 100).astype(np.int64) % (1 << 30), 20),
    }


def with_each_stream() -> list:
    """Return every index at every parameter with all keys; a normal run has three of the keys.

    Compiled, nodes of other sizes are tried for the indexes in `COMPILED` only.
    """
    names, found = list(streams(INT32)), []
    for place, each in enumerate(EACH):
        for number, name in enumerate(names):
            # The next three: three parameters of an index have all keys between them.
            light = not each.values[1] or (number - 3 * place) % len(names) < 3
            if not INTERPRETED and KERNELS & each.values[1].keys():
                light = light and each.values[0].id in COMPILED
            marks = [*each.marks, *([] if light else [pytest.mark.full])]
            found.append(pytest.param(*each.values, name, id=f"{name}-{each.id}", marks=marks))
    return found


@pytest.mark.parametrize(("variant", "own", "name"), with_each_stream())
def test_an_index_answers_as_a_sorted_list_does(variant: Variant, own, name):
    keys, half_width = streams(INT32)[name]
    operations = variant.operations
    # Indexes for several threads are also driven interpreted by a separate contract.
    few = INTERPRETED and operations.shared is not None and name != "random"
    for window in WINDOWS[:-1] if few and not covering.FULL else WINDOWS:
        some = keys if not INTERPRETED else keys[: 2 * window + 40]
        script = scripts.sliding(some, window, half_width, INT32)
        state = operations.make_state(window, **own)
        assert scripts.run(operations, state, script, window) == scripts.wanted(script)
        operations.check_invariants(state)


# A B+-Tree of such keys, with deletions, is compiled in the ScaleJoin that looks up a range.
@pytest.mark.parametrize("name", compiled_few(NAMES, ("pim-tree",)))
def test_keys_of_64_bits_are_told_apart(name: str):
    variant = registry.variant("index", name)
    limits = np.iinfo(np.int64)
    keys, _ = streams(limits)["extreme"]
    close = np.concatenate([keys, (1 << 40) + np.arange(300) // 3])
    script = scripts.sliding(close, 64, 0, limits)
    state = variant.operations.make_state(64, 64)
    assert scripts.run(variant.operations, state, script, 64) == scripts.wanted(script)
    variant.operations.check_invariants(state)


# Operations, weighted by repetition.
KINDS = (ENTER, ENTER, LEAVE, SEARCH)
# A window of the size in the figures, where nodes of 32 have three levels above them.
LARGE = 1 << 16


@pytest.mark.skipif(INTERPRETED, reason="three hundred thousand steps")
@pytest.mark.parametrize(
    ("variant", "own"),
    [pytest.param(*each.values, id=each.id,
                  marks=[*each.marks, *([pytest.mark.full] if each.values[1] else [])])
     for each in EACH if "fan_out" not in each.values[1]
     and each.values[1].get("merge_ratio", 1) > 0.01],
)  # fmt: skip
def test_a_large_window_answers_as_a_look_at_every_key_does(variant: Variant, own):
    random = np.random.default_rng(9)
    keys = random.integers(0, 4 * LARGE, 3 * LARGE)
    rows, asked = [], []
    for place, key in enumerate(keys.tolist()):
        if place % 150 == 149:
            inside = keys[max(place - LARGE, 0) : place]
            hit = np.flatnonzero((inside >= key - 9) & (inside <= key + 9))
            asked.append((hit + scripts.BEGIN + max(place - LARGE, 0)).tolist())
            rows.append((SEARCH, key - 9, key + 9))
        if place >= LARGE:
            rows.append((LEAVE, 0, 0))
        rows.append((ENTER, key, 0))
    script = np.array(rows, dtype=np.int64)
    operations = variant.operations
    state = operations.make_state(LARGE, **own)
    found = scripts.run(operations, state, script, LARGE)
    assert [found[row] for row in np.flatnonzero(script[:, 0] == SEARCH)] == asked
    operations.check_invariants(state)
    if variant.id == "pim-tree" and not own:
        assert len(operations.inserted(state)) == 64


@st.composite
def any_script(draw, window: int, most: int) -> np.ndarray:
    """Return a script that never has more than `window` tuples in the window.

    Up to `most` enter one after the other, of one key or of rising keys, and as many leave. An
    operation is drawn as one number, because drawing takes most of the time.
    """
    # The ends of the type as often as all other keys together.
    others = range(9 + most)
    keys = [*others, *len(others) // 2 * [int(INT32.min), int(INT32.max)]]
    sizes = (2, len(keys), most, len(keys), len(KINDS))
    rows, inside = [], 0
    for _ in range(draw(st.integers(0, 60))):
        # Drawn from bytes: large integers tend to be small, which would give one step and one key.
        place = int.from_bytes(draw(st.binary(min_size=6, max_size=6))) % math.prod(sizes)
        step, other, count, one, kind = map(int, np.unravel_index(place, sizes))
        what, a, b, count = KINDS[kind], keys[one], keys[other], count + 1
        if what == ENTER and inside < window:
            count = min(count, window - inside)
            inside += count
            step = step if a < INT32.max else 0
            rows += [(ENTER, a + step * number, 0) for number in range(count)]
        elif what == LEAVE and inside > 0:
            count = min(count, inside)
            inside -= count
            rows += [(LEAVE, 0, 0)] * count
        elif what == SEARCH:
            rows.append((SEARCH, min(a, b), max(a, b)))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


# Run step by step, none of them is compiled.
@interpreted_is_enough
@pytest.mark.parametrize(("variant", "own"), EACH)
@settings(max_examples=max(30, settings.default.max_examples))
@given(data=st.data())
def test_any_order_of_operations_keeps_the_invariants(variant: Variant, own, data):
    # Enough for a node to split, and for its parts to be merged.
    small = not {"fan_out", "leaf_size"}.isdisjoint(own)
    window = data.draw(st.integers(1, 24 if small else 100))
    script = data.draw(any_script(window, 1 if small else 20))
    operations = variant.operations
    state = operations.make_state(window, **own)
    found = scripts.step_by_step(operations, state, script, window)
    assert found == scripts.wanted(script)


# Nodes of 4 then have so many levels above them that every insertion depth differs.
DEEP = 100 if INTERPRETED else 400


@pytest.mark.parametrize("name", compiled_few(NAMES, COMPILED))
@given(data=st.data())
def test_bulks_are_answered_at_every_fan_out_and_depth(name: str, data):
    variant = registry.variant("index", name)
    drawn = {
        "fan_out": st.sampled_from((4, 6, 8)) | st.integers(2, 32).map(lambda half: 2 * half),
        "search": st.sampled_from(("vector", "scalar")),
        "insertion_depth": st.integers(0, 3),
        "fan_out_ratio": st.sampled_from((1, 2, 3)),
        "merge_ratio": st.sampled_from((0.01, 0.125, 1)),
        "chain_length": st.integers(2, 9),
    }
    takes = [each.name for each in variant.parameters]
    own = {name: data.draw(values, name) for name, values in drawn.items() if name in takes}
    window = data.draw(st.integers(1, DEEP))
    script = data.draw(any_script(window, DEEP // 5))
    operations = variant.operations
    state = operations.make_state(window, data.draw(st.sampled_from((32, 64))), **own)
    if len(script):
        assert scripts.run(operations, state, script, window) == scripts.wanted(script)
    operations.check_invariants(state)


@pytest.mark.skipif(INTERPRETED, reason="a smaller window has fewer depths")
@pytest.mark.parametrize(("depth", "subindexes"), [(0, 1), (1, 2), (2, 7), (3, 25)])
def test_a_window_that_is_deep_has_subindexes_at_every_depth(depth, subindexes):
    operations = registry.variant("index", "pim-tree").operations
    state = operations.make_state(DEEP, fan_out=4, insertion_depth=depth, merge_ratio=1)
    scripts.run(operations, state, scripts.sliding(np.arange(2 * DEEP), DEEP, 0, INT32), DEEP)
    assert len(operations.inserted(state)) == subindexes


@pytest.mark.parametrize("fan_out", [5, 33])
@pytest.mark.parametrize(
    "variant",
    [each for each in INDEXES if "fan_out" in [own.name for own in each.parameters]],
    ids=lambda variant: variant.id,
)
def test_an_odd_fan_out_is_refused(variant: Variant, fan_out):
    with pytest.raises(UsageError, match=f"fan_out must be even, received {fan_out}"):
        variant.operations.make_state(50, fan_out=fan_out)


@pytest.mark.parametrize("variant", ALONE)
@pytest.mark.parametrize(
    ("window", "bits", "message"),
    [(0, 32, "between 1 and"), ((1 << 25) + 1, 32, "between 1 and"), (8, 16, "32 or 64 bits")],
)
def test_what_no_index_can_be_is_refused(variant: Variant, window, bits, message):
    with pytest.raises(UsageError, match=message):
        variant.operations.make_state(window, bits)


@pytest.mark.parametrize("variant", ALONE)
def test_an_empty_index_uses_next_to_nothing(variant: Variant):
    operations = variant.operations
    small, large = (operations.footprint(operations.make_state(w)) for w in (64, 1 << 14))
    # Empty, an index of a large window uses no more than that of a small one, except that a Bw-Tree
    # has the whole mapping table: a word for a node of some entries.
    table = (1 << 14) if variant.id == "bw-tree" else 0
    assert sum(large.values()) <= sum(small.values()) + 4096 + table


# Bytes of an entry: a key and a reference of 32 bits each.
ENTRY = 8
# Bounds of the size of a component over the bytes of the window's entries: they depend on the share
# of the window in the component, and on how full its nodes are.
TAKEN = {
    "b-plus-tree": {"insert": (1, 2.2)},
    "b-chain": {"insert": (1.5, 4.4)},
    "ib-chain": {"search": (1, 1.1), "insert": (1, 2.2)},
    "im-tree": {"search": (1, 1.1), "insert": (1 / 8, 2.2 / 8), "buffer": (1, 1.1)},
    "pim-tree": {"search": (1, 1.1), "insert": (1 / 8, 2.2 / 8), "buffer": (1, 1.1)},
    "nested-loop": {"search": (0.5, 0.5)},
    "nested-loop-scalar": {"search": (0.5, 0.5)},
    "bw-tree": {"insert": (1, 30 / ENTRY)},
    "olc-tree": {"insert": (1, 2.2)},
    "pim-tree-parallel": {"search": (1, 1.1), "insert": (1, 2.2), "buffer": (1, 1.1)},
}


def arrays_of(state) -> list[np.ndarray]:
    if isinstance(state, np.ndarray):
        return [state]
    return sum(map(arrays_of, state), []) if isinstance(state, tuple) else []


@pytest.mark.skipif(INTERPRETED, reason="forty thousand steps")
@pytest.mark.parametrize("variant", ALONE)
def test_the_footprint_of_a_full_window_is_that_of_its_entries(variant: Variant):
    window = 1 << 14
    keys = np.random.default_rng(2).permutation(3 * window)
    script = scripts.sliding(keys, window, 0, INT32)
    script = script[script[:, 0] != SEARCH]
    state = variant.operations.make_state(window)
    scripts.run(variant.operations, state, script, window)
    used = variant.operations.footprint(state)
    # For an index that is not in the table, only the total size is checked.
    known = TAKEN.get(variant.id, {})
    assert not known or used.keys() == known.keys()
    for component, (least, most) in known.items():
        assert least <= used[component] / (ENTRY * window) <= most, component
    assert sum(used.values()) <= sum(array.nbytes for array in arrays_of(state))


@pytest.mark.parametrize("variant", ALONE)
def test_a_thread_works_on_the_index_by_its_view(variant):
    operations = variant.operations
    state = operations.make_state(8, 32)
    (view,) = operations.views(state, 1)
    operations.insert(view, 5, 0)
    operations.check_invariants(state)
    assert int(state.words[SIZE]) == 1
    with pytest.raises(UsageError, match="for one thread, received 2"):
        operations.views(state, 2)
