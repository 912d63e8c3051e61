"""``run_index`` over arrays: the matches of each band in a sliding window, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.contract import UsageError
from operators.index.reference import Reference
from operators.index.run import run_index
from tests.covering import compiled_few

INDEXES = [variant.id for variant in registry.variants("index")]
ROWS = 250


def streams() -> dict[str, np.ndarray]:
    """Return streams of keys by name."""
    random = np.random.default_rng(2)
    return {
        "random": random.integers(-1_000, 1_000, ROWS),
        "tied": random.integers(0, 6, ROWS),
        "skewed": (random.pareto(1.0, ROWS) * 10).astype(np.int64),
        "none": np.zeros(0, dtype=np.int64),
    }


def searched(keys: np.ndarray, lows: np.ndarray, highs: np.ndarray, window: int) -> list:
    """Return the positions that each band matches, computed with a sorted list of the window."""
    reference, found = Reference(), []
    for position, key in enumerate(keys.tolist()):
        if position >= window:
            reference.remove(int(keys[position - window]), position - window)
        reference.insert(key, position)
        found.append(reference.search(int(lows[position]), int(highs[position])))
    return found


@pytest.mark.parametrize("index", compiled_few(INDEXES, ["nested-loop"]))
def test_bands_hold_what_a_sorted_list_of_the_window_holds(index):
    for kind, keys in streams().items():
        for window in (1, 7, 400):
            lows, highs = keys - 2, keys + np.arange(len(keys)) % 60
            begins, positions = run_index(index, keys, lows, highs, window=window)
            found = [each.tolist() for each in np.split(positions, begins[1:-1])]
            wanted = searched(keys, lows, highs, window)
            assert found[: len(wanted)] == wanted and begins[-1] == len(positions), (kind, window)


@pytest.mark.parametrize("index", compiled_few(["b-plus-tree", "pim-tree"], []))
def test_answers_beyond_the_buffer_and_keys_at_the_limits_come_out_whole(index, monkeypatch):
    monkeypatch.setattr("operators.index.run.POSITIONS_AT_ONCE", 1)
    limits = np.iinfo(np.int32)
    keys = np.random.default_rng(3).permutation([*range(ROWS - 2), limits.min, limits.max])
    # Bands alternate between the key alone and the whole window, so that an answer of that size
    # meets a buffer that is not empty.
    alone = np.arange(ROWS) % 2 == 0
    lows, highs = (np.where(alone, keys, limit) for limit in (limits.min, limits.max))
    for bits in (32, 64):
        begins, positions = run_index(index, keys, lows, highs, window=20, key_bits=bits)
        wanted = searched(keys, lows, highs, 20)
        assert [each.tolist() for each in np.split(positions, begins[1:-1])] == wanted


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"variant": "no"}, "unknown variant 'no'"),
        ({"window": 0}, "a window has between 1 and"),
        ({"window": 1.5}, "window must be a whole number, received 1.5"),
        ({"key_bits": 16}, "keys have 32 or 64 bits, received 16"),
        ({"fan_out": 4}, "index nested-loop has no parameter 'fan_out'"),
        ({"keys": [1, 2]}, "there are 2 keys, 1 lows and 1 highs"),
        ({"lows": [2]}, "from a low to a high key, received 2 to 1 at position 0"),
        ({"keys": [1 << 40], "key_bits": 32}, "keys must be between -2147483648 and 2147483647"),
        ({"highs": [0.5]}, "highs are whole numbers in a row"),
    ],
)
def test_what_is_no_search_is_refused(given, says):
    asked = {"variant": "nested-loop", "keys": [1], "lows": [1], "highs": [1], "window": 3, **given}
    with pytest.raises(UsageError, match=says):
        run_index(**asked)
