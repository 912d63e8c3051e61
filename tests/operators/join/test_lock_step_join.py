"""Descents made together: the plain join's answers, whatever merges and splits come in between."""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.core.jit import INTERPRETED, kernel
from operators.index.immutable_tree import levels_of, nodes_at
from operators.index.pim_tree import SLOT
from operators.index.window import make_answer
from operators.join.lock_step_join import AHEAD, FOUND, LEFT, PLACES

# By one worker: its kernel takes fifteen seconds to compile.
pytestmark = pytest.mark.xdist_group("pim-tree-lock-step")
PLAIN = registry.variant("join", "pim-tree").operations
LOCK_STEP = registry.variant("join", "pim-tree-lock-step").operations
_plain, _process, _prepare = PLAIN.process, LOCK_STEP.process, LOCK_STEP.prepare
_stamped = LOCK_STEP.stamped
ROWS = 200 if INTERPRETED else 3_000
WINDOWS = (3, 64, 700)


@kernel
def differing(plain, ahead, r, s, sides, every, out, other, mixed):
    """Return the first row at which the two joins differ, or -1.

    Where it is `mixed`, some tuples are joined with clocks, and some enter without being joined.
    """
    spent = other[len(other) - 8 :]
    for row in range(len(r)):
        if row % every == 0:
            _prepare(ahead, r, s, row, min(every, len(r) - row))
        for side in range(sides):
            key = r[row] if side == 0 else s[row]
            probing = not mixed or row % 5 != 2
            count = _plain(plain, side, key, row, out, probing)
            if mixed and row % 3 == 1 and probing:
                found = _stamped(ahead, side, key, row, other, spent)
            else:
                found = _process(ahead, side, key, row, other, probing)
            if found != count:
                return row
            for place in range(count):
                if out[place] != other[place]:
                    return row
    return -1


def keys_of(name: str, key_type: type = np.int32) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    if name == "tied":
        return tuple(random.integers(0, 40, ROWS).astype(key_type) for _ in "rs")
    drift = np.linspace(0, 30_000, ROWS) if name == "drifting" else np.zeros(ROWS)
    return tuple((random.integers(0, 9_000, ROWS) + drift).astype(key_type) for _ in "rs")


def both(window: int, two_way: bool = True, half_width: int = 30, **own):
    given = {"two_way": two_way, **own}
    return tuple(each.make_state(window, half_width, **given) for each in (PLAIN, LOCK_STEP))


def outputs(window: int) -> tuple[np.ndarray, np.ndarray]:
    # Behind the second one the times of steps.
    return make_answer(window), make_answer(window + 8)


# A ratio of 0.001 merges at each insertion, where nothing is found ahead; 0.02 in most batches.
@pytest.mark.parametrize("name", ["random", "tied", "drifting"])
@pytest.mark.parametrize("ratio", [0.001, 0.02, 0.125, 1])
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("mixed", [False, True], ids=["alike", "mixed"])
def test_each_tuple_has_the_partners_that_the_plain_join_finds(name, ratio, depth, mixed):
    r, s = keys_of(name)
    for window in WINDOWS:
        for two_way in (True, False):
            for fan_out in (4, 32):
                states = both(window, two_way, merge_ratio=ratio, insertion_depth=depth,
                              fan_out=fan_out)  # fmt: skip
                sides = 2 if two_way else 1
                told = differing(*states, r, s, sides, AHEAD, *outputs(window), mixed)
                assert told == -1, (window, two_way, fan_out)
                LOCK_STEP.check_invariants(states[1])


@pytest.mark.full  # fifteen seconds to compile
def test_keys_may_have_64_bits_and_batches_any_length():
    r, s = keys_of("random", np.int64)
    for every in (1, 3, AHEAD, ROWS):
        states = both(64, key_bits=64, fan_out=4)
        assert differing(*states, r, s, 2, every, *outputs(64), False) == -1


def test_what_was_found_ahead_is_what_is_scanned():
    r, s = keys_of("random")
    plain, ahead = both(64, half_width=2_000, fan_out=4)
    assert differing(plain, ahead, r, s, 2, AHEAD, *outputs(64), False) == -1
    _prepare(ahead, r, s, 0, AHEAD)
    assert ahead.place[LEFT : LEFT + 2].tolist() == [AHEAD, AHEAD]
    # From the last block on there is little to find, wherever the keys lie.
    stable, slot = ahead.s.index.stable, int(ahead.s.index.words[SLOT])
    last = nodes_at(stable, slot, levels_of(stable, slot)) - 1
    assert last > 2
    ahead.place[PLACES + 1 : PLACES + AHEAD * FOUND : FOUND] = last
    out = outputs(64)[0]
    found = [
        sum(process(state, 0, int(key), 0, out, True) for key in r[:AHEAD])
        for process, state in ((_plain, plain), (_process, ahead))
    ]
    assert found[1] < found[0]
