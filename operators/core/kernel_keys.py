"""Keys of compiled kernels: a cached kernel is reused only while all its sources are unchanged.

numba's cache compares the date of one file, and so returned a stale result after a helper in
another file had changed. Here the key is a hash of the text of every module that the kernel's
module imports from this project, directly or not, and of the modules of the functions that the
kernel closes over, with the versions of numba and llvmlite, and the `noise` that is compiled into
the atomics. The compiler freezes the values of a function's globals, so for a function from
elsewhere, a user's condition or a step of a pipeline, those values enter too.

A kernel made by a factory may close over ``@inlined`` functions, integers, floats, strings and
``None``; they enter the key by name or value. numba pickles such functions instead, so that the key
differed from process to process.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np

from operators.core.noise import NOISE
from operators.core.sources import PACKAGES, STARTED_NS, import_closure


@cache
def closure_digest(file: Path) -> str:
    """Return a hash of the text of `import_closure`, the compiler's versions and the noise."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {NOISE}".encode())
    for member in import_closure(file):
        digest.update(member.name.encode())
        digest.update(member.read_bytes())
        if member.stat().st_mtime_ns > STARTED_NS:
            # Edited since this process started, which may have imported the previous text. Its
            # kernels get a key that no other process finds.
            digest.update(os.urandom(8))
    return digest.hexdigest()


def stamp_of(function: FunctionType, file: Path) -> str:
    """Return the key of a kernel defined in a file, equal in every process."""
    cells = ",".join(_describe(c.cell_contents) for c in function.__closure__ or ())
    text = f"{closure_digest(file)} {function.__module__}.{function.__qualname__} [{cells}]"
    return hashlib.sha256((text + _frozen(function)).encode()).hexdigest()


def _describe(value: Any) -> str:
    """Return text that is equal in two processes exactly when the closed-over value is."""
    if isinstance(value, FunctionType):
        inner = ",".join(_describe(c.cell_contents) for c in value.__closure__ or ())
        source = closure_digest(Path(value.__code__.co_filename))
        return f"{value.__module__}.{value.__qualname__}[{inner}]{source}{_frozen(value)}"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    raise TypeError(
        f"a kernel closes over {value!r}: only @inlined functions, numbers, strings and None"
        " give the same cache key in every process"
    )


def _frozen(function: FunctionType, above: tuple[FunctionType, ...] = ()) -> str:
    """Return the values of the globals of a function from outside the project, by name.

    Within the project the text alone determines them. Elsewhere a module may read values from
    anywhere, and import modules outside the hashed text.
    """
    if function.__module__.partition(".")[0] in PACKAGES or function in above:
        return ""
    names = sorted(_names_in(function.__code__))
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for module in [each for each in found.values() if isinstance(each, ModuleType)]:
        if not _is_installed(getattr(module, "__file__", None)):
            found |= {f"{module.__name__}.{n}": getattr(module, n) for n in names
                      if hasattr(module, n)}  # fmt: skip
    told = []
    for name, value in found.items():
        value = getattr(value, "py_func", value)
        if isinstance(value, FunctionType) and not _is_installed(value.__code__.co_filename):
            source = closure_digest(Path(value.__code__.co_filename))
            told.append(f"{name}={source}{_frozen(value, (*above, function))}")
        elif isinstance(value, np.ndarray):
            told.append(f"{name}={value.dtype}{value.shape}{value.tobytes().hex()}")
        elif not isinstance(value, ModuleType | FunctionType):
            told.append(f"{name}={value!r}")
    return f"({','.join(told)})"


def _names_in(code: CodeType) -> set[str]:
    """Return the names that code, and code nested in it, looks up elsewhere."""
    inside = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names_in, inside))


def _is_installed(file: str | None) -> bool:
    """Say whether a file belongs to Python or an installed package; True without a file."""
    places = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    return (
        file is None
        or not Path(file).is_file()
        or any(Path(file).is_relative_to(place) for place in places)
    )
