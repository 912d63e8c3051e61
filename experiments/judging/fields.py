"""Reads a mapping from a file as a dataclass, and refuses mappings that do not fit.

Refused are a field that the dataclass does not have (the error suggests the nearest name), a
missing field without a default, and a value of another type. A field may be text, a number, a truth
value, null, one of some words (``Literal``), a list (``tuple[X, ...]``), a mapping, another
dataclass, or a union of these. A field whose name is a keyword of Python ends with an underscore,
which the file leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from operators.contract import UsageError

Record = TypeVar("Record")
# By type: a function that reads an entry of a list, given the entry and its number, from 1 on.
Readers = Mapping[type, Callable[[Any, int], Any]]

_SCALARS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def read(
    record: type[Record], value: object, of: str = "", readers: Readers | None = None
) -> Record:
    """Return a mapping from a file as a dataclass.

    Parameters
    ----------
    record : type
        The dataclass. An error of ``__post_init__`` is an error of the file.
    value : object
        The mapping as loaded from YAML or JSON.
    of : str
        The owner of the fields, for the error of an unknown one: "of comparator 'growth'".
    readers : mapping of type to callable, optional
        ``reader(value, number)`` reads the entries of lists of a type, instead of this function.
        Errors of a reader must name the entry.

    Raises
    ------
    UsageError
        When a field is unknown, missing, or of a wrong type. The sentence names the field, a nested
        one as ``reads.at``, but not the file.
    """
    return _Reader(record, of, readers or {}).record(record, value, "")


def fields_of(record: type) -> dict[str, tuple[Field[Any], Any]]:
    """Return the fields of a dataclass with their types, by their name in files."""
    hints = _hints(record)
    return {each.name.removesuffix("_"): (each, hints[each.name]) for each in fields(record)}


def is_required(field: Field[Any]) -> bool:
    """Say whether a file must give a field."""
    return field.default is MISSING and field.default_factory is MISSING


def types_in_words(hint: Any) -> list[str]:
    """Return the types that a field may have in words: "text", "a number", "null"."""
    words: list[str] = []
    for each in _alternatives(hint):
        if get_origin(each) is Literal:
            words += [str(choice) for choice in get_args(each)]
        elif get_origin(each) is tuple:
            words.append("a list")
        elif each is NoneType:
            words.append("null")
        else:
            words.append(_SCALARS.get(each, "a mapping"))
    return words


@cache
def _hints(record: type) -> dict[str, Any]:
    return get_type_hints(record)


class _Reader:
    """Reads a record of a file and the records nested in it."""

    def __init__(self, record: type, of: str, readers: Readers) -> None:
        self.of = f" {of}" if of else ""
        self.names = tuple(_dotted_names(record))
        self.readers = readers

    def record(self, record: type[Record], value: object, prefix: str) -> Record:
        """Return a mapping as a dataclass; `prefix` is the mapping's path, such as "reads."."""
        if not isinstance(value, Mapping):
            name = prefix.removesuffix(".") or "it"
            raise UsageError(f"{name} must be a mapping of fields, not {value!r}")
        known = fields_of(record)
        for name in value:
            if name not in known:
                raise UsageError(self._unknown(str(name), known, prefix))
        required = [name for name, (field, _) in known.items() if is_required(field)]
        missing = [prefix + name for name in required if name not in value]
        if missing:
            raise UsageError(f"lacks {', '.join(missing)}")
        return record(
            **{
                field.name: self._value(hint, value[name], prefix + name)
                for name, (field, hint) in known.items()
                if name in value
            }
        )

    def _value(self, hint: Any, value: Any, name: str) -> Any:
        """Return the value of a field, converted to the field's type."""
        for each in _alternatives(hint):
            if _has_form(each, value):
                return self._converted(each, value, name)
        if get_origin(hint) is Literal and isinstance(value, str):
            choices = ", ".join(types_in_words(hint))
            raise UsageError(f"unknown {name} {value!r}; there are: {choices}")
        raise UsageError(f"{name} must be {' or '.join(types_in_words(hint))}, not {value!r}")

    def _converted(self, hint: Any, value: Any, name: str) -> Any:
        """Return a value that has the form of a type, converted to that type."""
        if is_dataclass(hint):
            return self.record(hint, value, f"{name}.")
        if get_origin(hint) is tuple:
            inner = get_args(hint)[0]
            return tuple(self._entry(inner, each, name, n) for n, each in enumerate(value, 1))
        if get_origin(hint) is not None and get_origin(hint) is not Literal:
            inner = get_args(hint)[1]
            return {key: self._value(inner, each, f"{name}.{key}") for key, each in value.items()}
        return value

    def _entry(self, hint: Any, value: Any, name: str, number: int) -> Any:
        """Return an entry of a list; an error in a record gives the entry's number."""
        if hint in self.readers:
            return self.readers[hint](value, number)
        if not is_dataclass(hint):
            return self._value(hint, value, name)
        try:
            return read(hint, value, self.of.strip(), self.readers)
        except UsageError as error:
            raise UsageError(f"{name}, entry {number}: {error}") from error

    def _unknown(self, name: str, known: Mapping[str, Any], prefix: str) -> str:
        """Return the error of a field that does not exist."""
        error = f"unknown field {prefix + name!r}{self.of}"
        # Where two records have a field of one name, that of this record is meant.
        candidates = {each.rpartition(".")[2]: each for each in self.names}
        candidates |= {each: prefix + each for each in known}
        near = get_close_matches(name, candidates, n=1, cutoff=0.7)
        if near:
            return f"{error}; did you mean {candidates[near[0]]!r}?"
        return f"{error}; there are: {', '.join(prefix + each for each in known)}"


def _dotted_names(record: type, prefix: str = "") -> Iterator[str]:
    """Yield the names of all fields of a record, and of the records nested in it."""
    for name, (_, hint) in fields_of(record).items():
        yield f"{prefix}{name}"
        if is_dataclass(hint):
            yield from _dotted_names(hint, f"{prefix}{name}.")


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _has_form(hint: Any, value: Any) -> bool:
    """Say whether a value has the form of a type, whatever the entries are."""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in get_args(hint)
    if origin is tuple:
        return isinstance(value, list)
    if origin is not None or is_dataclass(hint):
        return isinstance(value, Mapping)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float) if hint is float else isinstance(value, hint)
