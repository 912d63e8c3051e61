"""Requesting a cache line before it is needed, so that other work overlaps the transfer.

The functions here affect nothing but time, and do nothing interpreted. Arrays are one-dimensional
and C-contiguous, an index is not negative, and a line that does not exist is no error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from operators.core.jit import compiled_as, inlined
from operators.core.layout import LINE_BYTES

_TO_READ, _TO_WRITE = 0, 1
_IN_EVERY_CACHE = 3
_DATA = 1


def prefetch(array: np.ndarray, index: int) -> None:
    """Request the cache line of an element that is about to be read."""


def prefetch_to_write(array: np.ndarray, index: int) -> None:
    """Request the cache line of an element for this core exclusively, before a change."""


def in_a_line(array: np.ndarray) -> int:
    """Return the number of elements of an array in a cache line."""
    return LINE_BYTES // array.itemsize


@inlined
def prefetch_all(array, begin, count):
    """Request the lines of `count` elements from ``array[begin]`` on, where a line begins."""
    for index in range(begin, begin + count, in_a_line(array)):
        prefetch(array, index)


@compiled_as(in_a_line)
def _in_a_line(typing_context, array):
    def generate(context, builder, signature, args):
        # A constant: the step of a loop whose length is known.
        element = context.get_abi_sizeof(context.get_data_type(array.dtype))
        return context.get_constant(types.intp, LINE_BYTES // element)

    return types.intp(array), generate


def _ask(function: Callable[..., None], purpose: int) -> None:
    @compiled_as(function)
    def ask(typing_context, array, index):
        def generate(context, builder, signature, args):
            elements = context.make_array(signature.args[0])(context, builder, args[0])
            place = context.cast(builder, args[1], signature.args[1], types.intp)
            # As bytes: one declaration serves elements of any size.
            byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            line = builder.bitcast(builder.gep(elements.data, [place]), byte)
            kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            asked = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(asked, [line, flag(purpose), flag(_IN_EVERY_CACHE), flag(_DATA)])
            return context.get_dummy_value()

        return types.void(array, index), generate


_ask(prefetch, _TO_READ)
_ask(prefetch_to_write, _TO_WRITE)
