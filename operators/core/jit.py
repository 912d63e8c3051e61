"""The one JIT policy: how kernels are compiled, and when a compiled kernel may be reused.

There are three decorators:

``@inlined``
    A plain Python function that is compiled into its callers. Every operation of a structure is
    one.
``@kernel``
    A function that threads enter from Python. It releases the GIL and is cached on disk.
``@compiled_as(function)``
    The instructions that a plain Python function becomes in a kernel: those of the atomics, say.

Guarantees:

1. *No stale result*: a kernel is found again by the text of all its sources
   (`operators.core.kernel_keys`).
2. *A second process compiles nothing.*
3. *No hidden allocation.* Kernels are compiled without numba's reference counting: an allocation in
   one is a compile error. Reference counts are atomic words in each array's header; counting them
   in a hot loop made every thread write to the same cache lines.

Inlined functions have no wrapper for calls from C. Such wrappers took a fifth to a fifteenth of the
time of tests on a cold cache: a pipeline of a user 19.7 s -> 15.8, the bench of seven theta joins
44.4 -> 41.4 (Intel Sapphire Rapids).

With ``NUMBA_DISABLE_JIT=1`` the first two return the function unchanged. With
``MILLRACE_PLAIN_NUMBA=1`` kernels are compiled as numba compiles them, without the changes of
`operators.core.inside_numba`: for the day when numba moves the internals that the package uses.
Results are the same and compiling takes longer, and there is no cache, so that each process
compiles again; 1 and 3 hold. Not documented by numba but used nevertheless are two options here,
``_nrt`` and ``no_cfunc_wrapper``, and, in the code that makes instructions, ``numba.core.cgutils``
and ``numba.core.errors``.
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
    # Not with the other imports: another version of numba may make this one impossible.
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
    and a call copies the whole state. While that was some hundred words it cost half of the speed
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
    """Define the instructions that a plain Python function is compiled to.

    The decorated function has the form that ``numba.extending.intrinsic`` takes: given the types of
    the arguments, constants as literals, it returns a signature and a function that generates the
    instructions.

    Parameters
    ----------
    function : callable
        The meaning of the instructions, and the form that runs interpreted.
    """

    def register(definition: Callable) -> Callable:
        if PLAIN:
            _overload_by_intrinsic(function, definition)
        else:
            inside_numba.register_intrinsic(function, definition)
        return definition

    return register


def _overload_by_intrinsic(function: Callable[..., Any], definition: Callable) -> None:
    """Lower calls of a function to an intrinsic, by numba's documented decorators."""
    arguments = ", ".join(inspect.signature(function).parameters)
    # numba requires the argument names of the function, for an overload and for its result.
    text = f"lambda {arguments}: lambda {arguments}: instructions({arguments})"
    called = {"instructions": intrinsic(prefer_literal=True)(definition)}
    options = {"_nrt": False, "error_model": "numpy", "forceinline": True}
    overload(function, prefer_literal=True, jit_options=options)(eval(text, called))
