"""Keys of several files to codes: integers by value, text by its UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.formats.gather import INTEGER, Labels
from datasets.formats.numbers import LARGEST
from datasets.formats.sources import Source
from datasets.keys import code_keys
from operators.contract import UsageError


class KeyColumn:
    """The key column of all inputs.

    A key is an integer where the file says so (Parquet), or where every key in every text file is
    one in its plain form: 007 is a name. Otherwise it is text.

    Parameters
    ----------
    name : str
        Of the column.
    sources : list of Source
        The inputs in the order of their streams.
    """

    def __init__(self, name: str, sources: list[Source]) -> None:
        self._name = name
        self._sources = sources
        self._labels = Labels()

    def encode(self, column: pa.Array) -> np.ndarray:
        """Return a code per row in order of first appearance; -1 where the key is null."""
        return self._labels.encode(column).astype(np.int64)

    def finish(self, codes: list[np.ndarray]) -> tuple[pa.Array, list[np.ndarray]]:
        """Return the distinct keys in ascending order, and the rank of each row's key.

        Parameters
        ----------
        codes : list of int64 array
            Of the used rows of each stream.

        Raises
        ------
        UsageError
            When one file has integers as keys and another has text, or an integer key does not
            fit 64 bits.
        """
        used = np.unique(np.concatenate(codes))
        texts = list(self._labels.codes)
        labels = [texts[code] for code in used.tolist()]
        kind = self._type(labels)
        integers = pa.types.is_integer(kind)
        ranks, ascending = code_keys(pa.array(map(int, labels) if integers else labels, kind))
        rank = np.zeros(len(texts) + 1, dtype=np.int64)
        rank[used] = ranks
        return pa.array(ascending.tolist(), kind), [rank[code] for code in codes]

    def _type(self, labels: list[str]) -> pa.DataType:
        """Return the type of the output's key."""
        declared = {}
        for source in self._sources:
            if source.label.lower().endswith(".parquet"):
                declared[source.label] = self._declared(source)
        types = set(declared.values())
        if not types:
            plain = all(INTEGER.fullmatch(label) and abs(int(label)) <= LARGEST for label in labels)
            return pa.int64() if plain else pa.string()
        integers = [label for label, kind in declared.items() if pa.types.is_integer(kind)]
        if not integers:
            return pa.string()
        if len(integers) < len(declared):
            other = next(label for label in declared if label not in integers)
            raise UsageError(
                f"column {self._name!r} holds integers in {integers[0]} and text in {other};"
                " give both files keys of one type"
            )
        for label in labels:
            if not INTEGER.fullmatch(label) or abs(int(label)) > LARGEST:
                raise UsageError(
                    f"column {self._name!r} holds integers in {integers[0]}, and {label[:60]!r} is"
                    " none of 64 bits; give all files keys of one type"
                )
        one_type = len(declared) == len(self._sources) and len(types) == 1
        return types.pop() if one_type else pa.int64()

    def _declared(self, source: Source) -> pa.DataType:
        """Return the key type of a Parquet file: an integer type, or string."""
        kind = pq.read_schema(source.path).field(self._name).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_integer(kind):
            return kind
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
            return pa.string()
        raise UsageError(
            f"{source.label}: column {self._name!r} holds {kind}; a key is an integer or text"
        )
