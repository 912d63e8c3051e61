"""Integers that wrap at 64 bits, compiled and interpreted alike.

numba wraps int64 silently, Python grows, and numba turns uint64 mixed with int64 into a float. All
arithmetic that is meant to wrap goes through these helpers, which take and return int64.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from operators.core.jit import PART_OF_A_KERNEL, inlined

_BITS = 64


def _signed(value: int) -> int:
    return (value + (1 << (_BITS - 1))) % (1 << _BITS) - (1 << (_BITS - 1))


def wrapping_add(a: int, b: int) -> int:
    """Return a + b modulo 2**64, as int64."""
    return _signed(int(a) + int(b))


def wrapping_mul(a: int, b: int) -> int:
    """Return a * b modulo 2**64, as int64."""
    return _signed(int(a) * int(b))


def shift_right(a: int, bits: int) -> int:
    """Return a shifted right by `bits`, filling with zeros (not with the sign)."""
    return _signed((int(a) % (1 << _BITS)) >> bits)


def bit_length(a: int) -> int:
    """Return how many bits `a` takes, read as an unsigned word: 0 for 0, 64 for a negative one."""
    return (int(a) % (1 << _BITS)).bit_length()


@intrinsic
def _logical_shift(typing_context, a, bits):
    def generate(context, builder, signature, args):
        value = context.cast(builder, args[0], signature.args[0], types.int64)
        count = context.cast(builder, args[1], signature.args[1], types.int64)
        return builder.lshr(value, count)

    return types.int64(a, bits), generate


@intrinsic
def _leading_zeros(typing_context, a):
    def generate(context, builder, signature, args):
        value = context.cast(builder, args[0], signature.args[0], types.int64)
        return builder.ctlz(value, ir.IntType(1)(0))

    return types.int64(a), generate


@overload(wrapping_add, jit_options=PART_OF_A_KERNEL)
def _overload_add(a, b):
    return lambda a, b: np.int64(a) + np.int64(b)


@overload(wrapping_mul, jit_options=PART_OF_A_KERNEL)
def _overload_mul(a, b):
    return lambda a, b: np.int64(a) * np.int64(b)


@overload(shift_right, jit_options=PART_OF_A_KERNEL)
def _overload_shift_right(a, bits):
    return lambda a, bits: _logical_shift(a, bits)


@overload(bit_length, jit_options=PART_OF_A_KERNEL)
def _overload_bit_length(a):
    return lambda a: _BITS - _leading_zeros(a)


# The finalizer of SplitMix64 (Steele, Lea, Flood 2014), its multipliers read as signed words.
_MULTIPLIER_1 = _signed(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = _signed(0x94D049BB133111EB)
_GOLDEN = _signed(0x9E3779B97F4A7C15)


@inlined
def mix64(x):
    """Return `x` scrambled by a bijection of 64-bit words."""
    x = wrapping_mul(x ^ shift_right(x, 30), _MULTIPLIER_1)
    x = wrapping_mul(x ^ shift_right(x, 27), _MULTIPLIER_2)
    return x ^ shift_right(x, 31)


@inlined
def random_height(seed, levels, bits):
    """Return how many levels a node of a skip list has: 1 to `levels`, the same for a seed always.

    It goes one level higher with probability 1 / 2**bits.
    """
    height = 1
    drawn = mix64(seed)
    while height < levels and drawn & ((1 << bits) - 1) == 0:
        height += 1
        drawn >>= bits
    return height


@inlined
def fold(digest, word):
    """Return the order-sensitive digest `digest` extended by `word`.

    A rotation-free multiply-add chain: four cycles a word, so that folding a row inside the timed
    region costs a few nanoseconds. It detects mistakes, not adversaries.
    """
    product = wrapping_mul(digest ^ word, _MULTIPLIER_1)
    return wrapping_add(product ^ shift_right(product, 32), _GOLDEN)
