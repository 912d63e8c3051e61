"""Transcripts are played on one instance: as written, and with every other division into steps."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from tests.covering import compiled_few
from tests.operators.streamcloud import transcripts

NAMES = transcripts.found()
# Each query has separate kernels; whole plans cover the others (test_carriers.py).
COMPILED = ["join"]


@cache
def named(name):
    return transcripts.read(NAMES[name])


def right():
    return [name for name in NAMES if not named(name).wrong]


def wrong():
    return [name for name in NAMES if named(name).wrong]


@pytest.mark.parametrize("name", compiled_few(right(), COMPILED))
def test_an_instance_answers_what_the_transcript_says(name):
    assert list(transcripts.play(named(name))) == []


@pytest.mark.parametrize("name", compiled_few(wrong(), ["wrong-tuple"]))
def test_a_transcript_that_is_wrong_is_found_out(name):
    complaints = list(transcripts.play(named(name)))
    assert any(named(name).wrong in each for each in complaints), complaints


def transparent():
    return [name for name in right() if transcripts.is_transparent(named(name))]


@pytest.mark.parametrize("name", compiled_few(transparent(), COMPILED))
def test_how_rows_are_put_into_steps_does_not_show(name):
    transcript = named(name)
    steps = [rows for rows, _ in transcript.steps]
    rows = [row for step in steps for row in step]
    expected = transcripts.in_all(transcript, steps)
    assert transcripts.in_all(transcript, [rows]) == expected
    assert transcripts.in_all(transcript, [[row] for row in rows]) == expected
    assert transcripts.in_all(transcript, [rows[::-1]]) == expected
    for seed in range(10):
        random = Random(seed)
        shuffled = random.sample(rows, len(rows))
        cuts = sorted(random.randint(0, len(rows)) for _ in range(3))
        pieces = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        # Duplicate rows, and empty steps.
        pieces.insert(random.randint(0, 4), random.sample(rows, 1))
        pieces.append(rows[:1])
        assert transcripts.in_all(transcript, pieces) == expected, seed


@pytest.mark.parametrize("name", compiled_few(right(), COMPILED))
def test_an_instance_may_be_saved_and_loaded_between_any_two_steps(name):
    transcript = named(name)
    steps = [rows for rows, _ in transcript.steps]
    expected = transcripts.in_all(transcript, steps)
    assert transcripts.in_all(transcript, steps, saving=True) == expected
    one_by_one = [[row] for step in steps for row in step]
    expected = transcripts.in_all(transcript, one_by_one)
    assert transcripts.in_all(transcript, one_by_one, saving=True) == expected


@pytest.mark.parametrize("name", compiled_few(transparent(), COMPILED))
def test_equal_states_have_equal_bytes(name):
    transcript = named(name)
    steps = [rows for rows, _ in transcript.steps]
    for end in range(1, len(steps) + 1):
        stepped, at_once = transcript.instance(), transcript.instance()
        for rows in steps[:end]:
            stepped.step(rows)
        # The same number of steps, since rows are numbered by steps.
        at_once.step([row for rows in steps[:end] for row in rows])
        for _ in range(end - 1):
            at_once.step([])
        assert stepped.save() == at_once.save()
