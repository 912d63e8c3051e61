"""The checker itself: litmus programs show exactly the outcomes of their tables, and no others.

The tables are also compared with the `eager` model, and so are random programs, for cases that
nobody has thought of.
"""

from __future__ import annotations

import random

import pytest

from operators.check.explore import UNBOUNDED, Explorer, outcomes
from operators.check.scenario import Call, Failure
from operators.core.atomics import ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST
from tests.interleaving import litmus
from tests.interleaving.axioms import rc11_outcomes
from tests.interleaving.eager import UPDATES, eager_outcomes
from tests.interleaving.litmus import (
    EVERY_MEMORY,
    MEMORIES,
    RACE,
    WORDS,
    Litmus,
    Programs,
    scenario_of,
)
from tests.interleaving.litmus_order import ORDER, STORE_BUFFERING
from tests.interleaving.litmus_races import RACES
from tests.interleaving.litmus_word import WORD

TABLES = (*ORDER, *WORD, *RACES)
# Programs that use only calls of the eager model.
KNOWN = {"load", "store", "fence", *UPDATES}
STRAIGHT = [case for case in TABLES if {call.name for p in case.programs for call in p} <= KNOWN]
RANDOM_PROGRAMS = 150


def named(case: Litmus) -> str:
    return case.name


def explored(case: Litmus, memory: str, *, reduce: bool, stale: int = UNBOUNDED) -> set[str]:
    """Return every outcome that some schedule of a program has."""
    seen: set[str] = set()
    explorer = Explorer(case.scenario(seen), memory, [litmus])
    try:
        for _ in explorer.every_schedule(UNBOUNDED, reduce=reduce, stale=stale):
            pass
    except Failure as failure:
        if failure.check != "data race":
            raise
        return {RACE}
    return seen


@pytest.mark.parametrize("memory", EVERY_MEMORY)
@pytest.mark.parametrize("case", TABLES, ids=named)
def test_program_has_exactly_the_outcomes_of_its_table(case, memory):
    assert explored(case, memory, reduce=False) == case.table(memory)
    assert explored(case, memory, reduce=True) == case.table(memory)


def table_of(case: Litmus, runs: set[tuple[int, ...]]) -> set[str]:
    """Return the table of a program of which another model knows all runs."""
    found = set()
    for run in runs:
        told, last = run[: -len(WORDS)], dict(zip(WORDS, run[-len(WORDS) :], strict=True))
        parts = [told, [last[word] for word in case.final]]
        found.add("|".join("".join(map(str, part)) for part in parts[: 1 + bool(case.final)]))
    return found


@pytest.mark.parametrize("memory", MEMORIES)
def test_tables_are_those_of_the_eager_model(memory):
    assert len(STRAIGHT) > 60
    for case in STRAIGHT:
        runs = eager_outcomes(case.programs, WORDS, memory)
        assert table_of(case, runs) == case.table(memory), case.name


def test_tables_are_those_of_the_axioms():
    for case in STRAIGHT:
        runs = rc11_outcomes(case.programs, WORDS)
        assert table_of(case, runs) == case.table("rc11"), case.name


def test_tables_tell_each_outcome_once():
    for case in TABLES:
        told = " ".join((case.sc, case.tso, case.pso, case.c11, case.never)).split()
        assert len(told) == len(set(told)), case.name
        # Tables after a race would never be used.
        assert RACE not in told[:-1], case.name


def test_tables_have_names_of_their_own():
    assert len({case.name for case in TABLES}) == len(TABLES)


@pytest.mark.parametrize("memory", MEMORIES)
def test_answers_alone_are_those_of_the_table(memory):
    for case in STORE_BUFFERING:
        found = outcomes(scenario_of(case.programs), memory, modules=[litmus])
        told = {tuple(map(int, told.split("|")[0])) for told in case.table(memory)}
        assert found == told, case.name


@pytest.mark.parametrize("memory", ["tso", "pso", "rc11"])
def test_without_stale_loads_every_memory_is_sequentially_consistent(memory):
    for case in ORDER:
        assert explored(case, memory, reduce=True, stale=0) == case.table("sc"), case.name


def random_program(dice: random.Random) -> Programs:
    """Return two or three threads of atomics with all their orders on one to three words."""
    words = WORDS[: dice.randint(1, 3)]
    sizes = dice.choice([(2, 1), (2, 2), (3, 2), (3, 3), (4, 2), (1, 1, 2), (1, 2, 2)])
    values = iter(range(1, 100))

    def call() -> Call:
        word, value = dice.choice(words), next(values)
        any_order = dice.choice([RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST])
        return dice.choices(
            [
                Call("load", (word, dice.choice([RELAXED, ACQUIRE, SEQ_CST]))),
                Call("store", (word, value, dice.choice([RELAXED, RELAXED, RELEASE, SEQ_CST]))),
                Call("fence", (any_order or SEQ_CST,)),
                Call("cas", (word, dice.choice([0, value - 1]), value, any_order)),
                Call("fetch_add", (word, 100, any_order)),
                Call("exchange", (word, value, any_order)),
            ],
            [5, 6, 2, 1, 1, 1],
        )[0]

    return tuple(tuple(call() for _ in range(size)) for size in sizes)


@pytest.mark.parametrize("memory", MEMORIES)
def test_random_programs_end_as_in_the_eager_model(memory):
    dice = random.Random(2024)
    for _ in range(RANDOM_PROGRAMS):
        programs = random_program(dice)
        found, _ = litmus.explored(programs, UNBOUNDED, reduce=True, memory=memory, stale=UNBOUNDED)
        assert found == eager_outcomes(programs, WORDS, memory), programs
