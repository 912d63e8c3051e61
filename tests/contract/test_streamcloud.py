"""The requirements on every strategy: the one suite, over the registry.

A plan with transparent mergers outputs the bytes of one instance, in total order, whatever the
streams, the number of instances of a stage, and the carrier of rows. A plan with best-effort
mergers may lose rows, and invents none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from random import Random

import pytest

from operators.contract import Variant
from operators.registry import variants
from operators.streamcloud import reference
from operators.streamcloud.algebra import Query
from operators.streamcloud.plan import BEST_EFFORT, TRANSPARENT, check_invariants
from tests.contract.suite import Suite
from tests.operators.streamcloud.carrying import carried, on_one_thread, on_threads
from tests.operators.streamcloud.test_carriers import query_named

SUITE = Suite("streamcloud")
TUPLES = 30
# Windows are of 60: some tuples of a stream share one.
APART = 8
NUMBERS = 4


def _times(random: Random) -> list[int]:
    return sorted(APART * random.randrange(TUPLES) for _ in range(TUPLES))


def _rows(random: Random, times: Iterable[int], numbers: Sequence[int], columns: int) -> list:
    """Return rows of a time, a number, and `columns` more columns."""
    more = (tuple(random.randrange(400) for _ in range(columns)) for _ in count())
    return [(ts, random.choice(numbers), *next(more)) for ts in times]


def _random(random: Random, columns: int) -> list[tuple]:
    return _rows(random, _times(random), range(NUMBERS), columns)


def _tied(random: Random, columns: int) -> list[tuple]:
    return _rows(random, [ts // 64 * 64 for ts in _times(random)], range(NUMBERS), columns)


def _skewed(random: Random, columns: int) -> list[tuple]:
    return _rows(random, _times(random), [2], columns)


def _idle(random: Random, columns: int) -> list[tuple]:
    return _rows(random, [0, 2 * APART * TUPLES], [2], columns)


def _empty(random: Random, columns: int) -> list[tuple]:
    return []


# The shapes of the physical streams of calls and of suspects.
SHAPES = {
    "random": ((_random, _random), (_random,)),
    "tied": ((_tied,), (_tied, _tied)),
    "skewed": ((_skewed,), (_skewed,)),
    "idle": ((_random, _idle), (_idle,)),
    "empty": ((_empty, _random), (_empty,)),
    "nothing": ((_empty,), (_empty,)),
}
# The number of columns of each in addition to a time and a number.
COLUMNS = {"calls": 2, "suspects": 0}


def streams_like(shape: str) -> dict[str, list[list[tuple]]]:
    random = Random(shape)
    return {
        name: [make(random, columns) for make in makers]
        for (name, columns), makers in zip(COLUMNS.items(), SHAPES[shape], strict=True)
    }


def _agree(variant: Variant, instances: int, shapes, carriers) -> None:
    query = query_named("figure-1")
    for shape in shapes:
        streams = streams_like(shape)
        senders = {name: len(found) for name, found in streams.items()}
        plan = variant.operations.compile(query, instances, TRANSPARENT, senders)
        check_invariants(plan)
        expected = reference.run(query, streams)
        assert any(expected.values()) != (shape in ("empty", "nothing")), shape
        for carrier in carriers:
            assert carried(plan, streams, carrier) == expected, (shape, instances)


@SUITE.case()
def one_instance_of_each_stage_puts_out_what_the_query_means(variant: Variant):
    _agree(variant, 1, SHAPES, [on_one_thread()])


@SUITE.case()
def several_instances_put_out_the_bytes_of_one(variant: Variant):
    _agree(variant, 3, SHAPES, [on_one_thread(seed=3)])
    _agree(variant, 2, SHAPES, [on_threads(capacity=1)])


@SUITE.case()
def sixteen_instances_put_out_the_bytes_of_one(variant: Variant):
    _agree(variant, 16, ["random", "idle"], [on_one_thread(seed=16)])


@SUITE.case(full=True)
def every_number_of_instances_puts_out_the_bytes_of_one(variant: Variant):
    for instances in range(1, 17):
        carriers = [on_one_thread(seed=instances), on_threads(capacity=2)]
        _agree(variant, instances, SHAPES, carriers)


@SUITE.case()
def best_effort_makes_no_row_up(variant: Variant):
    """Each output pair is one that a single instance finds, and occurs no more often."""
    whole = query_named("figure-1")
    (join,) = (node for node in whole.operators if node.kind == "join")
    query = Query("known", join)
    streams = streams_like("random")
    expected = Counter(reference.run(query, streams)["known"])
    assert expected
    senders = {name: len(found) for name, found in streams.items()}
    lost = 0
    for seed in range(6):
        plan = variant.operations.compile(query, 1 + seed % 3, BEST_EFFORT, senders)
        found = Counter(carried(plan, streams, on_one_thread(seed))["known"])
        assert found <= expected, seed
        lost += (expected - found).total()
    # Some order of arrival must lose a pair, or the test shows nothing.
    assert lost


@pytest.mark.parametrize(("variant", "case"), SUITE.parameters(variants("streamcloud")))
def test_contract(variant, case):
    case.body(variant)


def test_every_variant_has_a_case():
    assert SUITE.left_out(variants("streamcloud")) == {}
