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

1. *No stale answer.* numba's own cache looks at the date of one file, and so returned an old result
   after a helper in another file had changed. Here the key is a hash of the text of every module
   that the kernel's module imports from this project, directly or not, and of those of the
   functions that the kernel closes over, with the versions of numba and llvmlite, and the `noise`
   that is compiled into the atomics. The compiler freezes what a function finds in its module, so
   of a function from elsewhere, a user's condition or a step of a pipeline, those values enter too.
2. *A second process compiles nothing.* A kernel made by a factory may close over ``@inlined``
   functions, integers, floats, strings and ``None``; they enter the key by name or value. numba
   pickles such functions instead, which gave another key in each process.
3. *No hidden allocation.* Kernels are compiled without numba's reference counting: an allocation in
   one is a compile error. Reference counts are atomic words in each array's header; counting them
   in a hot loop made every thread write to the same cache lines.

What is inlined stays unoptimised until it is part of a kernel. numba would optimise each function
with all that is inlined into it, and make machine code of it that nobody enters: a function five
calls deep six times. Compiling the driving kernels of the tests took 15.5 s of processor time for
WiML and 11.7 for TuMLSC; it takes 10.4 to 11.8 and 6.8 to 8.7 (AMD EPYC, numba 0.68.1, beside other
work). Eight kernels that were counted have fewer instructions than before, by up to 14 %.
Nor has it a wrapper by which C could enter it. Those took a fifth to a fifteenth of the time of
tests on a cold cache: a pipeline of a user 19.7 s -> 15.8, the bench of seven theta joins 44.4 ->
41.4 (Intel Sapphire Rapids). How their variables become instructions stands in
`operators.core.lowering`.

With ``NUMBA_DISABLE_JIT=1`` the first two return the function as it is.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.caching import FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template
from numba.extending import models, register_jitable, register_model
from numba.np import numpy_support

from operators.core.lowering import ValueLowering
from operators.core.noise import NOISE
from operators.core.sources import PACKAGES, STARTED_NS, cache_folder, import_closure

INTERPRETED = bool(numba.config.DISABLE_JIT)


@cache
def closure_digest(file: Path) -> str:
    """Return a hash of the text of `import_closure`, the compiler's versions and the noise."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {NOISE}".encode())
    for member in import_closure(file):
        digest.update(member.name.encode())
        digest.update(member.read_bytes())
        if member.stat().st_mtime_ns > STARTED_NS:
            # Edited meanwhile: what this process has imported may be the text before. What it
            # compiles is its own, and found by no other process.
            digest.update(os.urandom(8))
    return digest.hexdigest()


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
    """Return what a function from outside the project finds in its module, by name.

    Within the project nothing but its text decides that. Elsewhere a module may read its values
    from anywhere, and import what is no part of the text that is hashed.
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
    """Return the names that code, and what is nested in it, looks up elsewhere."""
    inside = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names_in, inside))


def _is_installed(file: str | None) -> bool:
    """Say whether a file belongs to Python or an installed package; of no file, yes."""
    places = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    return (
        file is None
        or not Path(file).is_file()
        or any(Path(file).is_relative_to(place) for place in places)
    )


class _ClosureLocator(_CacheLocator):
    """Tells numba where a kernel is cached and which sources it stands for."""

    def __init__(self, function: FunctionType, file: Path) -> None:
        self._file = file
        cells = ",".join(_describe(c.cell_contents) for c in function.__closure__ or ())
        text = f"{closure_digest(file)} {function.__module__}.{function.__qualname__} [{cells}]"
        text += _frozen(function)
        self._stamp = hashlib.sha256(text.encode()).hexdigest()

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._stamp[:16]

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> _ClosureLocator:
        return cls(py_func, Path(py_file).resolve())


class _ClosureCacheImpl(FunctionCache._impl_class):
    _locator_classes = [_ClosureLocator]


class _ClosureCache(FunctionCache):
    """numba's cache, keyed by signature, processor and the locator's stamp."""

    _impl_class = _ClosureCacheImpl

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (sig, codegen.magic_tuple(), self._impl.locator.get_source_stamp())


class _InlinedCode(JITCodeLibrary):
    """The code of a function that is only ever compiled into others: not optimised by itself."""

    def _optimize_final_module(self) -> None:
        """Leave it to the kernel, which optimises what it has taken in."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> _InlinedCode:
        """Return this library: numba tells it of the function's environment, through set_env."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Forget it: there is no machine code."""


@register_pass(mutates_CFG=False, analysis_only=True)
class _KeepForCallers(LoweringPass):
    _name = "keep_for_callers"

    def __init__(self) -> None:  # numba's is abstract
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _InlinedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _KernelCompiler(CompilerBase):
    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (ValueLowering, name) if each is NativeLowering else (each, name)
            for each, name in passes.passes
        ]
        passes.finalize()
        return [passes]


class _InlinedCompiler(_KernelCompiler):
    def define_pipelines(self) -> list[PassManager]:
        [passes] = super().define_pipelines()
        # Before it is lowered, which would make it a library of the usual kind.
        passes.add_pass_after(_KeepForCallers, AnnotateTypes)
        passes.finalize()
        return [passes]


def kernel(function: FunctionType) -> Callable[..., Any]:
    """Compile `function` on first call: no GIL, no allocation, cached by its import closure."""
    if INTERPRETED:
        return function
    dispatcher = numba.njit(
        nogil=True, error_model="numpy", _nrt=False, pipeline_class=_KernelCompiler
    )(function)
    dispatcher._cache = _ClosureCache(function)
    return dispatcher


def inlined(function: FunctionType) -> FunctionType:
    """Mark `function` as part of the kernels that call it; it stays a plain Python function.

    The inlining is forced. Left to LLVM, a function with some dozens of instructions stays a call,
    and a call copies the whole state. While that was some hundred words it took half of the speed
    of T-Gate with two sources, and of counting in ten windows.
    """
    return register_jitable(
        _nrt=False,
        no_cfunc_wrapper=True,
        error_model="numpy",
        forceinline=True,
        pipeline_class=_InlinedCompiler,
    )(function)


class _RowModel(models.ArrayModel):
    """A row of numbers in a state: as an argument its address and length alone."""

    def get_argument_type(self) -> Any:
        kinds = dict(zip(self._fields, self.get_value_type().elements, strict=True))
        return kinds["data"], kinds["nitems"]

    def as_argument(self, builder: ir.IRBuilder, value: ir.Value) -> Any:
        return self.get(builder, value, "data"), self.get(builder, value, "nitems")

    def from_argument(self, builder: ir.IRBuilder, value: Any) -> ir.Value:
        data, length = value
        size = numpy_support.as_dtype(self.fe_type.dtype).itemsize
        # Who owns the row is asked by reference counting alone, which kernels have none of.
        known = {"meminfo": None, "parent": None, "itemsize": size, "strides": [size]}
        kinds = zip(self._fields, self.get_value_type().elements, strict=True)
        parts = [ir.Constant(kind, known.get(name, ir.Undefined)) for name, kind in kinds]
        row = ir.Constant(self.get_value_type(), parts)
        row = self.set(builder, row, data, "data")
        row = self.set(builder, row, length, "nitems")
        return builder.insert_value(row, length, [self.get_field_position("shape"), 0])


@register_model(types.NamedTuple)
class _StateModel(models.TupleModel):
    """A named tuple of this project, which is handed over with two numbers for each of its rows.

    numba makes seven of an array, so that the state of a structure is some hundreds, copied into
    each function that takes it. Five of them are known. The kernels of the second paper's `quick`
    are compiled in 54 s, where it took 68; those of the others take as long as before (2 cores of
    an AMD EPYC, once each).
    """

    def __init__(self, manager: Any, kind: types.NamedTuple) -> None:
        super().__init__(manager, kind)
        if kind.instance_class.__module__.partition(".")[0] in PACKAGES:
            self._models = tuple(
                _RowModel(manager, member) if _is_row(member) else manager.lookup(member)
                for member in kind
            )


def _is_row(kind: types.Type) -> bool:
    return isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"


def compiled_as(function: Callable[..., Any]) -> Callable[[Callable], Callable]:
    """Say which instructions a plain Python function is compiled to.

    The decorated function is what ``numba.extending.intrinsic`` takes: given the types of the
    arguments, constants as literals, it returns a signature and what makes the instructions. With
    ``overload`` around an intrinsic, numba would compile a function that does nothing but call it,
    once for each combination of types and constants: a third of the functions of a kernel.

    Parameters
    ----------
    function : callable
        What it means, and what runs interpreted.
    """

    def register(definition: Callable) -> Callable:
        template = make_intrinsic_template(
            function, definition, function.__name__, prefer_literal=True
        )
        infer(template)
        infer_global(function, types.Function(template))
        return definition

    return register
