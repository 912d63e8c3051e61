"""Keys of several files to codes: numbers by value, text by its UTF-8 bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats.arrays import of_numbers, of_texts
from datasets.formats.gather import NULL_LABELS, Labels
from datasets.formats.numbers import LARGEST, SMALLEST
from datasets.formats.sources import Source
from datasets.keys import code_keys
from experiments.replay.files import schema_of
from operators.contract import UsageError

# A whole number in canonical form; 007 is a name.
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}")
LARGEST_UNSIGNED = 2**64 - 1


class KeyColumn:
    """The key column of all inputs.

    Keys are numbers if a Parquet file declares them so; or whole numbers, if every key in every
    text file is one in canonical form: 007 is a name. Otherwise they are texts. In a text file
    blanks around a key are stripped, and an empty field is no key; a text in a Parquet file is
    taken as it is.

    Parameters
    ----------
    name : str
        Name of the column.
    sources : list of Source
        The inputs in the order of their streams.
    """

    def __init__(self, name: str, sources: list[Source]) -> None:
        self._name = name
        self._sources = sources
        self._labels = Labels()
        # Declared types of the Parquet files seen so far.
        self._declared: dict[int, pa.DataType] = {}
        # Whether one of them has decimals without a fraction, which may not fit 64 bits.
        self._decimals = False

    def encode(self, column: pa.Array, file: int) -> np.ndarray:
        """Return a code per row of a file, in order of first appearance; -1 for no key."""
        if not isinstance(column, pa.DictionaryArray):
            column = column.dictionary_encode()
        if pa.types.is_integer(column.type.value_type):
            labels = column.dictionary.cast(pa.string())
            column = pa.DictionaryArray.from_arrays(column.indices, labels)
        none = NULL_LABELS
        self._look_at(file)
        if file in self._declared:
            # For doubles, NaN is no key.
            is_double = pa.types.is_floating(self._declared[file])
            none = frozenset(("nan", "-nan")) if is_double else frozenset()
        else:
            trimmed = pc.utf8_trim_whitespace(column.dictionary)
            column = pa.DictionaryArray.from_arrays(column.indices, trimmed)
        return self._labels.encode(column, none)

    def finish(self, codes: list[list[np.ndarray]]) -> tuple[pa.Array, list[np.ndarray]]:
        """Return the distinct keys in ascending order, and the rank of each row's key.

        Parameters
        ----------
        codes : list of list of int32 array
            Codes of the used rows of each stream, in pieces.

        Raises
        ------
        UsageError
            When one file has numbers as keys and another has text, or no type of 64 bits holds all
            of the keys.
        """
        for file in range(len(self._sources)):
            self._look_at(file)
        texts = list(self._labels.codes)
        seen = np.zeros(len(texts), dtype=bool)
        for piece in chain(*codes):
            seen |= np.bincount(piece, minlength=len(texts)) > 0
        used = np.flatnonzero(seen)
        labels = [texts[code] for code in used.tolist()]
        kind = self._type(labels)
        made: Callable[[str], object] = str
        if pa.types.is_integer(kind):
            made = int
        elif pa.types.is_floating(kind):
            # -0.0 is 0.0: they are equal.
            made = _double
        ranks, ascending = code_keys(_array([made(label) for label in labels], kind))
        rank = np.zeros(len(texts) + 1, dtype=np.int64)
        rank[used] = ranks
        return _array(ascending.tolist(), kind), [_ranked(rank, pieces) for pieces in codes]

    def _type(self, labels: list[str]) -> pa.DataType:
        """Return the type of the output's key."""
        types = set(self._declared.values())
        if not types:
            plain = all(map(WHOLE.fullmatch, labels))
            fits = plain and all(SMALLEST <= int(label) <= LARGEST for label in labels)
            return pa.int64() if fits else pa.string()
        if types == {pa.string()}:
            return pa.string()
        numbered = next(file for file, kind in self._declared.items() if kind != pa.string())
        of_numbers = self._sources[numbered].label
        if pa.string() in types:
            other = next(file for file, kind in self._declared.items() if kind == pa.string())
            raise UsageError(
                f"column {self._name!r} holds {_called(self._declared[numbered])} in {of_numbers}"
                f" and text in {self._sources[other].label}; give both files keys of one type"
            )
        one_type = len(self._declared) == len(self._sources) and len(types) == 1
        if one_type and not self._decimals:
            return types.pop()
        if any(map(pa.types.is_floating, types)):
            self._check(labels, of_numbers, _is_double, "no number that a double is")
            return pa.float64()
        self._check(labels, of_numbers, WHOLE.fullmatch, "no whole number of 64 bits")
        whole = [int(label) for label in labels]
        for kind, least, most in (
            (pa.int64(), SMALLEST, LARGEST), (pa.uint64(), 0, LARGEST_UNSIGNED),
        ):  # fmt: skip
            if all(least <= one <= most for one in whole):
                return kind
        raise UsageError(
            f"column {self._name!r} holds whole numbers from {min(whole)} to {max(whole)}, and no"
            " integer of 64 bits, with a sign or without, is all of them; give the keys as text"
        )

    def _check(
        self, labels: list[str], of_numbers: str, fits: Callable[[str], object], what: str
    ) -> None:
        """Refuse a key of a text file that does not fit the numbers of a Parquet file."""
        for label in labels:
            if not fits(label):
                raise UsageError(
                    f"column {self._name!r} holds numbers in {of_numbers}, and {label[:60]!r} is"
                    f" {what}; give all files keys of one type"
                )

    def _look_at(self, file: int) -> None:
        """Note the key type of a Parquet file."""
        source = self._sources[file]
        if file not in self._declared and source.label.lower().endswith(".parquet"):
            self._declared[file] = self._declared_in(source)

    def _declared_in(self, source: Source) -> pa.DataType:
        """Return the key type of a Parquet file: a type of numbers, or string."""
        kind = schema_of(source.path).field(self._name).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_integer(kind):
            return kind
        if pa.types.is_decimal(kind) and kind.scale == 0:
            self._decimals = True
            return pa.int64()
        if pa.types.is_floating(kind):
            return pa.float64()
        if is_text(kind) or pa.types.is_null(kind):
            return pa.string()
        raise UsageError(
            f"{source.label}: column {self._name!r} holds {kind}; a key is a whole number, a double"
            " or text: write the column as one of these"
        )


def _ranked(rank: np.ndarray, pieces: list[np.ndarray]) -> np.ndarray:
    """Return the ranks of codes, in one array, without a joined copy of the codes."""
    found, at = np.empty(sum(map(len, pieces)), dtype=np.int64), 0
    for piece in pieces:
        found[at : at + len(piece)] = rank[piece]
        at += len(piece)
    return found


def _array(keys: list, kind: pa.DataType) -> pa.Array:
    """Return distinct keys as an array of numbers of the given type, or of strings."""
    if is_text(kind):
        return of_texts(keys)
    return of_numbers(np.array(keys, dtype=kind.to_pandas_dtype()))


def is_text(kind: pa.DataType) -> bool:
    """Say whether an Arrow type is a text type."""
    texts = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(is_of(kind) for is_of in texts)


def _called(kind: pa.DataType) -> str:
    return "integers" if pa.types.is_integer(kind) else "doubles"


def _double(label: str) -> float:
    return float(label) + 0.0


def _is_double(label: str) -> bool:
    """Say whether a double represents a text: exactly if whole, the nearest one if not."""
    if WHOLE.fullmatch(label):
        return int(float(label)) == int(label)
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False
