"""Optimistic locks: versions by hand, and pairs of words on real threads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from operators.check.explore import Explorer
from operators.check.scenario import Call, Failure, Scenario
from operators.check.trace import trace_of
from operators.contract import UsageError
from operators.core import optimistic
from operators.core.atomics import RELEASE, store
from operators.core.jit import kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.core.optimistic import (
    LOCKED,
    OBSOLETE,
    RESTART,
    acquire,
    check,
    make_optimistic_locks,
    racy,
    read_begin,
    read_when_open,
    release,
    release_unchanged,
    reopen,
    retire,
    upgrade,
)
from operators.core.vectors import RANKED, insert_in_32, peek, poke, rank_in_32, remove_from_32
from tests.operators.core.running import ROUNDS, forms, run_threads


def test_a_section_is_right_until_something_changes():
    locks = make_optimistic_locks(2)
    version = read_begin(locks, 1)
    assert version == read_when_open(locks, 1) and check(locks, 1, version)
    assert upgrade(locks, 1, version)
    assert read_begin(locks, 1) == RESTART and not check(locks, 1, version)
    assert not upgrade(locks, 1, version), "somebody has it"
    release(locks, 1)
    assert not check(locks, 1, version) and not upgrade(locks, 1, version)
    assert read_begin(locks, 1) > version
    assert read_begin(locks, 0) == version, "another lock"
    optimistic.check_invariants(locks)


def test_a_lock_given_back_unchanged_lets_sections_go_on():
    locks = make_optimistic_locks(1)
    version = read_begin(locks, 0)
    assert acquire(locks, 0)
    release_unchanged(locks, 0)
    assert check(locks, 0, version)


def test_what_is_obsolete_is_nobodys_and_no_version_comes_again():
    locks = make_optimistic_locks(1)
    seen = set()
    for _ in range(3):
        version = read_begin(locks, 0)
        assert version not in seen
        seen.add(version)
        assert acquire(locks, 0)
        retire(locks, 0)
        assert read_begin(locks, 0) == read_when_open(locks, 0) == RESTART
        assert not check(locks, 0, version) and not acquire(locks, 0)
        reopen(locks, 0)
        assert not check(locks, 0, version) and not upgrade(locks, 0, version)


def test_locks_share_no_line_and_what_is_retired_is_reopened():
    locks = make_optimistic_locks(3)
    for lock in range(3):
        assert acquire(locks, lock)
        retire(locks, lock)
    assert locks.ctypes.data % (8 * LINE_WORDS) == 0
    assert [int(word) for word in locks[::LINE_WORDS]] == [OBSOLETE] * 3
    reopen(locks, 1)
    assert read_begin(locks, 1) not in (RESTART, 0)


def test_boundaries_and_a_lock_held_at_rest():
    with pytest.raises(UsageError, match="at least 1, received 0"):
        make_optimistic_locks(0)
    locks = make_optimistic_locks(2)
    locks[LINE_WORDS] |= LOCKED
    with pytest.raises(AssertionError, match="somebody has lock 1 at rest"):
        optimistic.check_invariants(locks)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_racy_arrays_are_those_they_were_made_of(kind):
    plain = np.arange(RANKED, dtype=kind)
    same = racy(plain)
    for form in forms(change):
        assert form(same) == form(plain.copy()), form
    assert plain[3] == same[3] == -1
    assert type(same[2:5]) is type(same)


@kernel
def change(node):
    """Use each way of accessing nodes."""
    insert_in_32(node, 0, 5, 4)
    remove_from_32(node, 0, 9, 100)
    poke(node, 3, -1)
    node[30] = 77
    return rank_in_32(node, 0, 10) * 1000 + peek(node, 30) + node[31]


# --- threads --------------------------------------------------------------------------------------


@kernel
def write_pairs(locks, words, rounds):
    """Change all words by one under the lock, alternating between the two ways of taking it."""
    for number in range(rounds):
        if number % 2 == 0:
            acquire(locks, 0)
        else:
            while True:
                version = read_when_open(locks, 0)
                if upgrade(locks, 0, version):
                    break
        for at in range(len(words)):
            poke(words, at, peek(words, at) + 1)
        release(locks, 0)


@kernel
def read_pairs(locks, words, rounds):
    """Count the critical sections that passed the version check although they saw two states."""
    torn = 0
    for _ in range(rounds):
        while True:
            version = read_when_open(locks, 0)
            first = peek(words, 0)
            alike = 0
            for at in range(len(words)):
                alike += peek(words, at) == first
            if check(locks, 0, version):
                break
        torn += alike != len(words)
    return torn


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_real_threads_lose_no_change_and_see_no_half_of_one(kind):
    locks, words = make_optimistic_locks(1), racy(np.zeros(40, dtype=kind))
    read_pairs(locks, words, 1)
    write_pairs(locks, words, 1)
    torn = []
    run_threads(
        lambda: write_pairs(locks, words, ROUNDS),
        lambda: write_pairs(locks, words, ROUNDS),
        lambda: torn.append(read_pairs(locks, words, ROUNDS)),
        lambda: torn.append(read_pairs(locks, words, ROUNDS)),
    )
    assert torn == [0, 0]
    assert words.tolist() == [2 * ROUNDS + 1] * 40


# --- on the proving ground ------------------------------------------------------------------------


class Looked(NamedTuple):
    words: np.ndarray
    flag: np.ndarray


def explorer(array: np.ndarray, reads: Callable, memory: str) -> Explorer:
    """Return an explorer of one thread that changes word 3, and one that reads."""

    def perform(state: Looked, call: Call) -> int:
        if call.name == "read":
            return int(reads(state.words))
        poke(state.words, 3, 1)
        store(state.flag, 0, 1, RELEASE)
        return 0

    scenario = Scenario(
        "looks",
        lambda: Looked(array, aligned_words(LINE_WORDS)),
        ((Call("read"),), (Call("write"),)),
        perform,
        finish=lambda state, history: None,
    )
    return Explorer(scenario, memory, [sys.modules[__name__]])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("memory", ["sc", "tso", "pso"])
@pytest.mark.parametrize("reads", [lambda w: peek(w, 3), lambda w: rank_in_32(w, 0, 1)])
def test_looks_at_racy_words_are_steps_and_those_at_others_are_races(kind, memory, reads):
    looks = explorer(racy(np.zeros(RANKED, kind)), reads, memory)
    answers = {
        each.answer
        for machine in looks.every_schedule(2)
        for each in machine.history
        if each.name == "read"
    }
    assert len(answers) == 2, "both orders are tried"
    with pytest.raises(Failure, match="not ordered"):
        for _ in explorer(np.zeros(RANKED, kind), reads, memory).every_schedule(2):
            pass


def test_a_trace_shows_looks_and_changes():
    looks = explorer(racy(np.zeros(RANKED, np.int32)), lambda words: peek(words, 3), "sc")
    for machine in looks.every_schedule(0):
        schedule = looks.string()
        assert machine.steps == 3
        break
    lines, failure = trace_of(looks, schedule)
    assert failure is None
    assert ["looks" in line or "changes" in line for line in lines].count(True) == 2, lines
