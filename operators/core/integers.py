"""Integers that wrap at 64 bits, compiled and interpreted alike.

numba wraps int64 silently, Python integers grow, and numba turns uint64 mixed with int64 into a
float. All arithmetic that is meant to wrap uses these helpers, which take and return int64.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types

from operators.core.jit import compiled_as, inlined

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
    """Return the bits that `a` takes as an unsigned word: 0 for 0, 64 for a negative one."""
    return (int(a) % (1 << _BITS)).bit_length()


def _instruction(function: Callable[[int, int], int], name: str) -> None:
    """Compile `function` to an LLVM instruction with two operands."""

    @compiled_as(function)
    def compute(typing_context, a, b):
        def generate(context, builder, signature, args):
            return getattr(builder, name)(*_words(context, builder, signature, args))

        return types.int64(a, b), generate


_instruction(wrapping_add, "add")
_instruction(wrapping_mul, "mul")
_instruction(shift_right, "lshr")


@compiled_as(bit_length)
def _bit_length(typing_context, a):
    def generate(context, builder, signature, args):
        (word,) = _words(context, builder, signature, args)
        return builder.sub(word.type(_BITS), builder.ctlz(word, ir.IntType(1)(0)))

    return types.int64(a), generate


def _words(context, builder, signature, args):
    return [
        context.cast(builder, each, kind, types.int64)
        for each, kind in zip(args, signature.args, strict=True)
    ]


# The finalizer of SplitMix64 (Steele, Lea, Flood 2014), with the multipliers as signed words.
_MULTIPLIER_1 = _signed(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = _signed(0x94D049BB133111EB)
# 2**64 / golden ratio: for Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
GOLDEN = _signed(0x9E3779B97F4A7C15)


@inlined
def mix64(x):
    """Return `x` scrambled by a bijection of 64-bit words."""
    x = wrapping_mul(x ^ shift_right(x, 30), _MULTIPLIER_1)
    x = wrapping_mul(x ^ shift_right(x, 27), _MULTIPLIER_2)
    return x ^ shift_right(x, 31)


@inlined
def random_height(seed, levels, bits):
    """Return the number of levels of a skip-list node: 1 to `levels`, determined by the seed.

    The node goes one level higher with probability 1 / 2**bits.
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
    return wrapping_add(product ^ shift_right(product, 32), GOLDEN)
