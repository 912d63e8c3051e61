"""Wrapping integers: compiled equals interpreted, and both equal arithmetic modulo 2**64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.core.integers import (
    bit_length,
    fold,
    mix64,
    random_height,
    shift_right,
    wrapping_add,
    wrapping_mul,
)
from operators.core.jit import kernel
from tests.operators.core.running import forms

LOWEST, HIGHEST = -(2**63), 2**63 - 1
words = st.integers(LOWEST, HIGHEST) | st.sampled_from([LOWEST, -1, 0, 1, HIGHEST])


@kernel
def every_operation(a, b, bits, log):
    log[0] = wrapping_add(a, b)
    log[1] = wrapping_mul(a, b)
    log[2] = shift_right(a, bits)
    log[3] = bit_length(a)
    log[4] = mix64(a)
    log[5] = fold(a, b)
    log[6] = random_height(a, 8, bits & 3)


def signed(value):
    return (value + 2**63) % 2**64 - 2**63


@given(words, words, st.integers(0, 63))
@example(LOWEST, -1, 63)
@example(HIGHEST, HIGHEST, 0)
def test_both_forms_agree_and_wrap(a, b, bits):
    for form in forms(every_operation):
        log = np.zeros(7, np.int64)
        form(a, b, bits, log)
        unsigned = a % 2**64
        assert log[:4].tolist() == [
            signed(a + b),
            signed(a * b),
            signed(unsigned >> bits),
            unsigned.bit_length(),
        ]
        assert log[4:].tolist() == [mix64(a), fold(a, b), random_height(a, 8, bits & 3)]


def test_mix64_is_the_finalizer_of_splitmix64():
    # The first outputs for seed 0 (Vigna, prng.di.unimi.it/splitmix64.c): the state steps by the
    # golden ratio, and each output is the mixed state.
    golden = 0x9E3779B97F4A7C15
    outputs = [mix64(signed(golden * step)) % 2**64 for step in (1, 2, 3)]
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("bits", [1, 4])
def test_heights_fall_off_by_the_share_and_end_at_the_highest_level(bits):
    levels = 3
    heights = np.array([random_height(seed, levels, bits) for seed in range(40_000)])
    above = [(heights > level).mean() for level in range(levels + 1)]
    assert above[0] == 1 and above[levels] == 0
    np.testing.assert_allclose(above[1:levels], [2**-bits, 4**-bits], rtol=0.2)
    assert {random_height(seed, 1, bits) for seed in range(100)} == {1}


def test_mix64_spreads_neighbours_over_the_low_bits():
    counts = np.bincount([mix64(key) & 63 for key in range(6400)], minlength=64)
    assert counts.min() > 60 and counts.max() < 140


@given(st.lists(words, min_size=2, max_size=6, unique=True), st.data())
def test_fold_notices_another_order_and_another_word(row, data):
    def digest(row):
        folded = 0
        for word in row:
            folded = fold(folded, word)
        return folded

    other = data.draw(st.permutations(row))
    assert (digest(row) == digest(other)) == (row == other)
    assert digest(row) != digest([*row[:-1], row[-1] ^ 1])
    assert digest(row) != digest([*row, 0])


@pytest.mark.parametrize("operation", [wrapping_add, wrapping_mul])
def test_numpy_words_do_not_overflow_with_a_warning(operation):
    assert operation(np.int64(HIGHEST), np.int64(HIGHEST)) == operation(HIGHEST, HIGHEST)
