"""The requirements on every theta join: the one suite, over the registry.

Properties of single theta joins are tested in `tests/operators/theta_join`, next to the helpers
that run them.
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import Variant
from operators.registry import variants
from operators.theta_join.family import R
from tests.contract.suite import Suite
from tests.operators.theta_join.cases import (
    EXTENTS,
    SHAPES,
    agree,
    is_chain,
    join_of,
    streams_of,
    takes,
)

SUITE = Suite("theta_join")


def takes_one_stream_of_each(variant: Variant) -> str | None:
    return "joins one physical stream of R with one of S" if is_chain(variant) else None


@SUITE.case()
def pairs_are_those_of_the_oracle(variant: Variant):
    for shape in SHAPES:
        for seed, (name, extent) in enumerate(EXTENTS.items()):
            if takes(variant, extent):
                streams = streams_of(shape, 1, 1, 60, seed)
                threads = (1, 2, 3, 5, 8)[seed % 5]
                answer = agree(join_of(variant, streams, extent, threads=threads), seed)
                assert name == "one-tick" or shape not in ("random", "tied") or answer.pairs


@SUITE.case(takes_one_stream_of_each)
def streams_may_be_many(variant: Variant):
    for seed in range(6):
        for shape in ("random", "tied", "skewed", "drained"):
            counts = 1 + seed % 4, 1 + (seed * 7 + 2) % 4
            streams = streams_of(shape, *counts, 40, seed)
            extent = list(EXTENTS.values())[seed]
            agree(join_of(variant, streams, extent, r_streams=counts[R], threads=1 + seed), seed)


@SUITE.case()
def what_comes_out_is_the_same_for_every_number_of_threads(variant: Variant):
    streams = streams_of("tied", 1, 1, 70, 3)
    found = []
    for threads in range(1, 9):
        join = join_of(variant, streams, EXTENTS["time-opposite"], threads=threads)
        answer = agree(join, threads)
        rows = np.column_stack([np.array(answer.pairs), answer.records])
        found.append(rows if variant.operations.ordered else rows[np.lexsort(rows.T)])
    assert len(found[0]) > 100
    assert all((each == found[0]).all() for each in found)


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(variants("theta_join")))
def test_contract(variant, case):
    case.body(variant)


def test_every_variant_has_a_case():
    assert SUITE.left_out(variants("theta_join")) == {}
