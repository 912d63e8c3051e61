"""The parts of millrace that depend on numba's internals, which may change with any version.

With ``MILLRACE_PLAIN_NUMBA=1`` nothing imports this package, and everything else stays correct:
numba's standard pipeline compiles the kernels, again in each process.

Three things differ from numba:

1. *The cache* finds a kernel by `operators.core.kernel_keys`, and not by the date of the file.
2. *Inlined functions stay unoptimised* until they are part of a kernel. numba would optimise each
   function with all functions inlined into it, and make machine code that is never entered: six
   times for a function five calls deep. Compiling the driving kernels of the tests took 15.5 s of
   processor time for WiML and 11.7 for TuMLSC; it takes 10.4 to 11.8 and 6.8 to 8.7 (AMD EPYC,
   numba 0.68.1, with other work running). Eight kernels that were counted have fewer instructions
   than before, by up to 14 %.
3. *Variables stay values* (`operators.core.inside_numba.lowering`), and a state is passed in few
   words (`_StateModel`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.caching import FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template
from numba.extending import models, register_model
from numba.np import numpy_support

from operators.core.inside_numba.lowering import ValueLowering
from operators.core.kernel_keys import stamp_of
from operators.core.sources import PACKAGES, cache_folder, not_kept


class _ClosureLocator(_CacheLocator):
    """Tells numba where a kernel is cached and which sources it depends on."""

    def __init__(self, function: FunctionType, file: Path) -> None:
        self._file = file
        self._stamp = stamp_of(function, file)

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


class ClosureCache(FunctionCache):
    """numba's cache, keyed by signature, processor and the locator's stamp."""

    _impl_class = _ClosureCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a kernel from the cache, or None; an unreadable entry counts as missing."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Truncated, or no file of ours. It would prevent the next kernel from being kept.
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel; where that fails, say so once."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            not_kept(error)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (sig, codegen.magic_tuple(), self._impl.locator.get_source_stamp())


class _InlinedCode(JITCodeLibrary):
    """The code of a function that is compiled only into others: never optimised alone."""

    def _optimize_final_module(self) -> None:
        """Leave optimisation to the kernel that inlines this code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> _InlinedCode:
        """Return this library: numba hands the function's environment to it, through set_env."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Ignore the environment: there is no machine code."""


@register_pass(mutates_CFG=False, analysis_only=True)
class _KeepForCallers(LoweringPass):
    _name = "keep_for_callers"

    def __init__(self) -> None:  # numba's is abstract
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _InlinedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class KernelCompiler(CompilerBase):
    """numba's pipeline, except for how variables become instructions."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (ValueLowering, name) if each is NativeLowering else (each, name)
            for each, name in passes.passes
        ]
        passes.finalize()
        return [passes]


class InlinedCompiler(KernelCompiler):
    """The same pipeline for a function that is kept for callers to inline."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        [passes] = super().define_pipelines()
        # Before lowering, which would make an ordinary library.
        passes.add_pass_after(_KeepForCallers, AnnotateTypes)
        passes.finalize()
        return [passes]


class _RowModel(models.ArrayModel):
    """A row of numbers in a state: as an argument only address and length."""

    def get_argument_type(self) -> Any:
        kinds = dict(zip(self._fields, self.get_value_type().elements, strict=True))
        return kinds["data"], kinds["nitems"]

    def as_argument(self, builder: ir.IRBuilder, value: ir.Value) -> Any:
        return self.get(builder, value, "data"), self.get(builder, value, "nitems")

    def from_argument(self, builder: ir.IRBuilder, value: Any) -> ir.Value:
        data, length = value
        size = numpy_support.as_dtype(self.fe_type.dtype).itemsize
        # Only reference counting asks for the row's owner, and kernels have none.
        known = {"meminfo": None, "parent": None, "itemsize": size, "strides": [size]}
        kinds = zip(self._fields, self.get_value_type().elements, strict=True)
        parts = [ir.Constant(kind, known.get(name, ir.Undefined)) for name, kind in kinds]
        row = ir.Constant(self.get_value_type(), parts)
        row = self.set(builder, row, data, "data")
        row = self.set(builder, row, length, "nitems")
        return builder.insert_value(row, length, [self.get_field_position("shape"), 0])


@register_model(types.NamedTuple)
class _StateModel(models.TupleModel):
    """A named tuple of this project, passed with two numbers for each of its rows.

    numba passes seven for an array, so that the state of a structure is some hundreds, copied into
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


def register_intrinsic(function: Callable[..., Any], definition: Callable) -> None:
    """Lower calls of a function to an intrinsic's instructions, without a function in between.

    With ``overload`` around an intrinsic, numba would compile a function that only calls it, once
    for each combination of types and constants: a third of the functions of a kernel.
    """
    template = make_intrinsic_template(function, definition, function.__name__, prefer_literal=True)
    infer(template)
    infer_global(function, types.Function(template))
