"""Descents made together: the plain join's answers, whatever merges and splits come in between.

Interpreted in each run of the tests: a kernel of both joins takes ten seconds to compile. Compiled,
the bench joins by it, with clocks and without, and compares windows of 2^16 with its oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.core.jit import INTERPRETED, kernel
from operators.index.immutable_tree import levels_of, nodes_at
from operators.index.pim_tree import SLOT
from operators.index.window import make_answer
from operators.join.lock_step_join import AHEAD, FOUND, LEFT, PLACES
from tests.covering import covered, interpreted_is_enough, taken
from tests.operators.join.running import make_runner

# By one worker, which compiles its kernel in a run of the product.
pytestmark = pytest.mark.xdist_group("pim-tree-lock-step")
PLAIN = registry.variant("join", "pim-tree").operations
LOCK_STEP = registry.variant("join", "pim-tree-lock-step").operations
_process, _prepare, _stamped = LOCK_STEP.process, LOCK_STEP.prepare, LOCK_STEP.stamped
# No multiple of what is asked for ahead: the last batch is a short one.
ROWS = 203 if INTERPRETED else 3_003
WINDOWS = (3, 64, 150) if INTERPRETED else (3, 64, 700)


@kernel
def differing(ahead, r, s, sides, every, found, ends, out, mixed):
    """Return the first row at which the two joins differ, or -1.

    What the plain one has of the tuples that arrive in turns lies in `found` up to its `ends`.
    Where it is `mixed`, some tuples are joined with clocks, and some enter without being joined.
    """
    spent = out[len(out) - 8 :]
    begin = 0
    for row in range(len(r)):
        if row % every == 0:
            _prepare(ahead, r, s, row, min(every, len(r) - row))
        for side in range(sides):
            key = r[row] if side == 0 else s[row]
            end = ends[sides * row + side]
            probing = not mixed or row % 5 != 2
            if mixed and row % 3 == 1 and probing:
                count = _stamped(ahead, side, key, row, out, spent)
            else:
                count = _process(ahead, side, key, row, out, probing)
            if count != (end - begin if probing else 0):
                return row
            for place in range(count):
                if out[place] != found[begin + place]:
                    return row
            begin = end
    return -1


def told(plain, ahead, r, s, sides, every, window, mixed):
    """Return what ``differing`` tells of the two joins of these rows."""
    keys = np.column_stack((r, s)[:sides]).ravel()
    rows, side = np.divmod(np.arange(len(keys)), sides)
    found, ends = np.zeros(len(keys) * window + 1, np.int64), np.zeros(len(keys), np.int64)
    run = make_runner(PLAIN)
    assert run(plain, side, keys, rows, make_answer(window), found, ends) == -1
    # Behind the answer the times of steps.
    return differing(ahead, r, s, sides, every, found, ends, make_answer(window + 8), mixed)


def keys_of(name: str, key_type: type = np.int32) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    if name == "tied":
        return tuple(random.integers(0, 40, ROWS).astype(key_type) for _ in "rs")
    drift = np.linspace(0, 30_000, ROWS) if name == "drifting" else np.zeros(ROWS)
    return tuple((random.integers(0, 9_000, ROWS) + drift).astype(key_type) for _ in "rs")


def both(window: int, two_way: bool = True, half_width: int = 30, **own):
    # With nodes of 4 a small window has every depth.
    given = {"two_way": two_way, "fan_out": 4, **own}
    return tuple(each.make_state(window, half_width, **given) for each in (PLAIN, LOCK_STEP))


# A ratio of 0.001 merges at each insertion, where nothing is found ahead; 0.06, of a window of 150,
# in most batches.
@interpreted_is_enough
@covered(
    name=("random", "tied", "drifting"),
    ratio=("0.001", "0.06", "0.125", "1"),
    depth=("0", "1", "2"),
    how=("alike", "mixed"),
)
def test_each_tuple_has_the_partners_that_the_plain_join_finds(name, ratio, depth, how):
    r, s = keys_of(name)
    for window in WINDOWS:
        for two_way in (True, False):
            for fan_out in taken((4, 32), always=(4,)):
                states = both(window, two_way, merge_ratio=float(ratio),
                              insertion_depth=int(depth), fan_out=fan_out)  # fmt: skip
                sides = 2 if two_way else 1
                found = told(*states, r, s, sides, AHEAD, window, how == "mixed")
                assert found == -1, (window, two_way, fan_out)
                LOCK_STEP.check_invariants(states[1])


@interpreted_is_enough
def test_keys_may_have_64_bits_and_batches_any_length():
    r, s = keys_of("random", np.int64)
    for every in (1, 3, AHEAD, ROWS):
        states = both(64, key_bits=64)
        assert told(*states, r, s, 2, every, 64, False) == -1


@interpreted_is_enough
def test_what_was_found_ahead_is_what_is_scanned():
    r, s = keys_of("random")
    plain, ahead = both(64, half_width=2_000)
    assert told(plain, ahead, r, s, 2, AHEAD, 64, False) == -1
    _prepare(ahead, r, s, 0, AHEAD)
    assert ahead.place[LEFT : LEFT + 2].tolist() == [AHEAD, AHEAD]
    # From the last block on there is little to find, wherever the keys lie.
    stable, slot = ahead.s.index.stable, int(ahead.s.index.words[SLOT])
    last = nodes_at(stable, slot, levels_of(stable, slot)) - 1
    assert last > 2
    ahead.place[PLACES + 1 : PLACES + AHEAD * FOUND : FOUND] = last
    out = make_answer(64)
    found = [
        sum(process(state, 0, int(key), 0, out, True) for key in r[:AHEAD])
        for process, state in ((PLAIN.process, plain), (_process, ahead))
    ]
    assert found[1] < found[0]
