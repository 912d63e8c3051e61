"""The generator of covers: every pair that can occur does, and in few cases."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.check.pairwise import cover, pairs_of


def occurring(cases, names):
    return {pair for case in cases for pair in pairs_of(case, names)}


def product_of(dimensions, allowed=lambda case: True):
    cases = (dict(zip(dimensions, row, strict=True)) for row in product(*dimensions.values()))
    return [case for case in cases if allowed(case)]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), st.integers(0, 100))
def test_every_pair_occurs(sizes, seed):
    dimensions = {f"d{at}": list(range(size)) for at, size in enumerate(sizes)}
    cases = cover(dimensions, seed=seed)
    assert occurring(cases, list(dimensions)) == occurring(product_of(dimensions), list(dimensions))
    widest, next_widest = sorted(sizes)[-1], sorted(sizes)[-2]
    assert widest * next_widest <= len(cases) <= len(product_of(dimensions))


def none_of_three(case):
    # No two values exclude each other: a pair is excluded only together with a third value.
    return not (case.get("a") == case.get("b") == case.get("c") == 0)


def no_small_sum(case):
    return len(case) < 3 or sum(case.values()) > 3


@pytest.mark.parametrize("allowed", [none_of_three, no_small_sum])
def test_no_case_is_one_that_is_not_allowed_and_no_possible_pair_is_left_out(allowed):
    dimensions = {name: [0, 1, 2] for name in "abc"}
    cases = cover(dimensions, allowed)
    assert all(allowed(case) for case in cases)
    whole = product_of(dimensions, allowed)
    assert occurring(cases, "abc") == occurring(whole, "abc")


def test_a_cover_is_small_and_a_seed_means_one():
    dimensions = {f"d{at}": list("abcd") for at in range(6)}
    cases = cover(dimensions, seed=3)
    assert len(cases) < 40 and len(product_of(dimensions)) == 4096
    assert cases == cover(dimensions, seed=3)
    assert cases != cover(dimensions, seed=4)
