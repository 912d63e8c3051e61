"""The reference indexes of several threads are right for one thread, so tests may build on them."""

from __future__ import annotations

import numpy as np
import pytest

from operators.index.shared import operations_for_one
from tests.covering import interpreted_is_enough
from tests.operators.index import scripts
from tests.operators.index.locked_index import LOCKED_TREE, MERGING_ROW

INDEXES = {"tree": operations_for_one(LOCKED_TREE), "row": operations_for_one(MERGING_ROW)}


@interpreted_is_enough
@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("window", [1, 2, 50])
def test_for_one_thread_they_answer_as_a_sorted_list_does(name: str, window: int):
    operations = INDEXES[name]
    keys = np.random.default_rng(4).integers(0, 40, 3 * window + 20)
    script = scripts.sliding(keys, window, 2, np.iinfo(np.int32))
    state = operations.make_state(window)
    assert scripts.run(operations, state, script, window) == scripts.wanted(script)
    operations.check_invariants(state)
    state = operations.make_state(window)
    assert scripts.step_by_step(operations, state, script, window) == scripts.wanted(script)


def test_what_an_index_lacks_is_found():
    operations = INDEXES["tree"]
    state = operations.make_state(8)
    for position in range(3):
        operations.insert(state, 5, position)
    LOCKED_TREE.remove(state.mine, 5, 1)
    with pytest.raises(AssertionError, match="the index holds 2 entries, and 3 are asked for"):
        operations.check_invariants(state)
