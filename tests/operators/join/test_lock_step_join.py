"""Group descents: the answers of the plain join, despite merges and splits in between.

Each run of the tests is interpreted, because a kernel of both joins takes ten seconds to compile.
Compiled, the bench runs this join with and without clocks, and compares windows of 2^16 with an
oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators import registry
from operators.core.jit import INTERPRETED, inlined
from operators.index.immutable_tree import levels_of, nodes_at
from operators.index.pim_tree import SLOT
from operators.join import lock_step_join
from operators.join.family import COUNT, FOUND, Timing
from operators.join.feed import in_turns
from operators.join.lock_step_join import AHEAD, LEFT, PLACES
from operators.join.lock_step_join import FOUND as NOTED
from tests.covering import covered, interpreted_is_enough, taken
from tests.operators.join.running import feed_of, join, make_given

# On one worker, which compiles the kernels in a run of the product.
pytestmark = pytest.mark.xdist_group("pim-tree-lock-step")
PLAIN = registry.variant("join", "pim-tree").operations
LOCK_STEP = registry.variant("join", "pim-tree-lock-step").operations
# No multiple of the descents requested ahead: the last batch is a short one.
ROWS = 203 if INTERPRETED else 3_003
WINDOWS = (3, 64, 150) if INTERPRETED else (3, 64, 700)


@inlined
def _each_third(notes):
    notes[0] += 1
    return notes[0] % 3 == 0


@inlined
def _add(notes, insert, delete, search, scan):
    notes[1] += insert + delete + search + scan


TIMING = Timing(_each_third, _add)


def answers(operations, state, r, s, sides, every, window, mixed):
    """Return the partners of each tuple, in the order in which the index has them.

    The rows arrive in feeds of `every`. If they are `mixed`, some tuples are joined with clocks,
    and the tuples of some feeds enter without being joined.
    """
    given, notes = make_given(2 * len(r), window), np.zeros(2, np.int64)
    step = operations.make_step(TIMING if mixed else None)
    for number, begin in enumerate(range(0, len(r), every)):
        end, probing = min(begin + every, len(r)), not mixed or number % 5 != 2
        feed = in_turns(r, s, end, two_way=sides == 2, probing=probing, notes=notes)
        join(operations, step, state, feed, given)
    return given.lists()


def assert_alike(plain, ahead, r, s, sides, every, window, mixed):
    """Assert that both joins have the same partners in the same order."""
    both = ((PLAIN, plain), (LOCK_STEP, ahead))
    found = [answers(*each, r, s, sides, every, window, mixed) for each in both]
    assert len(found[0]) == sides * len(r) and any(found[0])
    assert found[1] == found[0]


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


# A ratio of 0.001 merges at each insertion, so no descent is made ahead; 0.06, of a window of 150,
# merges in most batches.
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
                assert_alike(*states, r, s, sides, 3 * AHEAD + 1, window, how == "mixed")
                LOCK_STEP.check_invariants(states[1])


@interpreted_is_enough
def test_keys_may_have_64_bits_and_feeds_any_length():
    r, s = keys_of("random", np.int64)
    for every in (1, 3, AHEAD, ROWS):
        states = both(64, key_bits=64)
        assert_alike(*states, r, s, 2, every, 64, False)


@interpreted_is_enough
def test_what_was_found_ahead_is_what_is_scanned():
    r, s = keys_of("random")
    plain, ahead = both(64, half_width=2_000)
    assert_alike(plain, ahead, r, s, 2, ROWS, 64, False)
    (joiner,) = ahead.threads
    windows = joiner.windows
    feed = in_turns(r, s, ROWS + AHEAD)
    lock_step_join.prepare(joiner, feed, ROWS, ROWS)
    assert windows.place[LEFT : LEFT + 2].tolist() == [AHEAD, AHEAD]
    # A search that starts at the last block finds little, wherever the keys lie.
    stable, slot = windows.s.index.stable, int(windows.s.index.words[SLOT])
    last = nodes_at(stable, slot, levels_of(stable, slot)) - 1
    assert last > 2
    for side in range(2):
        begin = PLACES + side * AHEAD * NOTED
        windows.place[begin + 1 : begin + AHEAD * NOTED : NOTED] = last
    found = []
    for operations, state in ((PLAIN, plain), (LOCK_STEP, ahead)):
        step, count = operations.make_step(), 0
        for _ in range(2 * AHEAD):
            assert step(state.shared, state.threads[0], state.output, feed) == FOUND
            count += int(state.output.words[COUNT])
        found.append(count)
    assert found[1] < found[0]


@interpreted_is_enough
def test_streams_that_arrive_in_any_other_order_are_joined_one_by_one():
    r, s = keys_of("random")
    plain, ahead = both(64)
    sides = np.random.default_rng(1).integers(0, 2, ROWS)
    keys = np.where(sides == 0, r, s)
    found = []
    for operations, state in ((PLAIN, plain), (LOCK_STEP, ahead)):
        given = make_given(ROWS, 64)
        join(operations, operations.make_step(), state, feed_of(sides, keys), given)
        found.append(given.lists())
    assert found[1] == found[0]
    assert ahead.threads[0].windows.place[LEFT : LEFT + 2].tolist() == [0, 0]
