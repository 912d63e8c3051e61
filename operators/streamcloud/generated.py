"""Functions of tuples, generated as source text for an operator and compiled into kernels.

Operators differ from query to query in the values they compute, and not in the loop over tuples.
So a kernel is made by a factory that closes over a few functions, and these functions are generated
as the text of a module, with the word of each column as a number. For a map that computes
``minutes = duration // 60``::

    @inlined
    def fill(words, doubles, i, texts, out, out_doubles, o):
        value_0, fault_0 = computed_0(int(words[4, i]))
        if fault_0 != NO_FAULT:
            return False
        out[3, o] = value_0
        return True

A batch comes as words and, the same memory, as doubles, so that a kernel reads either.

The module is a file in the cache of compiled kernels, named by a digest of the content. So another
process finds a kernel that closes over it, and compiles nothing. A user's function has no text for
the module: it is inserted as an object, and enters the cache key by the file that defines it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from operators.contract import UsageError
from operators.core.jit import INTERPRETED
from operators.core.sources import cache_folder
from operators.core.user_functions import user_function
from operators.streamcloud.algebra import Output
from operators.streamcloud.branchless import branchless_text
from operators.streamcloud.expressions import Called, Computed
from operators.streamcloud.kernel_text import HEADER, function_text
from operators.streamcloud.rows import column_place
from operators.streamcloud.schema import DOUBLE, INT64, TEXT, TRUTH

_HEADER = HEADER + (
    "from operators.core.vectors import peek\n"
    "from operators.streamcloud.branchless import multiply_halves\n"
    "from operators.streamcloud.exact import add_exact, merge_exact\n"
)
_NUMBA_TYPES = {INT64: numba.int64, DOUBLE: numba.float64, TRUTH: numba.boolean}


class Place:
    """The variables that hold one side's tuple while a function computes with it.

    Parameters
    ----------
    output : Output
        The output whose tuple it is.
    words, doubles, index : str
        The names of the arrays and of the position in them.
    side : str
        "left" and "right" of a join, else "".
    """

    def __init__(
        self, output: Output, words: str, doubles: str, index: str, side: str = ""
    ) -> None:
        self.output, self.side = output, side
        self._words, self._doubles, self._index = words, doubles, index

    def word(self, name: str) -> str:
        """Return the text that reads a column's word."""
        return f"int({self._words}[{column_place(self.output, name)}, {self._index}])"

    def value(self, name: str) -> str:
        """Return the text that reads a column's value."""
        if self.output.schema.type_of(name) != DOUBLE:
            return self.word(name)
        return f"float({self._doubles}[{column_place(self.output, name)}, {self._index}])"


class Flat(Place):
    """A tuple in a join's window, `operators.streamcloud.kernels.stores.Store`.

    A word is read without the test for a negative index, which Python allows: with the test a
    processor cannot load the words of several tuples at once.
    """

    def __init__(self, output: Output, store: str, index: str, side: str) -> None:
        super().__init__(output, f"{store}.words", f"{store}.doubles", index, side)
        self._store = store

    def word(self, name: str) -> str:
        """Return the text that reads a column's word."""
        place = column_place(self.output, name)
        return f"peek({self._store}.flat, {place} * {self._store}.words.shape[1] + {self._index})"


class Fixed(Place):
    """A tuple that meets many others: the values are loaded once, into a tuple ``fixed``.

    Otherwise each value would be loaded anew for each of the others, since the stores in between
    could alias it.

    Parameters
    ----------
    place : Place
        The variables that hold the tuple.
    """

    def __init__(self, place: Place) -> None:
        super().__init__(place.output, "", "", "", place.side)
        self._place, self._names = place, []

    def value(self, name: str) -> str:
        """Return the text that reads a column's value."""
        if name not in self._names:
            self._names.append(name)
        return f"fixed[{self._names.index(name)}]"

    @property
    def values(self) -> str:
        """The text of the tuple, of the columns that were asked for."""
        return f"({', '.join([*map(self._place.value, self._names), '0'])})"


class Writer:
    """Writes the module of one operator.

    The code of a text constant is read from ``texts``, an argument of each function that calls the
    expression: so the module does not depend on the other texts of a run.

    Parameters
    ----------
    where : str
        The operator, for messages.
    codes : mapping of str to int
        Of the texts in expressions.
    places : iterable of Place
        One per input.
    """

    def __init__(self, where: str, codes: Mapping[str, int], places: Iterable[Place]) -> None:
        self._where, self._codes = where, codes
        self._places = {place.side: place for place in places}
        self._texts: list[str] = []
        self._users: dict[str, Callable[..., Any]] = {}
        self._computed = 0
        self._constants: dict[str, int] = {}

    def function(self, head: str, lines: Iterable[str]) -> None:
        """Add a function, ``name(arguments)``, by its lines."""
        body = "".join(f"    {line}\n" for line in lines)
        self._texts.append(f"@inlined\ndef {head}:\n{body}")

    def computed(self, key: str, value: Computed) -> str:
        """Add the function of an expression; return the text that calls it.

        Parameters
        ----------
        key : str
            The operator's expression, for messages.
        value : Expression or Called
        """
        return self._written(key, value, function_text)

    def without_branches(self, key: str, value: Computed) -> str:
        """Do the same by `operators.streamcloud.branchless`, except for users' functions."""
        return self._written(key, value, branchless_text)

    def _written(self, key: str, value: Computed, text_of: Callable[..., str]) -> str:
        name = f"computed_{self._computed}"
        self._computed += 1
        arguments = [self._argument(column) for column in value.columns]
        if isinstance(value, Called):
            self._texts.append(self._user_text(name, f"{self._where}.{key}", value))
        else:
            # A text is one more argument, whose name cannot be that of a column.
            codes = {text: f"c{len(arguments) + at}" for at, text in enumerate(value.texts)}
            columns = (*value.columns, *(f"'{text}'" for text in value.texts))
            self._texts.append(text_of(name, value.term, columns, codes))
            arguments += [f"int(texts[{self._constant(text)}])" for text in value.texts]
        return f"{name}({', '.join(arguments)})"

    def _constant(self, text: str) -> int:
        return self._constants.setdefault(text, len(self._constants))

    def constants(self) -> np.ndarray:
        """Return the codes of the texts in expressions, the argument ``texts``."""
        return np.array([self._codes[text] for text in self._constants], dtype=np.int64)

    def lines(self, key: str, value: Computed, number: int, failed: str) -> list[str]:
        """Return lines that compute ``value_<number>``, and return `failed` at a fault."""
        return [
            f"value_{number}, fault_{number} = {self.computed(key, value)}",
            f"if fault_{number} != NO_FAULT:",
            f"    return {failed}",
        ]

    def _argument(self, column: str) -> str:
        side, _, name = column.rpartition(".")
        return self._places[side].value(name)

    def _user_text(self, name: str, where: str, called: Called) -> str:
        function = f"user_{len(self._users)}"
        self._users[function] = _callable(where, called, self._places)
        arguments = ", ".join(f"c{number}" for number in range(len(called.columns)))
        lines = [
            _identity(called),
            "@inlined",
            f"def {name}({arguments}):",
            f"    value = {function}({arguments})",
        ]
        if called.type == DOUBLE:
            # Changes no value, not even the sign of a zero, and detects infinities.
            lines.append("    return subtract_double(value, 0.0)")
        else:
            lines.append("    return value, NO_FAULT")
        return "\n".join(lines) + "\n"

    def module(self) -> ModuleType:
        """Return the module; equal text and functions give one module a process."""
        return _module("\n\n".join([_HEADER, *self._texts]), self._users)


def stored(output: Output, name: str, number: int) -> str:
    """Return the line that stores ``value_<number>`` as a column of the output."""
    array = "out_doubles" if output.schema.type_of(name) == DOUBLE else "out"
    return f"{array}[{column_place(output, name)}, o] = value_{number}"


# --- functions of a user --------------------------------------------------------------------------


def _callable(where: str, called: Called, places: Mapping[str, Place]) -> Callable[..., Any]:
    """Return a form of a user's function that a kernel can call.

    Raises
    ------
    UsageError
        When it takes or returns a text, cannot be compiled, or returns an undeclared type.
    """
    types = []
    for column in called.columns:
        side, _, name = column.rpartition(".")
        types.append(places[side].output.schema.type_of(name))
    if TEXT in (*types, called.type):
        raise UsageError(
            f"{where}: {called.text} takes or returns a text, and kernels have codes in their"
            " place: compare the text in an expression, and give the function numbers"
        )
    if INTERPRETED:
        return _checked(called)
    function = _compiled(user_function(f"{where}: a function", called.function))
    arguments = tuple(_NUMBA_TYPES[each] for each in types)
    try:
        function.compile(arguments)
    except Exception as error:  # numba's own errors have many classes
        reason = str(error).strip().splitlines()
        raise UsageError(
            f"{where}: {called.text} cannot be compiled: {reason[-1] if reason else error!r}"
        ) from error
    returned = function.overloads[arguments].signature.return_type
    if returned != _NUMBA_TYPES[called.type]:
        raise UsageError(
            f"{where}: {called.text} is declared to return {called.type}, and returns {returned}"
        )
    return function


def _identity(called: Called) -> str:
    """Return a comment that tells a user's function from others of the same file.

    The comment changes the name of the module, which keeps the kernels apart.
    """
    function = getattr(called.function, "py_func", called.function)
    cells = [each.cell_contents for each in function.__closure__ or ()]
    found = f"{function.__module__}.{function.__qualname__} {cells!r} {function.__defaults__!r}"
    return f"# {found.encode('unicode_escape').decode('ascii')}"


@cache
def _compiled(function: Callable[..., Any]) -> Any:
    """Return a function compiled with Python's error model: a division by zero raises.

    ``@inlined`` functions divide by numpy's rules, by which an integer divided by zero is 0.
    """
    return numba.njit(error_model="python", nogil=True, forceinline=True)(function)


@cache
def _checked(called: Called) -> Callable[..., Any]:
    """Return a function as plain Python that checks the type of the result."""
    python_type = {INT64: int, DOUBLE: float, TRUTH: bool}[called.type]
    plain = getattr(called.function, "py_func", called.function)

    def function(*arguments: Any) -> Any:
        value = plain(*arguments)
        value = value.item() if hasattr(value, "item") else value
        if type(value) is not python_type:
            raise TypeError(f"returned {value!r}, which is no {called.type}")
        return value

    return function


# --- modules --------------------------------------------------------------------------------------

_MADE: dict[tuple[str, tuple[Any, ...]], ModuleType] = {}


def _module(text: str, users: Mapping[str, Callable[..., Any]]) -> ModuleType:
    known = text, tuple(users.values())
    if known not in _MADE:
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        name = f"streamcloud_{digest}"
        spec = importlib.util.spec_from_file_location(name, _written(name, text))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        # numba looks up the module of a function. Two modules that differ in users' functions alone
        # are interchangeable for that.
        sys.modules[name] = module
        vars(module).update(users)
        _MADE[known] = module
    return _MADE[known]


def _written(name: str, text: str) -> Path:
    """Return the file of a module, written atomically."""
    folder = cache_folder() / "streamcloud"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _write(folder, name, text)
    except OSError:
        # The cache cannot be written; no kernel is kept there, either.
        return _write(Path(tempfile.mkdtemp(prefix="streamcloud-")), name, text)


def _write(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.py"
    if not file.is_file():
        handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as written:
            written.write(text)
        # The content cannot change under this name. With a date of now,
        # `operators.core.kernel_keys` would assume an edit during this process, and keep nothing.
        os.utime(part, ns=(0, 0))
        os.replace(part, file)
    return file
