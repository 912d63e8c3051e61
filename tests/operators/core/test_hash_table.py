"""The hash table: against a dictionary, through crowded probes, and through many generations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.contract import UsageError
from operators.core import hash_table, marks
from operators.core.hash_table import (
    GENERATION,
    KEY_LIMIT,
    LAST_GENERATION,
    NO_ENTRY,
    check_invariants,
    find,
    find_or_insert,
    key_at,
    make_tables,
    member_count,
    member_place,
    reset,
)
from operators.core.jit import kernel
from operators.core.layout import LINE_BYTES
from operators.core.reference import Table
from tests.operators.core.running import ROUNDS, forms, run_threads

RESET = -1
MARKS = {"probed on", "full", "generations begin again"}


@kernel
def apply(tables, script, answers):
    """Count the key of each row (table, key) of `script`, or reset the table where it is RESET."""
    for row in range(len(script)):
        table, key = script[row, 0], script[row, 1]
        if key == RESET:
            reset(tables, table)
            answers[row] = 0
            continue
        place = find_or_insert(tables, table, key)
        if place == NO_ENTRY:
            answers[row] = NO_ENTRY
            continue
        tables.entries[place + 1] += 1
        answers[row] = tables.entries[place + 1]


@kernel
def fill_and_reset(tables, table, rounds):
    """Fill `table` again and again with other keys; return how many counts came out wrong."""
    wrong = 0
    for turn in range(rounds):
        for key in range(8):
            tables.entries[find_or_insert(tables, table, key + turn) + 1] += key
        for key in range(8):
            wrong += tables.entries[find(tables, table, key + turn) + 1] != key
        wrong += find(tables, table, turn - 1 + KEY_LIMIT // 2) != NO_ENTRY
        reset(tables, table)
    return wrong


def keys_of(tables, table):
    """Return the keys of `table` in the order of insertion."""
    count = int(member_count(tables, table))
    return [int(key_at(tables, member_place(tables, table, member))) for member in range(count)]


def test_smoke_a_key_keeps_its_payload_until_the_reset():
    tables = make_tables(2, 4, 2)
    place = find_or_insert(tables, 1, 7)
    tables.entries[place + 1 : place + 3] = 5, 6
    assert find_or_insert(tables, 1, 7) == find(tables, 1, 7) == place
    assert find(tables, 0, 7) == find(tables, 1, 8) == NO_ENTRY
    assert keys_of(tables, 1) == [7]
    reset(tables, 1)
    assert find(tables, 1, 7) == NO_ENTRY
    assert keys_of(tables, 1) == []
    place = find_or_insert(tables, 1, 7)
    assert tables.entries[place + 1 : place + 3].tolist() == [0, 0]
    check_invariants(tables)


@pytest.mark.parametrize("capacity", [1, 2, 3, 4, 5, 100])
def test_capacity_is_exact_and_known_keys_are_found_in_a_full_table(capacity):
    tables = make_tables(1, capacity)
    assert tables.size >= 2 * capacity
    places = [find_or_insert(tables, 0, key * 1000) for key in range(capacity)]
    assert find_or_insert(tables, 0, 1) == find(tables, 0, 1) == NO_ENTRY
    assert [find_or_insert(tables, 0, key * 1000) for key in range(capacity)] == places
    check_invariants(tables)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((0, 1, 1), "received 0"),
        ((1, 0, 1), "received 0"),
        ((1, (1 << 28) + 1, 1), "1 to 268435456 keys"),
        ((1, 1, 0), "1 to 7 words, received 0"),
        ((1, 1, 8), "1 to 7 words, received 8"),
    ],
)
def test_boundaries_of_the_parameters(wrong, message):
    with pytest.raises(UsageError, match=message):
        make_tables(*wrong)


@pytest.mark.parametrize(("payload_words", "entry_words"), [(1, 2), (2, 4), (3, 4), (4, 8), (7, 8)])
def test_boundaries_no_entry_straddles_a_cache_line(payload_words, entry_words):
    tables = make_tables(2, 3, payload_words)
    assert tables.entry_words == entry_words
    assert tables.entries.ctypes.data % LINE_BYTES == 0
    assert LINE_BYTES % (8 * entry_words) == 0


def test_boundaries_the_smallest_and_the_largest_key():
    tables = make_tables(1, 4)
    for key in (KEY_LIMIT - 1, 0):
        find_or_insert(tables, 0, key)
    assert keys_of(tables, 0) == [KEY_LIMIT - 1, 0]
    check_invariants(tables)


def test_boundaries_nothing_of_an_old_generation_survives_the_last_one():
    for form in forms(apply):
        tables = make_tables(2, 4)
        tables.heads[GENERATION] = (LAST_GENERATION - 2) * KEY_LIMIT
        script = [(0, 1), (0, 2), (1, 1), (0, RESET)] * 4
        answers = np.zeros(len(script), np.int64)
        form(tables, np.array(script), answers)
        assert answers.tolist() == [1, 1, 1, 0, 1, 1, 2, 0, 1, 1, 3, 0, 1, 1, 4, 0]
        assert tables.heads[GENERATION] == 3 * KEY_LIMIT
        check_invariants(tables)


def test_boundaries_keys_that_share_a_home_are_probed_for(monkeypatch):
    monkeypatch.setattr(hash_table, "mix64", lambda key: -1)
    tables = make_tables(1, 5)
    for key in (3, 1, 4, 15, 9):
        find_or_insert(tables, 0, key)
    assert keys_of(tables, 0) == [3, 1, 4, 15, 9]
    assert find_or_insert(tables, 0, 2) == NO_ENTRY
    check_invariants(tables)


@given(
    capacity=st.integers(1, 6),
    script=st.lists(
        st.tuples(st.integers(0, 1), st.integers(RESET, 7) | st.integers(0, KEY_LIMIT - 1)),
        min_size=1,
        max_size=80,
    ),
)
def test_oracle_counts_like_a_dictionary_in_both_forms(capacity, script):
    oracles = [Table(capacity), Table(capacity)]
    expected = []
    for table, key in script:
        if key == RESET:
            oracles[table].reset()
            expected.append(0)
        else:
            counted = oracles[table].count(key)
            expected.append(NO_ENTRY if counted is None else counted)
    for form in forms(apply):
        tables = make_tables(2, capacity, 3)
        answers = np.zeros(len(script), np.int64)
        form(tables, np.array(script, np.int64), answers)
        assert answers.tolist() == expected
        for table, oracle in enumerate(oracles):
            assert keys_of(tables, table) == list(oracle.counts)
        check_invariants(tables)


def test_marks_each_rare_branch_is_met(monkeypatch):
    marks.hits.clear()
    monkeypatch.setattr(hash_table, "mix64", lambda key: 0)
    tables = make_tables(1, 2)
    for key in range(3):
        find_or_insert(tables, 0, key)
    tables.heads[GENERATION] = (LAST_GENERATION - 1) * KEY_LIMIT
    reset(tables, 0)
    assert {"hash_table: " + name for name in MARKS} == set(marks.hits)


def test_threads_each_with_a_table_of_its_own_do_not_meet():
    tables = make_tables(3, 8)
    wrong = []
    run_threads(
        *(lambda t=table: wrong.append(fill_and_reset(tables, t, ROUNDS // 10)) for table in (0, 2))
    )
    assert wrong == [0, 0]
    assert find(tables, 1, 0) == NO_ENTRY
    check_invariants(tables)
