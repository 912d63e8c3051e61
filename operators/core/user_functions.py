"""Functions of a user that are compiled into kernels: plain Python, with a name and in a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from operators.contract import UsageError
from operators.core.jit import inlined


def user_function(called: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as a part of the kernels that call it.

    Parameters
    ----------
    called : str
        What it is, for messages, such as "a condition".
    function : callable
        Plain Python that numba compiles, or what ``numba.njit`` made of it. A compiled kernel is
        found again by the function's name and file.

    Raises
    ------
    UsageError
        When it has no name or no file.
    """
    function = getattr(function, "py_func", function)  # what numba has compiled, as it is written
    code = getattr(function, "__code__", None)
    if code is None:
        raise UsageError(f"{called} is a function with a name, in a file, received {function!r}")
    if function.__name__ == "<lambda>" or not Path(code.co_filename).is_file():
        raise UsageError(
            f"{called} is a function with a name, in a file, received {function.__name__} of"
            f" {code.co_filename}"
        )
    return _inlined_once(function)


@cache
def _inlined_once(function: Callable[..., Any]) -> Callable[..., Any]:
    return inlined(function)
