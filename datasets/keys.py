"""The common order of keys: numbers by value, text by UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from datasets.formats.arrays import numbers_of


def code_keys(column: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Encode keys by rank, so that ascending codes are ascending keys.

    Parameters
    ----------
    column
        Integers, doubles or text, without nulls.

    Returns
    -------
    tuple of ndarray
        Codes, int64 (rows,), and labels in code order: int64, uint64 if the column is uint64,
        float64, or str objects.

    Examples
    --------
    >>> code_keys(pa.array(["b", "é", "b", "a"]))
    (array([1, 2, 1, 0]), array(['a', 'b', 'é'], dtype=object))
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    labels = encoded.dictionary.to_pylist()
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = not (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    order = sorted(range(len(labels)), key=lambda i: labels[i].encode() if text else labels[i])
    codes = np.empty(len(labels), dtype=np.int64)
    codes[order] = np.arange(len(labels))
    dtype = np.float64 if pa.types.is_floating(kind) else np.int64
    dtype = object if text else np.uint64 if pa.types.is_uint64(kind) else dtype
    ranked = np.array([labels[i] for i in order], dtype=dtype)
    return codes[numbers_of(encoded.indices)], ranked
