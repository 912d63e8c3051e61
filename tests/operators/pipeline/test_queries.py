"""The five queries: their functions agree with a batch computation over whole tables.

The bench's tests show that a serial kernel and workers agree with the functions
(`tests/experiments/families/pipeline/test_pipeline_bench.py`).
"""

from __future__ import annotations

import numpy as np
import pytest

from operators.contract import UsageError
from operators.core.jit import INTERPRETED
from operators.pipeline.queries import q1, q2, q3, q4, q15
from operators.pipeline.queries.sessions import MISSING
from operators.pipeline.reference import run_serially
from tests.operators.pipeline import batch

ROWS = 300 if INTERPRETED else 3_000
ITEMS, USERS, PAGES, STORES = 40, 12, 9, 50
YEAR_S = 365 * q15.DAY_S


def sales(seed: int, days: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return lines of tickets in the order of time, and the items' categories."""
    random = np.random.default_rng(seed)
    tickets = np.sort(random.integers(1, ROWS // 6, ROWS))
    moments = np.sort(random.integers(0, days * q15.DAY_S, ROWS // 6))
    stores = np.where(random.random(ROWS // 6) < 0.5, 10, random.integers(1, STORES + 1, ROWS // 6))
    lines = [moments[tickets], tickets, random.integers(1, ITEMS + 1, ROWS), stores[tickets],
             random.integers(50, 20_000, ROWS)]  # fmt: skip
    return np.stack(lines, axis=1), np.append(0, random.integers(1, 6, ITEMS))


def clicks(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return clicks in the order of time, the items' categories and the pages' kinds."""
    random = np.random.default_rng(seed)
    # Short and long pauses, and many clicks in one second.
    pauses = random.choice([0, 1, 60, 900, 50_000], ROWS, p=[0.3, 0.3, 0.2, 0.15, 0.05])

    def some(most: int, share: float) -> np.ndarray:
        return np.where(random.random(ROWS) < share, random.integers(1, most + 1, ROWS), MISSING)

    lines = [np.cumsum(pauses), some(USERS, 0.8), some(ITEMS, 0.9), some(PAGES, 0.97),
             some(1 << 20, 0.2)]  # fmt: skip
    categories = np.append(0, random.integers(1, 6, ITEMS))
    return np.stack(lines, axis=1), categories, np.append(0, random.integers(0, 3, PAGES))


def case(query: str, seed: int):
    """Return a query over random data: the pipeline, the records, and the expected outputs."""
    if query == "q1":
        lines, categories = sales(seed, days=1)
        pipeline = q1.make(categories, ROWS, 4096)
        return pipeline, lines, batch.query_1(lines, categories)
    if query == "q15":
        lines, categories = sales(seed)
        asked = (10, 20 * q15.DAY_S, 20 * q15.DAY_S + YEAR_S - 1)
        return q15.make(categories, *asked), lines, batch.query_15(lines, categories, *asked)
    records, categories, kinds = clicks(seed)
    if query == "q2":
        return q2.make(USERS + 1, 4096), records, batch.query_2(records)
    if query == "q3":
        pipeline = q3.make(categories, USERS + 1, q3.most_of(records, categories))
        return pipeline, records, batch.query_3(records, categories)
    return q4.make(kinds, USERS + 1), records, batch.query_4(records, kinds)


QUERIES = ("q1", "q2", "q3", "q4", "q15")


@pytest.mark.parametrize("query", QUERIES)
def test_the_functions_one_record_at_a_time_give_what_a_batch_gives(query):
    for seed in (1, 2):
        pipeline, records, wanted = case(query, seed)
        pipeline.check()
        assert wanted, "a query without an answer shows nothing"
        assert run_serially(pipeline, records) == wanted


@pytest.mark.parametrize("query", QUERIES)
def test_every_stage_of_every_query_puts_something_out(query):
    pipeline, records, _ = case(query, 5)
    for place in range(1, len(pipeline.operators) + 1):
        shorter = pipeline._replace(operators=pipeline.operators[:place])
        assert run_serially(shorter, records), pipeline.operators[place - 1].name


def test_query_3_has_room_for_as_many_views_as_it_is_told_and_no_more():
    records, categories, _ = clicks(5)
    most = q3.most_of(records, categories)
    assert len(most) == len(categories)
    assert 1 < most.max() <= np.count_nonzero(categories <= q3.LAST_CATEGORY)
    few = q3.make(categories, USERS + 1, np.ones_like(most))
    with pytest.raises(UsageError, match="operator 'top 30': its state has no room for a record"):
        run_serially(few, records)


def test_query_3_gives_an_item_room_for_the_views_before_its_own_purchases():
    # Of a hundred items, all in a category that counts, one was bought once and one very often.
    categories = np.ones(100, dtype=np.int64)
    records = np.full((1 + 500, 5), MISSING, dtype=np.int64)
    records[:, [q2.USER, q2.SALE]] = 1
    records[:, q2.ITEM] = [7] + 500 * [8]
    most = q3.most_of(records, categories)
    assert most[[6, 7, 8]].tolist() == [1, q3.LAST, 100]
    starts = q3.make(categories, 2, most).operators[2].row_starts
    # Slots for twice as many entries, rounded up to a power of two, two words each; and their
    # count.
    assert (starts[7] - starts[6], starts[8] - starts[7], starts[9] - starts[8]) == (5, 33, 513)


def test_query_3_has_a_state_of_its_purchases_and_not_of_items_times_the_worst_item():
    # Scale factor 1: 6.8 million clicks, a fifth by buyers; some items are bought very often.
    items, purchases = 18_000, 6_800_000 // 5
    share = 1 / np.arange(1, items + 1)
    times = np.append(0, np.ceil(share / share.sum() * purchases).astype(np.int64))
    categories = np.append(0, np.arange(items) % 10 + 1)
    most = np.clip(q3.LAST * times, 1, np.count_nonzero(np.isin(categories, (1, 2, 3))))
    pipeline = q3.make(categories, 100_000, most)
    pipeline.check()
    # An entry has two words, and there are fewer than four slots for each.
    starts = pipeline.operators[2].row_starts
    assert starts[-1] <= 2 * 4 * q3.LAST * times.sum()
    assert items * np.diff(starts).max() > 20 * starts[-1]


def test_the_most_viewed_items_are_thirty_by_count_and_then_by_item():
    chance = np.random.default_rng(5)
    for entries in (0, 1, 2, q3.TOP - 1, q3.TOP, q3.TOP + 1, 200):
        items = chance.permutation(10 * entries)[:entries]
        # Few counts: most places are decided by the item.
        counts = chance.integers(1, 4, entries)
        best_first = np.lexsort((items, -counts))
        wanted = [[7, items[at], counts[at]] for at in best_first[: q3.TOP]]
        for order in (np.arange(entries), best_first, best_first[::-1]):
            state = np.zeros(1 + 2 * entries, dtype=np.int64)
            state[0] = entries
            state[1::2], state[2::2] = items[order], counts[order]
            out = np.zeros(3 * q3.TOP, dtype=np.int64)
            found = q3.most_viewed(7, state, out)
            assert out[: 3 * found].reshape(-1, 3).tolist() == wanted
            assert not out[3 * found :].any()
