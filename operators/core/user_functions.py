"""User functions that are compiled into kernels: plain Python, with a name and in a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from operators.contract import UsageError
from operators.core.jit import inlined


def check_arguments(called: str, function: Callable[..., Any], takes: int) -> None:
    """Refuse a function that does not take `takes` arguments.

    Raises
    ------
    UsageError
        The message names the function's signature.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*range(takes))
    except TypeError:
        raise UsageError(
            f"{called} takes {takes} {'arguments' if takes > 1 else 'argument'}, received"
            f" {function.__name__}{signature}"
        ) from None


def user_function(
    called: str, function: Callable[..., Any], takes: int | None = None
) -> Callable[..., Any]:
    """Return a function as a part of the kernels that call it.

    Parameters
    ----------
    called : str
        A description for messages, such as "a condition".
    function : callable
        Plain Python that numba compiles, or the result of ``numba.njit``. A compiled kernel is
        found again by the function's name and file.
    takes : int, optional
        Number of arguments it is called with.

    Raises
    ------
    UsageError
        When it has no name or no file, or takes another number of arguments.
    """
    function = getattr(function, "py_func", function)  # the plain function under a compiled one
    code = getattr(function, "__code__", None)
    if code is None:
        raise UsageError(f"{called} is a function with a name, in a file, received {function!r}")
    if function.__name__ == "<lambda>" or not Path(code.co_filename).is_file():
        raise UsageError(
            f"{called} is a function with a name, in a file, received {function.__name__} of"
            f" {code.co_filename}"
        )
    if takes is not None:
        check_arguments(called, function, takes)
    return _inlined_once(function)


@cache
def _inlined_once(function: Callable[..., Any]) -> Callable[..., Any]:
    return inlined(function)
