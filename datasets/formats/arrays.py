"""Conversion between NumPy arrays and Arrow arrays through their buffers.

``pa.array`` and ``to_numpy`` load pandas without using it, which takes a fifth of a second: longer
than reading small files takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def of_numbers(values: np.ndarray) -> pa.Array:
    """Return integers or doubles as an array, which shares the memory of a contiguous argument.

    Examples
    --------
    >>> of_numbers(np.array([3, 1], np.int16)).type
    DataType(int16)
    """
    content = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, content])


def numbers_of(array: pa.Array) -> np.ndarray:
    """Return integers or doubles without nulls as a read-only NumPy array.

    Examples
    --------
    >>> numbers_of(of_numbers(np.array([3, 1, 4]))[1:])
    array([1, 4])
    """
    content = array.buffers()[1]
    dtype = np.dtype(array.type.to_pandas_dtype())
    if content is None:
        return np.zeros(0, dtype)
    return np.frombuffer(content, dtype)[array.offset : array.offset + len(array)]


def of_flags(values: np.ndarray) -> pa.Array:
    """Return an Arrow array of bool.

    Examples
    --------
    >>> of_flags(np.array([True, False])).to_pylist()
    [True, False]
    """
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])


def of_texts(values: Sequence[str | None]) -> pa.Array:
    """Return texts as an Arrow array of strings, with null for None.

    Examples
    --------
    >>> of_texts(["é", None, ""]).to_pylist()
    ['é', None, '']
    """
    encoded = [b"" if each is None else each.encode() for each in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64).astype(np.int32)
    there = np.array([each is not None for each in values], dtype=bool)
    known = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(
        pa.string(), len(values), [known, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )
