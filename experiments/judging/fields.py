"""Reads a mapping from a file as a dataclass, and refuses what the dataclass does not allow.

Refused are a field that the dataclass does not have, with the nearest name that it has, a field
that is missing and has no default, and a value of another type. A field may be text, a number, a
truth value, null, one of some words (``Literal``), a list (``tuple[X, ...]``), a mapping, another
dataclass, or a choice of these. A field whose name is a keyword of Python ends with an underscore,
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

Kind = TypeVar("Kind")
# Of each type, what reads an entry of a list and its place in it, from 1 on.
Readers = Mapping[type, Callable[[Any, int], Any]]

_SCALARS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def read(kind: type[Kind], said: object, of: str = "", readers: Readers | None = None) -> Kind:
    """Return a mapping from a file as a dataclass.

    Parameters
    ----------
    kind : type
        The dataclass. What its ``__post_init__`` refuses is an error of the file.
    said : object
        The mapping, as YAML or JSON has it.
    of : str
        Whose fields they are, for the error of an unknown one: "of comparator 'growth'".
    readers : mapping of type to callable, optional
        ``reader(said, place)`` reads the entries of lists of a type, in place of this function. It
        names the entry in its errors itself.

    Raises
    ------
    UsageError
        When a field is unknown, missing, or not of its type. The sentence names the field, a nested
        one as ``reads.at``, and not the file.
    """
    names = tuple(_every_name(kind))
    return _Reader(of, names, readers or {}).record(kind, said, "")


def file_name(field: Field[Any]) -> str:
    """Return the name of a field in files."""
    return field.name.removesuffix("_")


def is_required(field: Field[Any]) -> bool:
    """Say whether a file must give a field."""
    return field.default is MISSING and field.default_factory is MISSING


def fields_of(kind: type) -> dict[str, tuple[Field[Any], Any]]:
    """Return the fields of a dataclass with their types, by their name in files."""
    return {file_name(each): (each, _hints(kind)[each.name]) for each in fields(kind)}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _every_name(kind: type, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all fields, those of records in a record too."""
    for name, (_, hint) in fields_of(kind).items():
        yield f"{prefix}{name}"
        if is_dataclass(hint):
            yield from _every_name(hint, f"{prefix}{name}.")


class _Reader:
    """Reads one record of a file and those inside it."""

    def __init__(self, of: str, names: tuple[str, ...], readers: Readers) -> None:
        self.of = f" {of}" if of else ""
        self.names = names
        self.readers = readers

    def record(self, kind: type[Kind], said: object, prefix: str) -> Kind:
        """Return a mapping as a dataclass; `prefix` is what its fields' names begin with."""
        if not isinstance(said, Mapping):
            name = prefix.removesuffix(".") or "it"
            raise UsageError(f"{name} must be a mapping of fields, not {said!r}")
        known = fields_of(kind)
        for name in said:
            if name not in known:
                raise UsageError(self._unknown(str(name), known, prefix))
        needed = [name for name, (own, _) in known.items() if is_required(own)]
        missing = [prefix + name for name in needed if name not in said]
        if missing:
            raise UsageError(f"lacks {', '.join(missing)}")
        values = {
            own.name: self.value(hint, said[name], prefix + name)
            for name, (own, hint) in known.items()
            if name in said
        }
        return kind(**values)

    def value(self, hint: Any, said: Any, name: str) -> Any:
        """Return a value as its type has it."""
        member = next((each for each in _members(hint) if _has_form(each, said)), None)
        if member is None:
            raise UsageError(_of_no_type(hint, said, name))
        if is_dataclass(member):
            return self.record(member, said, f"{name}.")
        if get_origin(member) is tuple:
            inside = get_args(member)[0]
            return tuple(self._entry(inside, each, name, n) for n, each in enumerate(said, 1))
        if get_origin(member) is not None and get_origin(member) is not Literal:
            inside = get_args(member)[1]
            return {key: self.value(inside, each, f"{name}.{key}") for key, each in said.items()}
        return said

    def _entry(self, hint: Any, said: Any, name: str, place: int) -> Any:
        """Return one entry of a list; what is wrong with a record there names its place."""
        if hint in self.readers:
            return self.readers[hint](said, place)
        if not is_dataclass(hint):
            return self.value(hint, said, name)
        reader = _Reader(self.of, tuple(_every_name(hint)), self.readers)
        try:
            return reader.record(hint, said, "")
        except UsageError as error:
            raise UsageError(f"{name}, entry {place}: {error}") from error

    def _unknown(self, name: str, known: Mapping[str, Any], prefix: str) -> str:
        """Return the error of a field that is not there."""
        told = f"unknown field {prefix + name!r}{self.of}"
        # The record's own names come first, then the same word elsewhere.
        candidates = {each.rpartition(".")[2]: each for each in self.names}
        candidates |= {each: prefix + each for each in known}
        near = get_close_matches(name, candidates, n=1, cutoff=0.7)
        if near:
            return f"{told}; did you mean {candidates[near[0]]!r}?"
        return f"{told}; there are: {', '.join(prefix + each for each in known)}"


def _members(hint: Any) -> tuple[Any, ...]:
    """Return the types of a choice of types, and a type that is none by itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _has_form(hint: Any, said: Any) -> bool:
    """Say whether a value has the form of a type; what is inside of it is not looked at."""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return any(said == each and type(said) is type(each) for each in get_args(hint))
    if origin is tuple:
        return isinstance(said, list)
    if origin is not None or is_dataclass(hint):
        return isinstance(said, Mapping)
    if isinstance(said, bool):
        return hint is bool
    return isinstance(said, (int, float)) if hint is float else isinstance(said, hint)


def _of_no_type(hint: Any, said: Any, name: str) -> str:
    """Return the error of a value that is of none of the types that it may be of."""
    members = _members(hint)
    if all(get_origin(each) is Literal for each in members) and isinstance(said, str):
        choices = ", ".join(str(each) for each in get_args(members[0]))
        return f"unknown {name} {said!r}; there are: {choices}"
    return f"{name} must be {' or '.join(types_in_words(hint))}, not {said!r}"


def types_in_words(hint: Any) -> list[str]:
    """Return the types that a field may have in words: "text", "a number", "null"."""
    told: list[str] = []
    for each in _members(hint):
        if get_origin(each) is Literal:
            told += [str(choice) for choice in get_args(each)]
        elif get_origin(each) is tuple:
            told.append("a list")
        elif each is NoneType:
            told.append("null")
        else:
            told.append(_SCALARS.get(each, "a mapping"))
    return told
