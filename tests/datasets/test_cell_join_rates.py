"""Rates of the case studies of ScaleJoin's figure 8: exact, and the resulting comparisons."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from datasets.cell_join.profiles import SECONDS, STREAMS, WINDOW_S, tuples
from datasets.generate import generate
from datasets.read import read_table

# From the paper: threads, and the streams of R and of S.
THREADS = {"constant": 10, "sinusoid": 12, "peaks": 14}
SIDES = {"constant": (1, 4), "sinusoid": (3, 2), "peaks": (4, 2)}
STUDIES = tuple(THREADS)


def rates_of(study: str, side: str) -> np.ndarray:
    """Return the tuples of each stream of a side in each second, (streams, 300)."""
    return np.array(
        [tuples(each) for each in STREAMS if (each.profile, each.side) == (study, side)]
    )


def comparisons(study: str) -> np.ndarray:
    """Return millions of comparisons a thread in each second, (300,), by the paper's section II."""
    per_second = np.zeros(SECONDS)
    for one, other in ("rs", "sr"):
        rate, met = rates_of(study, one).sum(axis=0), rates_of(study, other).sum(axis=0)
        # Before the first second comes the end of the same study.
        before = np.cumsum(np.tile(met, 3))
        window = [before[SECONDS + t] - before[SECONDS + t - WINDOW_S] for t in range(SECONDS)]
        per_second += rate * np.array(window)
    return per_second / THREADS[study] / 1e6


def test_streams_stand_by_study_side_and_number_and_there_are_as_many_as_in_the_paper():
    assert [(each.profile, each.side, each.number) for each in STREAMS] == [
        (study, side, number)
        for study in STUDIES
        for side, count in zip("rs", SIDES[study], strict=True)
        for number in range(count)
    ]


def test_every_stream_has_a_rate_of_its_own_and_delivers_all_the_time():
    for study in STUDIES:
        rates = np.concatenate([rates_of(study, side) for side in "rs"])
        assert rates.shape == (sum(SIDES[study]), SECONDS)
        assert rates.min() > 0
        assert len({tuple(rate) for rate in rates}) == len(rates)
        bases = [each.base for each in STREAMS if each.profile == study]
        assert len(set(bases)) == len(bases)


def test_constant_rates_are_1200_and_900_and_never_change():
    r, s = rates_of("constant", "r"), rates_of("constant", "s")
    assert np.all(r == 1_200)
    assert np.all(s == s[:, :1])
    assert np.all(s.sum(axis=0) == 900)
    # "approximately 65 million c/s are run by each", with no other window.
    assert comparisons("constant") == pytest.approx(np.full(SECONDS, 64.8))


def test_fluctuating_rates_are_sines_of_different_amplitude_and_period():
    swinging = [each for each in STREAMS if each.profile == "sinusoid"]
    for field in ("amplitude", "period"):
        assert len({getattr(each, field) for each in swinging}) == 5
    for each in swinging:
        exact = [
            each.base
            + each.amplitude
            * math.sin(2 * math.pi * second / each.period + math.radians(each.phase))
            for second in range(SECONDS)
        ]
        assert tuples(each).tolist() == [round(rate) for rate in exact]
        # No rate is so close to the middle of two numbers that a library's last bit decides.
        assert min(abs(rate % 1 - 0.5) for rate in exact) > 1e-6
        # It repeats after the period and not after any shorter time, and so continues seamlessly.
        back = [n for n in range(1, SECONDS + 1) if np.all(np.roll(exact, n) - exact < 1e-6)]
        assert back == list(range(each.period, SECONDS + 1, each.period))


def test_fluctuating_rates_make_the_comparisons_of_the_paper():
    swing = comparisons("sinusoid")
    assert (swing.min(), swing.max()) == pytest.approx((18.5, 55.0), abs=0.05)
    # The window's content is constant; only the momentary rates vary.
    assert rates_of("sinusoid", "r").sum() == rates_of("sinusoid", "s").sum() == 258_000
    assert SECONDS == WINDOW_S


def test_peaks_are_five_times_the_rate_for_five_seconds_one_stream_at_a_time():
    rates = np.concatenate([rates_of("peaks", side) for side in "rs"])
    base = np.median(rates, axis=1, keepdims=True)
    high = rates != base
    assert np.all(rates[high] == (5 * np.broadcast_to(base, rates.shape))[high])
    assert high.sum(axis=0).max() == 1
    for stream in high:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], stream, [0]])))
        assert np.diff(edges)[::2].tolist() == [5, 5]
    # Sudden: between two peaks all streams are at rest for a while.
    begins = sorted(first for each in STREAMS for first in each.peaks)
    assert min(later - earlier for earlier, later in pairwise(begins)) >= 10


def test_peaks_are_seen_in_comparisons_and_below_what_the_paper_s_system_manages():
    height = comparisons("peaks")
    assert (height.min(), height.max()) == pytest.approx((30.6, 65.6), abs=0.05)
    assert height.max() < 1_400 / 16


def test_the_table_is_that_of_the_profiles_for_every_size(generated, tmp_path):
    generate("cell_join", 1, 5, tmp_path / "least", "local[2]", 3)
    for folder in (tmp_path / "least", generated("cell_join").folder):
        table = read_table(folder, "rates")
        assert [column.dtype for column in table.values()] == [
            object,
            object,
            np.int32,
            np.int64,
            np.int64,
        ]
        assert list(zip(*(column.tolist() for column in table.values()), strict=True)) == [
            (each.profile, each.side, each.number, second, count)
            for each in STREAMS
            for second, count in enumerate(tuples(each).tolist())
        ]
