"""Storing selected lanes of a vector contiguously, in the generated code of a kernel.

The selection is hard to predict, so that no branch depends on it. All lanes are stored, the
selected ones first; the elements behind those are unspecified. The method depends on the processor:

AVX-512
    One instruction compresses the selected lanes in a register. The one that stores only the
    selected lanes is microcode on some processors (Zen 4), and takes as long as a hundred others.
AVX2
    A permutation of eight lanes, looked up by the eight truths. Windows of 2**16 tuples, on two
    cores of an EPYC without AVX-512: a join over a PIM-Tree made 4.41 M tuples/s, and 3.93 with
    lanes stored one over the other (two turns of three runs).
else
    Each lane is stored over the last one that is not selected. LLVM would do the compression in
    memory, and read back its stores in parts.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import binding, ir
from numba import config
from numba.core import cgutils

# Lanes of a vector that is stored, and of one that is permuted at once.
LANES = 16
_PERMUTED = 8
AVX_512, AVX_2 = "avx512f", "avx2"


def _widest() -> str:
    """Return the widest vectors numba compiles for: it may be set to another processor's code."""
    if config.CPU_FEATURES:
        has = {name[1:]: name[0] == "+" for name in config.CPU_FEATURES.split(",") if name}
    elif config.CPU_NAME or not config.ENABLE_AVX:
        has = {}
    else:
        has = binding.get_host_cpu_features()
    return next((name for name in (AVX_512, AVX_2) if has.get(name)), "")


WIDEST = _widest()


def lanes_of(numbers):
    """Return a constant vector of 32-bit numbers, in the form that shuffles take."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), list(numbers))


def store_chosen(builder, vector, mask, first, stored: Callable = lambda lanes: lanes) -> None:
    """Store the selected lanes of a vector from the element `first` on.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    vector, mask : llvmlite.ir.Value
        Sixteen lanes of 32 or 64 bits, and their truths (whether selected).
    first : llvmlite.ir.Value
        A pointer to the first element: sixteen elements from there on may be overwritten.
    stored : callable
        Maps a vector of at most sixteen lanes to the vector that is stored.
    """
    narrow = vector.type.element.width == 32
    if WIDEST == AVX_512 and narrow:
        _store(builder, stored(_compressed(builder, vector, mask)), first)
    elif WIDEST == AVX_512:
        # LLVM 22 generates failing code for sixteen lanes of 64 bits in a register.
        _compress_and_store(builder, stored(vector), mask, first)
    elif WIDEST == AVX_2 and narrow:
        truths = builder.zext(builder.bitcast(mask, ir.IntType(LANES)), ir.IntType(64))
        for at in range(0, LANES, _PERMUTED):
            own = builder.and_(builder.lshr(truths, truths.type(at)), truths.type(255))
            lanes = builder.shuffle_vector(vector, vector, lanes_of(range(at, at + _PERMUTED)))
            _store(builder, stored(_permuted(builder, lanes, own)), first)
            first = builder.gep(first, [builder.ctpop(own)])
    else:
        _store_one_by_one(builder, stored(vector), mask, first)


def _store(builder, vector, first):
    to = builder.bitcast(first, vector.type.as_pointer())
    builder.store(vector, to, align=vector.type.element.width // 8)


def _compressed(builder, vector, mask):
    """Return a vector of 32-bit lanes with the selected ones moved to the front."""
    kind = vector.type
    function = ir.FunctionType(kind, [kind, mask.type, kind])
    name = f"llvm.experimental.vector.compress.v{kind.count}i32"
    compress = cgutils.get_or_insert_function(builder.module, function, name)
    return builder.call(compress, [vector, mask, ir.Constant(kind, ir.Undefined)])


def _compress_and_store(builder, vector, mask, first):
    kind = vector.type
    to = kind.element.as_pointer()
    compress = ir.FunctionType(ir.VoidType(), [kind, to, mask.type])
    name = f"llvm.masked.compressstore.v{kind.count}i{kind.element.width}"
    function = cgutils.get_or_insert_function(builder.module, compress, name)
    builder.call(function, [vector, builder.bitcast(first, to), mask])


def _permuted(builder, lanes, truths):
    """Return eight 32-bit lanes, those whose bit in a word of truths is set first."""
    order = ir.VectorType(ir.IntType(8), _PERMUTED)
    table = builder.bitcast(_permutations(builder), order.as_pointer())
    own = builder.load(builder.gep(table, [truths]), align=_PERMUTED)
    kind = ir.FunctionType(lanes.type, [lanes.type, lanes.type])
    permute = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.permd")
    return builder.call(permute, [lanes, builder.zext(own, lanes.type)])


def _permutations(builder):
    """Return the table of permutations: for each eight truths the set lanes, one byte each."""
    name = "millrace.lanes_that_are_set"
    if name not in builder.module.globals:
        rows = bytearray()
        for truths in range(1 << _PERMUTED):
            lanes = [lane for lane in range(_PERMUTED) if truths >> lane & 1]
            rows += bytes(lanes).ljust(_PERMUTED, b"\0")
        kind = ir.ArrayType(ir.IntType(8), len(rows))
        table = cgutils.add_global_variable(builder.module, kind, name)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(kind, rows)
    return builder.module.globals[name]


def _store_one_by_one(builder, vector, mask, first):
    put = ir.IntType(64)(0)
    for lane in range(vector.type.count):
        one = ir.IntType(32)(lane)
        builder.store(builder.extract_element(vector, one), builder.gep(first, [put]))
        put = builder.add(put, builder.zext(builder.extract_element(mask, one), put.type))
