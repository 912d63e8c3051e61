"""The one order of keys: integers by value, text by its UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def code_keys(column: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Code keys by rank, so that ascending codes are ascending keys.

    Parameters
    ----------
    column
        Integers or text, without nulls.

    Returns
    -------
    tuple of ndarray
        Codes, int64 (rows,), and labels in code order: int64, or str objects.

    Examples
    --------
    >>> code_keys(pa.array(["b", "é", "b", "a"]))
    (array([1, 2, 1, 0]), array(['a', 'b', 'é'], dtype=object))
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    labels = encoded.dictionary.to_pylist()
    text = not pa.types.is_integer(column.type)
    order = sorted(range(len(labels)), key=lambda i: labels[i].encode() if text else labels[i])
    codes = np.empty(len(labels), dtype=np.int64)
    codes[order] = np.arange(len(labels))
    ranked = np.array([labels[i] for i in order], dtype=object if text else np.int64)
    return codes[encoded.indices.to_numpy()], ranked
