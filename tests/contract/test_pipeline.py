"""The requirements on every scheduler: the one suite, over the registry.

`tests/operators/pipeline/test_runtime.py` runs pipelines, and checks that the output under each
scheduler equals a serial run's.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import Variant
from operators.pipeline.board import (
    COST,
    IN_WINDOW,
    NOBODY,
    ONE,
    SCHEDULABLE,
    SELECTIVITY,
    WAITING,
    WORKERS,
    make_board,
    note,
)
from operators.registry import variants
from tests.contract.suite import Suite

SUITE = Suite("pipeline")
WORDS = st.fixed_dictionaries(
    {
        SCHEDULABLE: st.integers(0, 1),
        WAITING: st.integers(0, 1 << 40),
        WORKERS: st.integers(0, 64),
        COST: st.integers(1, 1 << 40),
        SELECTIVITY: st.integers(0, 1000 * ONE),
        IN_WINDOW: st.integers(0, 1 << 40),
    }
)


@SUITE.case()
def a_worker_is_sent_where_something_can_be_done_if_there_is_such_a_place(variant: Variant):
    @given(st.lists(WORDS, min_size=1, max_size=8), st.integers(1, 1 << 20))
    def agree(operators, capacity):
        board = make_board(len(operators), slice_ns=1_000, window_ns=10_000, capacity=capacity)
        for place, words in enumerate(operators):
            for word, value in words.items():
                note(board, place, word, value)
        before = board.words.copy()
        place = variant.operations.choose(board)
        free = {at for at, words in enumerate(operators) if words[SCHEDULABLE]}
        assert place in free if free else place == NOBODY
        # Choosing changes nothing, and is repeatable.
        assert (board.words == before).all()
        assert variant.operations.choose(board) == place

    agree()


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(variants("pipeline")))
def test_contract(variant, case):
    case.body(variant)


def test_every_variant_has_a_case():
    assert SUITE.left_out(variants("pipeline")) == {}
