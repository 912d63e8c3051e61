"""The one JIT policy: how kernels are compiled, and when a compiled kernel may be used again.

Three decorators are all there is:

``@inlined``
    A plain Python function that is compiled into whoever calls it. Every operation of a structure
    is one.
``@kernel``
    A function that threads enter from Python. It releases the GIL and is cached on disk.
``@compiled_as(function)``
    What instructions a plain Python function is in a kernel: those of the atomics, for example.

What is guaranteed:

1. *No stale answer*: a kernel is found again by what all its sources say
   (`operators.core.kernel_keys`).
2. *A second process compiles nothing.*
3. *No hidden allocation.* Kernels are compiled without numba's reference counting: an allocation in
   one is a compile error. Reference counts are atomic words in each array's header; counting them
   in a hot loop made every thread write to the same cache lines.

What is inlined has no wrapper by which C could enter it. Those took a fifth to a fifteenth of the
time of tests on a cold cache: a pipeline of a user 19.7 s -> 15.8, the bench of seven theta joins
44.4 -> 41.4 (Intel Sapphire Rapids).

With ``NUMBA_DISABLE_JIT=1`` the first two return the function as it is. With
``MILLRACE_PLAIN_NUMBA=1`` kernels are compiled as numba compiles them, without what
`operators.core.inside_numba` does otherwise: for the day when numba moves what that package takes
from it. Results are the same and compiling takes longer, and there is no cache, so that each
process compiles again; 1 and 3 hold. Not documented by numba and used all the same are two options
here, ``_nrt`` and ``no_cfunc_wrapper``, and, by what makes instructions, ``numba.core.cgutils`` and
``numba.core.errors``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
from numba.extending import intrinsic, overload, register_jitable

INTERPRETED = bool(numba.config.DISABLE_JIT)
PLAIN = os.environ.get("MILLRACE_PLAIN_NUMBA", "") not in ("", "0")

if not PLAIN:
    # Not above, among the others: with another numba it may not be possible to import it.
    from operators.core import inside_numba


def kernel(function: FunctionType) -> Callable[..., Any]:
    """Compile `function` on first call: no GIL, no allocation, cached by its import closure."""
    if INTERPRETED:
        return function
    options = {} if PLAIN else {"pipeline_class": inside_numba.KernelCompiler}
    dispatcher = numba.njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)
    if not PLAIN:
        dispatcher._cache = inside_numba.ClosureCache(function)
    return dispatcher


def inlined(function: FunctionType) -> FunctionType:
    """Mark `function` as part of the kernels that call it; it stays a plain Python function.

    The inlining is forced. Left to LLVM, a function with some dozens of instructions stays a call,
    and a call copies the whole state. While that was some hundred words it took half of the speed
    of T-Gate with two sources, and of counting in ten windows.
    """
    options = {} if PLAIN else {"pipeline_class": inside_numba.InlinedCompiler}
    return register_jitable(
        _nrt=False,
        no_cfunc_wrapper=True,
        error_model="numpy",
        forceinline=True,
        **options,
    )(function)


def compiled_as(function: Callable[..., Any]) -> Callable[[Callable], Callable]:
    """Say which instructions a plain Python function is compiled to.

    The decorated function is what ``numba.extending.intrinsic`` takes: given the types of the
    arguments, constants as literals, it returns a signature and what makes the instructions.

    Parameters
    ----------
    function : callable
        What it means, and what runs interpreted.
    """

    def register(definition: Callable) -> Callable:
        if PLAIN:
            _overload_by_intrinsic(function, definition)
        else:
            inside_numba.register_intrinsic(function, definition)
        return definition

    return register


def _overload_by_intrinsic(function: Callable[..., Any], definition: Callable) -> None:
    """Let calls of a function be calls of an intrinsic, by numba's documented decorators."""
    arguments = ", ".join(inspect.signature(function).parameters)
    # numba asks an overload and what it returns for the function's own names of the arguments.
    text = f"lambda {arguments}: lambda {arguments}: instructions({arguments})"
    called = {"instructions": intrinsic(prefer_literal=True)(definition)}
    options = {"_nrt": False, "error_model": "numpy", "forceinline": True}
    overload(function, prefer_literal=True, jit_options=options)(eval(text, called))
