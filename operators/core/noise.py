"""Noise at the atomics of compiled kernels, for tests: random yields and short sleeps.

With ``MILLRACE_NOISE=n`` in the environment of a process, a thread yields the core before one of
about `n` accesses to a shared word, and sleeps instead one time in eight. So threads stop between
the steps of an operation, where they hardly ever stop otherwise. Unset, nothing is compiled in; the
number is part of every kernel's cache key, so that kernels with and without noise never mix.

Interpreted, a test uses ``atomics.scheduling_hook`` for the same purpose.
"""

from __future__ import annotations

import os

from llvmlite import ir
from numba.core import cgutils

from operators.core.c_library import call, nanoseconds

NOISE = int(os.environ.get("MILLRACE_NOISE") or 0)

# Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): 2**64 / golden ratio.
_GOLDEN = 0x9E3779B97F4A7C15
_SLEEP_US = 50
_YIELDS_A_SLEEP = 8


def disturb(builder, clock: int) -> None:
    """Emit, where noise is on, the call of a function that may yield the core.

    Randomness comes from the bits of `clock`: no state is kept between calls, so the threads share
    no word through the noise itself, which might order accesses that the test wants unordered.
    """
    if not NOISE:
        return
    function_type = ir.FunctionType(ir.VoidType(), [])
    noise = cgutils.get_or_insert_function(builder.module, function_type, "millrace_noise")
    builder.call(noise, [])
    if noise.blocks:
        return
    noise.linkage = "internal"
    # Inlining it at each atomic would double the code.
    noise.attributes.add("noinline")
    inside = ir.IRBuilder(noise.append_basic_block())
    word = ir.IntType(64)
    random = inside.lshr(inside.mul(nanoseconds(inside, clock), word(_GOLDEN)), word(32))
    with inside.if_then(_is_multiple(inside, random, NOISE)):
        with inside.if_else(_is_multiple(inside, random, _YIELDS_A_SLEEP * NOISE)) as (rare, usual):
            with rare:
                call(inside, "usleep", ir.IntType(32)(_SLEEP_US))
            with usual:
                call(inside, "sched_yield")
    inside.ret_void()


def _is_multiple(builder, number, factor: int):
    word = ir.IntType(64)
    return builder.icmp_unsigned("==", builder.urem(number, word(factor)), word(0))
