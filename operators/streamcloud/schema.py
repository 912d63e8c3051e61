"""Schemas: the named and typed columns of a stream; the time, ``ts``, is always the first.

Types are int64 (64 bits), double (IEEE 754, always finite) and text (UTF-8). A predicate is of a
fourth type, true or false, which no column has.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from operators.contract import UsageError

INT64, DOUBLE, TEXT = TYPES = ("int64", "double", "text")
TRUTH = "truth"
TIME = "ts"


def listed(names: Iterable[str]) -> str:
    """Return names in the form of a message."""
    return ", ".join(map(str, names)) or "none"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the hint of a message about an unknown name; empty if no name is near.

    Examples
    --------
    >>> did_you_mean("minuts", ["district", "minutes"])
    '; did you mean "minutes"?'
    >>> did_you_mean("x", ["district", "minutes"])
    ''
    """
    near = get_close_matches(name, list(map(str, known)), n=1, cutoff=0.7)
    return f'; did you mean "{near[0]}"?' if near else ""


def _is_word(name: object) -> bool:
    """Say whether expressions can use this name for a column."""
    return (
        isinstance(name, str)
        and name.isidentifier()
        and not keyword.iskeyword(name)
        # Python's parser normalizes names to this form.
        and name == unicodedata.normalize("NFKC", name)
    )


@dataclass(frozen=True, init=False)
class Schema:
    """The columns of a stream, in order.

    Parameters
    ----------
    columns : mapping of str to str, or pairs
        Name and type. ``ts`` may be left out; it comes first.
    where : str
        The owner of the schema, for messages.

    Attributes
    ----------
    columns : tuple of (str, str)

    Raises
    ------
    UsageError
        When a name is no word, is there twice, or has an unknown type.

    Examples
    --------
    >>> print(Schema({"caller": "int64", "ts": "int64"}))
    (ts int64, caller int64)
    """

    columns: tuple[tuple[str, str], ...]

    def __init__(
        self, columns: Mapping[str, str] | Iterable[tuple[str, str]], where: str = "schema"
    ) -> None:
        """Check names and types, and put the time first."""
        given = list(columns.items() if isinstance(columns, Mapping) else columns)
        names = [name for name, _ in given]
        for name, kind in given:
            if not _is_word(name):
                raise UsageError(
                    f'{where}: column "{name}" must be called by letters, digits and "_", a letter'
                    " first, and by no word of the language of expressions"
                )
            if kind not in TYPES:
                raise UsageError(
                    f'{where}: column "{name}" is "{kind}", and the types are {listed(TYPES)}'
                    f"{did_you_mean(str(kind), TYPES)}"
                )
            if names.count(name) > 1:
                raise UsageError(f'{where}: column "{name}" is there twice: call one another')
            if name == TIME and kind != INT64:
                raise UsageError(f'{where}: column "{TIME}" is the time and {INT64}, not {kind}')
        others = tuple((name, kind) for name, kind in given if name != TIME)
        object.__setattr__(self, "columns", ((TIME, INT64), *others))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(name for name, _ in self.columns)

    @property
    def types(self) -> tuple[str, ...]:
        """The columns' types, in order."""
        return tuple(kind for _, kind in self.columns)

    def type_of(self, name: str) -> str:
        """Return the type of an existing column."""
        return dict(self.columns)[name]

    def find(self, where: str, name: str, of: str) -> str:
        """Return the type of a column.

        Parameters
        ----------
        where : str
            Operator and key that name it.
        name : str
        of : str
            The owner of the schema.

        Raises
        ------
        UsageError
            When there is none: operator, column, alternatives, and the likely intention.
        """
        if name not in self.names:
            raise UsageError(
                f'{where}: no column "{name}" in {of} ({listed(self.names)})'
                f"{did_you_mean(str(name), self.names)}"
            )
        return self.type_of(name)

    def __str__(self) -> str:
        """Return names and types in brackets."""
        return f"({listed(f'{name} {kind}' for name, kind in self.columns)})"
