"""Calls of the C library from compiled code, for `atomics` and `noise`."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils

_WORD = ir.IntType(64)


def call(builder, name: str, *arguments):
    """Emit a call of a function that takes `arguments` and returns an int."""
    function_type = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, arguments)


def nanoseconds(builder, clock: int):
    """Emit the reading of a clock of ``clock_gettime``, in nanoseconds."""
    timespec = cgutils.alloca_once(builder, ir.ArrayType(_WORD, 2))
    call(builder, "clock_gettime", ir.IntType(32)(clock), timespec)
    seconds, rest = cgutils.unpack_tuple(builder, builder.load(timespec), 2)
    return builder.add(builder.mul(seconds, _WORD(10**9)), rest)
