"""The reader of a gate: it checks the order, folds the tuples, and records latencies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from experiments.families.gate.loops import (
    SAMPLED_EACH,
    delivery_word,
    is_sampled,
    make_reader_loop,
)
from operators.contract import END, NOT_READY, READY, ROWS_FULL
from operators.core import histogram
from operators.core.atomics import now
from operators.core.integers import fold
from operators.core.jit import inlined
from operators.core.layout import aligned_words
from operators.running import control, run_threads
from operators.running.control import DIGEST, DISORDER, GO, PROGRESS, STATE, STOP
from operators.running.run_threads import Counts, Role, RunFailed
from operators.running.schedule import CLOSED_LOOP, every

IN_ORDER = [(1, 0, 7, 70), (1, 1, 8, 80), (3, 0, 9, 90)]


class Written(NamedTuple):
    """A gate's prepared output: four words a tuple, the tuples given so far, the final status."""

    rows: np.ndarray
    words: np.ndarray  # given, then


@inlined
def get_next_ready_tuple(state, reader, out):
    given = state.words[0]
    if given == len(state.rows) // 4:
        return state.words[1]
    for field in range(4):
        out[field] = state.rows[4 * given + field]
    state.words[0] = given + 1
    return READY


READER = make_reader_loop(get_next_ready_tuple, histogram.record)


def written(rows, then=END):
    state = Written(aligned_words(4 * len(rows)), aligned_words(2))
    state.rows[:] = np.array(rows).ravel()
    state.words[1] = then
    return state


def arguments(state, schedule=CLOSED_LOOP, first=0, last=0):
    kept = histogram.make_histogram()
    return (state, 0, aligned_words(4), kept, schedule, first, last), kept


def run(state, *measured):
    given, kept = arguments(state, *measured)
    role = Role("reader 0", READER, given, output=True, counts=Counts.EVERY_TUPLE)
    outcome = run_threads.run(
        [role], pin=False, expected_seconds=0.1, limit_seconds=60.0,
        failures={ROWS_FULL: "no room"},
    )  # fmt: skip
    return outcome, kept


def test_the_word_of_a_delivery_depends_on_each_field():
    words = {
        delivery_word(*fields)
        for fields in [(1, 2, 3, 4), (2, 2, 3, 4), (1, 3, 3, 4), (1, 2, 4, 4), (1, 2, 3, 5)]
    }
    assert len(words) == 5


def test_a_reader_counts_and_folds_what_it_gets():
    outcome, kept = run(written(IN_ORDER))
    digest = 0
    for row in IN_ORDER:
        digest = fold(digest, delivery_word(*row))
    assert outcome.words(PROGRESS, [0]).tolist() == [3]
    assert outcome.words(DIGEST, [0]).tolist() == [digest]
    assert outcome.words(DISORDER, [0]).tolist() == [0]
    assert histogram.count(kept) == 0


@pytest.mark.parametrize("rows", [[(3, 0, 7, 70), (1, 1, 8, 80)], [(1, 1, 8, 80), (1, 0, 7, 70)]])
def test_an_earlier_tuple_after_a_later_one_is_counted(rows):
    outcome, _ = run(written(rows))
    assert outcome.words(DISORDER, [0]).tolist() == [1]


def test_latencies_are_those_of_the_measured_tuples_of_an_open_run():
    begin = now()
    # Latencies of tuples that were due at the start, a hundredth of a nanosecond apart.
    outcome, kept = run(written([(n, 0, 0, 0) for n in range(2_000)]), every(0.01), 400, 1_900)
    assert histogram.count(kept) == sum(map(is_sampled, range(400, 1_900))) < 1_500 / 60
    assert 0 <= histogram.percentile(kept, 0) <= histogram.mean(kept) <= now() - begin


def test_of_each_64_tuples_one_is_sampled_and_no_place_is_preferred():
    chosen = [rank for rank in range(64_000) if is_sampled(rank)]
    assert [rank // SAMPLED_EACH for rank in chosen] == list(range(1_000))
    places = np.bincount([rank % SAMPLED_EACH for rank in chosen], minlength=SAMPLED_EACH)
    # With an even choice each position has 16 on average, with a standard deviation of 4.
    assert places.min() > 0 and places.max() < 40
    # And the positions at which a power of two begins are as likely as others.
    assert 300 < sum(rank % 2 for rank in chosen) < 700


def test_an_answer_that_ends_a_run_is_told_with_its_place():
    with pytest.raises(RunFailed, match="reader 0: no room .after 3 tuples"):
        run(written(IN_ORDER, then=ROWS_FULL))


@pytest.mark.parametrize(("rows", "then"), [(IN_ORDER, END), ([], NOT_READY)])
def test_a_reader_that_was_told_to_stop_reads_no_further(rows, then):
    words = control.make_control(1)
    words[GO], words[STOP] = 1, 1
    READER(words, control.block(0), *arguments(written(rows, then))[0])
    assert words[control.block(0) + PROGRESS] == 0
    assert words[control.block(0) + STATE] == control.DONE
