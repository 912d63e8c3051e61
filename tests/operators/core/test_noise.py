"""Injected noise at the atomics: present if requested, and absent otherwise."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

from operators.core import atomics, kernel_keys
from operators.core.atomics import RELAXED, fetch_add
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import aligned_words
from tests.drivers import scaled
from tests.stress.scheduling import noisy_process, scheduled

ACCESSES = scaled(100_000)


@kernel
def count_up(words, times):
    for _ in range(times):
        fetch_add(words, 0, 1, RELAXED)


def times_away(schedule: str) -> int:
    """Return how often this thread yielded the core while it counted, with a correct count."""
    words = aligned_words(8)
    with scheduled(schedule, seed=1):
        count_up(words, np.int64(1))
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        count_up(words, np.int64(ACCESSES))
        away = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
    assert words[0] == ACCESSES + 1
    return away


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="this system does not count it")
@pytest.mark.timed
def test_noise_gives_the_core_away_between_the_accesses_to_a_word():
    # Without noise a thread may still wait for the interpreter, or a page.
    quiet = times_away("threads")
    if INTERPRETED:
        noisy = times_away("noise")
    else:
        with noisy_process() as pool:
            noisy = pool.submit(times_away, "noise").result()
    # Counted: 0 to 2 and 136 of 2,000 accesses, interpreted; 0 and 911 to 969 of 100,000, compiled.
    assert noisy > 10 * (quiet + 1)


def test_a_process_whose_kernels_have_no_noise_does_not_pretend_to():
    before = atomics.scheduling_hook
    if INTERPRETED:
        with scheduled("noise", seed=1):
            assert atomics.scheduling_hook is not before
    else:
        with pytest.raises(RuntimeError, match="no noise"), scheduled("noise", seed=1):
            pass
    assert atomics.scheduling_hook is before


def test_kernels_with_and_without_noise_have_different_keys(monkeypatch):
    file = Path(__file__)
    # Bypassing the cache of this process's digests.
    digest = kernel_keys.closure_digest.__wrapped__
    quiet = digest(file)
    monkeypatch.setattr(kernel_keys, "NOISE", 7)
    assert digest(file) != quiet
